// Memory that several processes of one node share: the contract with the operating system.
//
// It has no name: it is a memfd, which others open through its owner's /proc entry. So nothing is left behind
// however a process ends, and the size of /dev/shm does not matter.
#pragma once

#include <sys/types.h>

#include <cstddef>
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
  explicit operator bool() const { return base_ != nullptr; }

 private:
  std::byte *base_ = nullptr;
  std::size_t bytes_ = 0;
  pid_t process_ = 0;  // that mapped it
};

// `bytes` of zeroed memory that is charged when touched; empty when the system refuses.
[[nodiscard]] Descriptor make_shared_memory(const char *name, std::size_t bytes);

// Memory of another process (or of this one), named by its own descriptor number; empty when refused.
[[nodiscard]] Descriptor open_shared_memory(pid_t owner, int owner_fd);

}  // namespace copse::engine
