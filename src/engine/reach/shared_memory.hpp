// Memory that several processes of one node share: the contract with the operating system.
//
// It has no name: it is a memfd, which others open through its owner's /proc entry, or receive over a socket. So
// nothing is left behind however a process ends, and the size of /dev/shm does not matter.
//
// A descriptor's number may by now belong to a file of the program. So the owner says which file it means, and nobody
// opens or maps anything else.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace copse::engine {

// A file descriptor, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
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

// A shared mapping, unmapped at the end. It is the memory of several processes, and large: core dumps leave it out, and
// a forked child does not have it.
class Mapping {
 public:
  Mapping() = default;
  // Maps `bytes` of `fd` for reading and writing; empty when that fails. Allocates nothing, not even after mlockall.
  Mapping(int fd, std::size_t bytes);
  Mapping(Mapping &&other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), process_(other.process_) {}
  Mapping &operator=(Mapping &&other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(process_, other.process_);
    return *this;
  }
  ~Mapping();
  [[nodiscard]] std::byte *base() const { return base_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  explicit operator bool() const { return base_ != nullptr; }

 private:
  std::byte *base_ = nullptr;
  std::size_t bytes_ = 0;
  pid_t process_ = 0;  // that mapped it
};

// A file, whatever the numbers under which it is open.
struct FileId {
  std::uint64_t device = 0, inode = 0;
  auto operator<=>(const FileId &) const = default;
};
[[nodiscard]] FileId file_id(int fd);

// `bytes` of zeroed memory that is charged when touched, and whose size cannot be changed; empty when the system refuses.
[[nodiscard]] Descriptor make_shared_memory(const char *name, std::size_t bytes);

// Is it a memfd of this user and of `bytes`? Sealed ones have this size for ever, so that nobody takes away what is mapped
// here; a heap's may be larger. False, with errno set.
enum class Size : std::uint8_t { sealed, at_least };
[[nodiscard]] bool is_shared_memory(int fd, std::size_t bytes, Size size);

// Memory of another process, named by its own descriptor number; empty, with errno set, when that is refused or is not
// `file`, of this size. A file that the number has gone to is not opened, neither for reading nor for writing.
[[nodiscard]] Descriptor open_shared_memory(pid_t owner, int owner_fd, FileId file, std::size_t bytes, Size size);

// What an errno of these means.
[[nodiscard]] const char *memory_trouble(int error);

}  // namespace copse::engine
