// What every reader of other ranks' words must promise for any bytes. For the quick test and the fuzzers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace copse::test {

// Reads `bytes` as the words of a caller and as the answer of rank 0. Returns any broken promise.
std::string read_as_handshake(std::string_view bytes);

// Makes a communicator with another rank. In every round its words are this rank's, with changes from `bytes`: four
// bytes (round, place, place, length) and then the new bytes. Returns any broken promise. A crash breaks one too.
std::string make_with_words(std::string_view bytes);

// Makes communicators among the kin of another, with a rank whose words are changed in the same way.
std::string make_among_kin_with_words(std::string_view bytes);

// Reads `bytes` as an invitation to a helper. Returns any broken promise.
std::string read_as_invitation(std::string_view bytes);

// Reads `bytes` as what the kernel says about a stranger's process. Returns any broken promise.
std::string read_as_status(std::string_view bytes);

// Compares calls under COPSE_CHECK with another rank whose words are changed in the same way.
std::string compare_with_words(std::string_view bytes);
// Returns what the first of these comparisons says.
std::string difference_from_words(std::string_view bytes);
// Returns why rank 0 makes no communicator after these words. The text is empty if it makes one.
std::string refusal_after(std::string_view bytes);

// Goes through rounds on boards of three ranks that contain `bytes`.
std::string gather_on_boards(std::string_view bytes);

// Returns bytes to start with.
std::vector<std::string> hostile_seeds();

}  // namespace copse::test
