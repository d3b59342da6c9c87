// Reads arguments.
#include "cli/input.hpp"

#include <algorithm>
#include <stdexcept>

#include "text/words.hpp"

namespace copse::cli {

void refuse(const std::string& what) { throw std::invalid_argument(what); }

bool Words::next() {
  if (left_.empty()) return false;
  word_ = left_.front();
  left_ = left_.subspan(1);
  return true;
}

std::string_view Words::value() {
  if (left_.empty()) refuse(std::string(word_) + " needs a value");
  const std::string_view value = left_.front();
  left_ = left_.subspan(1);
  return value;
}

std::size_t number_in(std::string_view option, std::string_view text, std::size_t least, std::size_t most) {
  const std::string_view written = text;
  if (text.ends_with("iB")) text.remove_suffix(2);
  const auto value = text::size_in(text);
  if (!value || *value < least || *value > most)
    refuse(std::string(option) + ": '" + std::string(written) + "' is not a number from " + std::to_string(least) + " to " +
           std::to_string(most));
  return *value;
}

std::size_t index_in(std::string_view option, std::string_view word, const std::vector<std::string>& known) {
  const auto found = std::find(known.begin(), known.end(), word);
  if (found == known.end())
    refuse(std::string(option) + ": '" + std::string(word) + "' is not known" + text::instead_of(word, known));
  return static_cast<std::size_t>(found - known.begin());
}

algorithms::Collective collective_in(std::string_view word) {
  const auto found = algorithms::collective_named(word);
  if (!found) refuse(text::unknown("collective", word, algorithms::collective_names()));
  return *found;
}

void set_reach(choose::Situation& situation, std::string_view word) {
  const std::size_t reach = index_in("--reach", word, {"staged", "kernel", "direct"});
  situation.addressable = situation.anywhere = reach > 0;
  situation.direct = reach > 1;
}

}  // namespace copse::cli
