// Parses JSON with RapidJSON's reader, which says where it is.
#include "text/json.hpp"

#include <fcntl.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>

#include "text/words.hpp"

namespace copse::text {
namespace {

constexpr std::size_t kDeepest = 64, kMostMembers = 1000, kMostValues = 1'000'000, kLargestFile = std::size_t{64} << 20;

// A file may hold whole books and control characters, which could do anything to a terminal. A message has none of these.
std::string presentable(const std::string& message) {
  constexpr std::size_t kLongest = 1000, kEnd = 200;
  std::string text = message;
  if (text.size() > kLongest) text = text.substr(0, kLongest - kEnd) + " [...] " + text.substr(text.size() - kEnd);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

const char* name_of(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null: return "null";
    case Json::Kind::boolean: return "true or false";
    case Json::Kind::number: return "a number";
    case Json::Kind::string: return "a text in quotes";
    case Json::Kind::list: return "a list in [ ]";
    case Json::Kind::object: return "an object in { }";
  }
  return "";
}

// A number as people write it: without an exponent or trailing zeros where it is whole.
std::string shown(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

// RapidJSON's stream, and how many lines it has passed.
class Lines {
 public:
  using Ch = char;
  explicit Lines(std::string_view text) : at_(text.data()), begin_(at_), end_(at_ + text.size()) {}

  [[nodiscard]] char Peek() const { return at_ == end_ ? '\0' : *at_; }
  char Take() {
    if (at_ == end_) return '\0';
    line_ += *at_ == '\n' ? 1 : 0;
    return *at_++;
  }
  [[nodiscard]] std::size_t Tell() const { return static_cast<std::size_t>(at_ - begin_); }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }

  // RapidJSON's interface requires these for parsing in place, which nobody does here.
  static char* PutBegin() { return nullptr; }
  static void Put(char) {}
  static void Flush() {}
  static std::size_t PutEnd(char*) { return 0; }

 private:
  const char *at_, *begin_, *end_;
  int line_ = 1;
};

}  // namespace

FileError::FileError(const std::string& message) : std::runtime_error(presentable(message)) {}

// Builds the document from RapidJSON's events.
class JsonReader : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, JsonReader> {
 public:
  JsonReader(const Lines& lines, std::shared_ptr<const std::string> origin) : lines_(lines), origin_(std::move(origin)) {}

  bool Null() { return add(Json::Kind::null) != nullptr; }
  bool Bool(bool value) { return number(Json::Kind::boolean, value ? 1 : 0); }
  // Numbers are not read by RapidJSON, which in full precision asks for the first bit of zero where a file has 0e5.
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    double value = 0;
    const auto [end, error] = std::from_chars(text, text + size, value);
    if (error != std::errc{} || end != text + size)
      return fail("no number of a computer is as large or as small as " + std::string(text, size));
    return number(Json::Kind::number, value);
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    Json* const value = add(Json::Kind::string);
    if (value == nullptr || !is_text(text, size)) return false;
    value->string_.assign(text, size);
    return true;
  }
  bool StartArray() { return open(Json::Kind::list); }
  bool EndArray(rapidjson::SizeType) { return close(); }
  bool StartObject() { return open(Json::Kind::object); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    std::string name(text, size);
    if (!is_text(text, size)) return false;
    if (open_.back()->object_.size() == kMostMembers)
      return fail("an object has more than " + std::to_string(kMostMembers) + " members");
    for (const auto& member : open_.back()->object_)
      if (member.first == name) return fail("an object has the member " + quoted(name) + " twice");
    open_.back()->object_.emplace_back(std::move(name), Json());
    return true;
  }
  bool EndObject(rapidjson::SizeType) { return close(); }

  [[nodiscard]] Json take() { return std::move(document_); }
  [[nodiscard]] const std::string& mistake() const { return mistake_; }

 private:
  bool fail(std::string what) {
    mistake_ = std::move(what);
    return false;
  }
  // Refuses a text with a zero byte, because other code takes texts as C strings, which would end too early.
  bool is_text(const char* text, std::size_t size) {
    return std::string_view(text, size).find('\0') == std::string_view::npos || fail("a text holds the character \\u0000");
  }
  // Adds a value to the document. Adds a value to the document. Returns null if there are too many values.
  Json* add(Json::Kind kind) {
    if (++values_ > kMostValues) {
      fail("the file has more than " + std::to_string(kMostValues) + " values");
      return nullptr;
    }
    Json* value = &document_;
    if (!open_.empty() && open_.back()->kind_ == Json::Kind::list) value = &open_.back()->list_.emplace_back();
    if (!open_.empty() && open_.back()->kind_ == Json::Kind::object) value = &open_.back()->object_.back().second;
    value->kind_ = kind;
    value->line_ = lines_.line();
    value->origin_ = origin_;
    return value;
  }
  bool number(Json::Kind kind, double number) {
    Json* const value = add(kind);
    if (value == nullptr) return false;
    value->number_ = number;
    return true;
  }
  bool open(Json::Kind kind) {
    if (open_.size() == kDeepest) return fail("lists and objects nest deeper than " + std::to_string(kDeepest) + " levels");
    Json* const value = add(kind);
    if (value == nullptr) return false;
    open_.push_back(value);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const Lines& lines_;
  std::shared_ptr<const std::string> origin_;
  Json document_;
  std::vector<Json*> open_;  // the last one gets the next value; a list does not grow while one of its values is open
  std::size_t values_ = 0;
  std::string mistake_;
};

Json Json::parse(std::string_view text, std::string_view origin) {
  Lines lines(text);
  JsonReader handler(lines, std::make_shared<const std::string>(origin));
  rapidjson::Reader reader;
  const auto refuse = [&](const std::string& what) -> Json {
    throw FileError(std::string(origin) + ":" + std::to_string(lines.line()) + ": " + what);
  };
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseValidateEncodingFlag | rapidjson::kParseStopWhenDoneFlag;
  if (!reader.Parse<kFlags>(lines, handler)) {
    if (!handler.mistake().empty()) return refuse(handler.mistake());
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return refuse("the file is empty");
    return refuse("this is not JSON: " + std::string(rapidjson::GetParseError_En(reader.GetParseErrorCode())) +
                  (lines.at_end() ? " The file ends here; it may be cut off." : ""));
  }
  while (!lines.at_end())
    if (std::string_view(" \t\r\n").find(lines.Take()) == std::string_view::npos)
      return refuse("there is more after the end of the document");
  return handler.take();
}

std::string read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  char part[65536];
  while (stream && text.size() <= kLargestFile) {
    stream.read(part, sizeof part);
    text.append(part, static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.eof() && text.empty()) throw FileError(file + ": the file cannot be read; is the name right, and may you read it?");
  if (text.size() > kLargestFile)
    throw FileError(file + ": the file is larger than 64 MiB, so it cannot be what was expected here");
  return text;
}

void write_file(const std::string& file, const std::string& text) {
  const auto refuse = [&](const char* what) { throw FileError(file + ": " + what + ": " + std::strerror(errno)); };
  static std::atomic<int> written_here{0};
  std::string made;
  int descriptor = -1;
  for (int tries = 0; tries < 1000; ++tries) {  // a process of the same number may have been killed while it wrote such a file
    made = file + "." + std::to_string(::getpid()) + "-" + std::to_string(++written_here);
    descriptor = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  if (descriptor < 0) refuse("no file can be made in this folder");
  bool good = true;
  for (std::size_t at = 0; good && at < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + at, text.size() - at);
    good = written > 0;
    at += good ? static_cast<std::size_t>(written) : 0;
  }
  good = good && fsync(descriptor) == 0;
  good = ::close(descriptor) == 0 && good;
  good = good && std::rename(made.c_str(), file.c_str()) == 0;
  if (good) return;
  const int error = errno;
  ::unlink(made.c_str());
  errno = error;
  refuse("the file cannot be written");
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

Json Json::read(const std::string& file) { return parse(read_file(file), file); }

void Json::refuse(const std::string& what) const {
  throw FileError((origin_ ? *origin_ : std::string()) + ":" + std::to_string(line_) + ": " + what);
}

void Json::expect(Kind kind) const {
  if (kind_ != kind) refuse(std::string("expected ") + name_of(kind) + ", but here is " + name_of(kind_));
}

bool Json::boolean() const {
  expect(Kind::boolean);
  return number_ != 0;
}

double Json::number() const {
  expect(Kind::number);
  return number_;
}

double Json::number(double least, double most) const {
  expect(Kind::number);
  if (!(number_ >= least && number_ <= most))
    refuse(shown(number_) + " is not a number from " + shown(least) + " to " + shown(most));
  return number_;
}

std::size_t Json::whole(std::size_t least, std::size_t most) const {
  const double value = number(static_cast<double>(least), static_cast<double>(most));
  if (value != std::floor(value)) refuse(shown(value) + " is not a whole number");
  return static_cast<std::size_t>(value);
}

const std::string& Json::string() const {
  expect(Kind::string);
  return string_;
}

const std::vector<Json>& Json::list() const {
  expect(Kind::list);
  return list_;
}

const std::vector<std::pair<std::string, Json>>& Json::object() const {
  expect(Kind::object);
  return object_;
}

Members::Members(const Json& object, std::string what) : object_(object), what_(std::move(what)) {
  static_cast<void>(object.object());
}

const Json* Members::find(std::string_view name) {
  asked_.emplace_back(name);
  for (const auto& [member, value] : object_.object())
    if (member == name) return &value;
  return nullptr;
}

const Json& Members::need(std::string_view name) {
  const Json* const value = find(name);
  if (value == nullptr) object_.refuse(what_ + " needs the member " + quoted(name));
  return *value;
}

void Members::end() const {
  for (const auto& [name, value] : object_.object())
    if (std::find(asked_.begin(), asked_.end(), name) == asked_.end())
      value.refuse(what_ + " has no member " + quoted(name) + instead_of(name, asked_));
}

}  // namespace copse::text
