// Shared memory on Linux: memfd and /proc/<pid>/fd.
#include "engine/reach/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace copse::engine {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;
// This is MFD_NOEXEC_SEAL. Linux before 6.3 does not know it, and some systems (vm.memfd_noexec) demand it.
constexpr unsigned kNoExecSeal = 8;

}  // namespace

Mapping::Mapping(int fd, std::size_t bytes) : bytes_(bytes), process_(getpid()) {
  // After mlockall(MCL_FUTURE), mmap allocates every page that it makes accessible. mprotect does not.
  void* base = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) return;
  munlock(base, bytes);
  madvise(base, bytes, MADV_DONTDUMP);
  madvise(base, bytes, MADV_DONTFORK);
  if (mprotect(base, bytes, PROT_READ | PROT_WRITE) == 0) {
    base_ = static_cast<std::byte*>(base);
  } else {
    munmap(base, bytes);
  }
}

Mapping::~Mapping() {
  // In a forked child, something else may be mapped there by now.
  if (base_ != nullptr && process_ == getpid()) munmap(base_, bytes_);
}

void forget_pages(std::span<std::byte> part) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  const std::uintptr_t first = (begin + page - 1) / page * page, end = (begin + part.size()) / page * page;
  if (first >= end) return;
  void* const at = reinterpret_cast<void*>(first);
  if (madvise(at, end - first, MADV_REMOVE) == 0 || errno != EINVAL) return;
  munlock(at, end - first);  // the process has called mlockall
  madvise(at, end - first, MADV_REMOVE);
  mlock2(at, end - first, MLOCK_ONFAULT);
}

Descriptor make_shared_memory(const char* name, std::size_t bytes) {
  rlimit file_size{};  // growing a file past this limit does not merely fail: SIGXFSZ ends the process
  if (getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < bytes) {
    errno = EFBIG;
    return Descriptor{};
  }
  Descriptor memory(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecSeal));
  if (!memory) memory = Descriptor(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0)
    return Descriptor{};
  return memory;
}

bool is_shared_memory(int fd, std::size_t bytes, Size size) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return false;
  errno = ESTALE;
  const int seals = S_ISREG(status.st_mode) ? fcntl(fd, F_GET_SEALS) : -1;  // an error if the file is no memfd
  if (seals < 0 || status.st_size < 0) return false;
  if (status.st_uid != geteuid()) {
    errno = EPERM;
    return false;
  }
  const auto has = static_cast<std::size_t>(status.st_size);
  return size == Size::sealed ? has == bytes && (seals & kSizeSeals) == kSizeSeals : has >= bytes;
}

Descriptor open_shared_memory(pid_t owner, int owner_fd, FileId file, std::size_t bytes, Size size) {
  const std::string path = "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(owner_fd);
  // O_PATH only looks at the file. A FIFO, a device or a file would notice that it is opened.
  const Descriptor seen(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!seen) return Descriptor{};
  if (file_id(seen.get()) != file) {
    errno = ESTALE;
    return Descriptor{};
  }
  const std::string again = "/proc/self/fd/" + std::to_string(seen.get());
  Descriptor opened(open(again.c_str(), O_RDWR | O_CLOEXEC));
  if (opened && !is_shared_memory(opened.get(), bytes, size)) return Descriptor{};
  return opened;
}

const char* memory_trouble(int error) {
  if (error == ESTALE) return "its descriptor is another file by now; the program must not close what it has not opened";
  return std::strerror(error);
}

}  // namespace copse::engine
