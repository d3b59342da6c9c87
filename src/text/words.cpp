// Reads what users write, and guesses what they meant.
#include "text/words.hpp"

#include <algorithm>
#include <charconv>

namespace copse::text {
std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::size_t> size_in(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  if (unit != std::string_view::npos) text.remove_suffix(1);
  const unsigned shift = unit == std::string_view::npos ? 0 : 10 * (static_cast<unsigned>(unit) + 1);
  const auto value = number_in(text);
  if (!value || *value > (std::size_t{1} << 47) >> shift) return std::nullopt;
  return *value << shift;
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = word.size() / 2 + 1;  // a word that is more than half wrong is not a typing mistake
  for (const std::string& candidate : known) {
    if (word.size() >= candidate.size() + least) continue;  // each letter too many is a mistake; and the word may be a whole file
    std::vector<std::size_t> row(candidate.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t change = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
      }
    }
    if (row.back() < least) {
      least = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string instead_of(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  std::string text = near.empty() ? " (known: " : "; did you mean '" + near + "'? (known: ";
  for (const std::string& name : known) text += (text.ends_with(": ") ? "" : ", ") + name;
  return text + ")";
}

std::string unknown(std::string_view what, std::string_view word, const std::vector<std::string>& known) {
  return "no " + std::string(what) + " is called '" + std::string(word) + "'" + instead_of(word, known);
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace copse::text
