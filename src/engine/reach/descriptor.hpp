// File descriptors of Copse's in a process that belongs to a program.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

namespace copse::engine {

// A file descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// A file, whatever the numbers under which it is open.
struct FileId {
  std::uint64_t device = 0, inode = 0;
  auto operator<=>(const FileId&) const = default;
};
[[nodiscard]] FileId file_id(int fd);

// A descriptor that stays open while the program runs on. Descriptors belong to the program, so this one has a number above those
// that programs use and close by the handful. A program may close it nevertheless, and open a file under its number.
class KeptDescriptor {
 public:
  KeptDescriptor() = default;
  // The result is empty if `fd` is.
  explicit KeptDescriptor(Descriptor fd);
  KeptDescriptor(KeptDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), file_(other.file_) {}
  KeptDescriptor& operator=(KeptDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~KeptDescriptor() { drop(is_sound()); }
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  // Tells whether the number still stands for the same file.
  [[nodiscard]] bool is_sound() const { return fd_ >= 0 && file_id(fd_) == file_; }
  // Forgets the descriptor. It is closed only if it is Copse's.
  void drop(bool ours);
  // Tells whether Copse keeps less than a quarter of the descriptors that this process may have.
  [[nodiscard]] static bool may_keep_one_more();

 private:
  int fd_ = -1;
  FileId file_;
};

}  // namespace copse::engine
