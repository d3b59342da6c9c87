// JSON files that users may have written or changed: machines and tuning tables. Every value knows its line, so that a mistake
// can be reported where it stands.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace copse::text {

// A mistake in a file. The message begins with the place: "file:line: ". It is one line of bounded length, whatever it quotes from
// the file.
class FileError : public std::runtime_error {
 public:
  explicit FileError(const std::string& message);
};

// Reads a file as text. Throws FileError if it cannot be read, or is larger than 64 MiB.
[[nodiscard]] std::string read_file(const std::string& file);

// Writes a file, which is there as a whole or not at all, whenever this is interrupted. Throws FileError if it cannot be written.
void write_file(const std::string& file, const std::string& text);

// Returns a text as JSON writes it, in quotes.
[[nodiscard]] std::string json_quoted(std::string_view text);

// One value of a JSON document. If a caller asks for a value of another kind, the function throws a FileError that says what was
// expected.
class Json {
 public:
  enum class Kind : unsigned char { null, boolean, number, string, list, object };

  // Parses a document. `origin` is the name of the file. Throws FileError if it is not JSON, if an object has a member twice
  // or more than 1000 members, if it nests deeper than 64 levels, or if it has more than a million values.
  static Json parse(std::string_view text, std::string_view origin);
  // Reads a file with read_file() and parses it. Throws FileError as these two functions do.
  static Json read(const std::string& file);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] double number() const;
  // Returns the number. Throws FileError if it does not lie between the two, both included.
  [[nodiscard]] double number(double least, double most) const;
  [[nodiscard]] std::size_t whole(std::size_t least, std::size_t most) const;
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] const std::vector<Json>& list() const;
  [[nodiscard]] const std::vector<std::pair<std::string, Json>>& object() const;

  // Throws FileError with this place.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  friend class JsonReader;

  void expect(Kind kind) const;

  Kind kind_ = Kind::null;
  int line_ = 1;
  double number_ = 0;  // of a boolean, 0 or 1
  std::string string_;
  std::vector<Json> list_;
  std::vector<std::pair<std::string, Json>> object_;
  std::shared_ptr<const std::string> origin_;
};

// Takes the members of an object one after the other, and refuses the members that nobody has taken.
class Members {
 public:
  // `what` names the object in messages: "a level".
  Members(const Json& object, std::string what);

  // Returns a member, or null if the object has none of that name.
  [[nodiscard]] const Json* find(std::string_view name);
  // Returns a member. Throws FileError if the object has none of that name.
  [[nodiscard]] const Json& need(std::string_view name);
  // Throws FileError if the object has a member that nobody has asked for.
  void end() const;

 private:
  const Json& object_;
  std::string what_;
  std::vector<std::string> asked_;
};

}  // namespace copse::text
