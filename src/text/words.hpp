// Words and sizes that users write.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace copse::text {

// Reads a whole number.
[[nodiscard]] std::optional<std::size_t> number_in(std::string_view text);

// Reads a size in bytes: 32768, 32K, 1M, 2G, 1T.
[[nodiscard]] std::optional<std::size_t> size_in(std::string_view text);

// Returns the one of `known` that is nearest to `word`, for error messages. Returns an empty text if none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& known);

// Returns the end of an error message about an unknown word: what may have been meant, and what is known. It begins with a
// semicolon or a blank, so that it can follow the message.
[[nodiscard]] std::string instead_of(std::string_view word, const std::vector<std::string>& known);

// Returns an error message about an unknown word. `what` is the kind of thing that it should name.
[[nodiscard]] std::string unknown(std::string_view what, std::string_view word, const std::vector<std::string>& known);

// Returns a text with its capitals (A to Z) as small letters.
[[nodiscard]] std::string lower(std::string_view text);

// Returns the parts of a text between separators.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace copse::text
