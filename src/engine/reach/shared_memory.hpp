// Memory that several processes of one node share: the contract with the operating system.
//
// The memory has no name. It is a memfd, which others open through its owner's /proc entry or receive over a socket. So
// nothing is left behind, however a process ends, and the size of /dev/shm does not matter.
//
// The number of a descriptor may by now belong to a file of the program. So the owner says which file it means, and nobody
// opens or maps anything else.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/reach/descriptor.hpp"

namespace copse::engine {

// A shared mapping that is unmapped at the end of its scope. It is memory of several processes, and large. So core dumps
// leave it out, and a forked child does not have it.
class Mapping {
 public:
  Mapping() = default;
  // Maps `bytes` of `fd` for reading and writing. If that fails, the mapping is empty. Allocates nothing, not even after
  // mlockall.
  Mapping(int fd, std::size_t bytes);
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), process_(other.process_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(process_, other.process_);
    return *this;
  }
  ~Mapping();
  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  explicit operator bool() const { return base_ != nullptr; }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  pid_t process_ = 0;  // the process that mapped it
};

// Gives the system back what whole pages lie in this part of a mapping. They read as zeros then, in all processes.
void forget_pages(std::span<std::byte> part);

// Returns `bytes` of zeroed memory, or an empty descriptor if the system refuses. The memory is charged when it is touched,
// and its size cannot be changed.
[[nodiscard]] Descriptor make_shared_memory(const char* name, std::size_t bytes);

// Tells whether `fd` is a memfd of this user and of `bytes`. If not, errno is set. A sealed memfd has this size forever, so
// that nobody can take away what is mapped here. A heap's memfd may be larger.
enum class Size : std::uint8_t { sealed, at_least };
[[nodiscard]] bool is_shared_memory(int fd, std::size_t bytes, Size size);

// Opens memory of another process by the number of that process's descriptor. Returns an empty descriptor, with errno set, if
// that is refused or the number is not that of `file`, of this size. A different file under that number is opened neither for
// reading nor for writing.
[[nodiscard]] Descriptor open_shared_memory(pid_t owner, int owner_fd, FileId file, std::size_t bytes, Size size);

// Returns what an errno of these functions means.
[[nodiscard]] const char* memory_trouble(int error);

}  // namespace copse::engine
