// Shared memory on Linux: memfd and /proc/<pid>/fd.
#include "engine/reach/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace copse::engine {

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Mapping::Mapping(int fd, std::size_t bytes) : bytes_(bytes), process_(getpid()) {
  // After mlockall(MCL_FUTURE), mmap allocates every page of what it makes accessible; mprotect does not.
  void *base = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) return;
  munlock(base, bytes);
  madvise(base, bytes, MADV_DONTDUMP);
  madvise(base, bytes, MADV_DONTFORK);
  if (mprotect(base, bytes, PROT_READ | PROT_WRITE) == 0) {
    base_ = static_cast<std::byte *>(base);
  } else {
    munmap(base, bytes);
  }
}

Mapping::~Mapping() {
  // In a forked child, something else may lie there by now.
  if (base_ != nullptr && process_ == getpid()) munmap(base_, bytes_);
}

Descriptor make_shared_memory(const char *name, std::size_t bytes) {
  rlimit file_size{};  // a file that would grow past it does not merely fail to: SIGXFSZ ends the process
  if (getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < bytes) {
    errno = EFBIG;
    return Descriptor{};
  }
  Descriptor memory(memfd_create(name, MFD_CLOEXEC));
  if (memory && ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) return Descriptor{};
  return memory;
}

Descriptor open_shared_memory(pid_t owner, int owner_fd) {
  const std::string path = "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(owner_fd);
  return Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
}

}  // namespace copse::engine
