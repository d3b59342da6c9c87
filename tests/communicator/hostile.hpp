// What everything that reads other ranks' words must hold to, whatever the bytes: for the quick test and the fuzzers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace copse::test {

// Reads `bytes` as what a caller says, and as what rank 0 answers; what is not as promised.
std::string read_as_handshake(std::string_view bytes);

// Makes a communicator with another rank, whose words in every round are this one's with changes that `bytes` says: four
// bytes (round, place, place, how many) and so many in their place. What is not as promised; a crash is, too.
std::string make_with_words(std::string_view bytes);

// Compares calls under COPSE_CHECK with another rank, whose words are changed in the same way.
std::string compare_with_words(std::string_view bytes);
// What the first of these comparisons says.
std::string difference_from_words(std::string_view bytes);

// Goes through rounds on boards of three ranks that hold `bytes`.
std::string gather_on_boards(std::string_view bytes);

// Bytes to begin with.
std::vector<std::string> hostile_seeds();

}  // namespace copse::test
