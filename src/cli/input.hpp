// The arguments of subcommands. Each function throws std::invalid_argument, whose text names the option. If a word is not known,
// the text lists the words that are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "choose/situation.hpp"
#include "cli/command.hpp"

namespace copse::cli {

// Throws std::invalid_argument.
[[noreturn]] void refuse(const std::string& what);

// The words behind a subcommand, one after the other.
class Words {
 public:
  explicit Words(Arguments arguments) : left_(arguments) {}
  // Goes on to the next word. Returns false if there is none.
  [[nodiscard]] bool next();
  [[nodiscard]] std::string_view word() const { return word_; }
  // Takes the word behind this option. Refuses an option that is the last word.
  [[nodiscard]] std::string_view value();

 private:
  Arguments left_;
  std::string_view word_;
};

// Reads a whole number from `least` to `most`. It may have a unit: 64K or 64KiB.
[[nodiscard]] std::size_t number_in(std::string_view option, std::string_view text, std::size_t least, std::size_t most);
// Returns the index of a word among those known.
[[nodiscard]] std::size_t index_in(std::string_view option, std::string_view word, const std::vector<std::string>& known);
// Reads a collective by its own name or by MPI's.
[[nodiscard]] algorithms::Collective collective_in(std::string_view word);
// Sets how ranks reach each other's memory: staged, kernel or direct.
void set_reach(choose::Situation& situation, std::string_view word);

inline constexpr std::size_t kRanksMost = 65536, kBytesMost = std::size_t{1} << 47;

}  // namespace copse::cli
