// Making the region: a sparse memfd, mapped at an address of its own.
#include "heap/region.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace copse::heap {
namespace {

const char* because(const char* format, ...) __attribute__((format(printf, 1, 2)));
const char* because(const char* format, ...) {
  static char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

// Returns 0 for a text that is not a size.
size_t parse_size(const char* text) {
  if (*text < '0' || *text > '9') return 0;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = strtoull(text, &end, 10);
  unsigned shift = 0;
  switch (*end) {
    case 'K':
      shift = 10;
      break;
    case 'M':
      shift = 20;
      break;
    case 'G':
      shift = 30;
      break;
    case 'T':
      shift = 40;
      break;
    default:
      break;
  }
  if (shift != 0) ++end;
  if (errno != 0 || *end != '\0' || number > (uint64_t{1} << 47) >> shift) return 0;
  return static_cast<size_t>(number) << shift;
}

const char* choose_size(size_t* bytes) {
  if (const char* wish = getenv("COPSE_HEAP_BYTES")) {
    *bytes = parse_size(wish);
    if (*bytes < kSegment) {
      return because("COPSE_HEAP_BYTES=%.60s is not a size of at least 32M; write bytes, or a number with K, M, G or T",
                     wish);
    }
  } else {
    *bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  *bytes = (*bytes + kSegment - 1) / kSegment * kSegment;
  // Growing a file past this limit does not merely fail, it raises SIGXFSZ: ask first.
  struct rlimit file_size;
  if (getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < *bytes) {
    return because(
        "the limit on file sizes (ulimit -f) is %llu bytes and the heap wants %zu; raise it, or set COPSE_HEAP_BYTES",
        static_cast<unsigned long long>(file_size.rlim_cur), *bytes);
  }
  return nullptr;
}

// A number well above those that programs close by the handful, but still small enough for select().
int out_of_the_way(int fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 900);
  if (high < 0) return fd;
  close(fd);
  return high;
}

const char* make_file(size_t bytes, int* out) {
#ifdef MFD_NOEXEC_SEAL
  int fd = memfd_create("copse-heap", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  if (fd < 0) fd = memfd_create("copse-heap", MFD_CLOEXEC);
#else
  int fd = memfd_create("copse-heap", MFD_CLOEXEC);
#endif
  if (fd < 0) return because("memfd_create failed: %s", strerror(errno));
  fd = out_of_the_way(fd);
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(fd);
    return because("a memfd of %zu bytes was refused: %s; set COPSE_HEAP_BYTES lower", bytes, strerror(error));
  }
  // One real page in and out again: better refused here than by SIGBUS in the program.
  if (fallocate(fd, 0, 0, 4096) != 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0) {
    const int error = errno;
    close(fd);
    return because("the memfd cannot take or give back a page: %s", strerror(error));
  }
  *out = fd;
  return nullptr;
}

bool wants_huge_pages() {
  const char* const wish = getenv("COPSE_HEAP_HUGE");
  return wish == nullptr || strcmp(wish, "0") != 0;
}

// Maps `bytes` at a multiple of kSegment; null and errno if that fails.
char* map_aligned(size_t bytes, int flags, int fd) {
  void* const reserved = mmap(nullptr, bytes + kSegment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  char* const low = static_cast<char*>(reserved);
  char* const base = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(low) + kSegment - 1) / kSegment * kSegment);
  if (mmap(base, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(reserved, bytes + kSegment);
    errno = error;
    return nullptr;
  }
  if (base > low) munmap(low, static_cast<size_t>(base - low));
  if (base < low + kSegment) munmap(base + bytes, static_cast<size_t>(low + kSegment - base));
  // Only advice: where the system does not take it, the pages are small.
  if (wants_huge_pages()) madvise(base, bytes, MADV_HUGEPAGE);
  return base;
}

// Reads [from, to) of the file to the same offsets of `copy`.
bool read_range(int fd, char* copy, off_t from, off_t to) {
  while (from < to) {
    const ssize_t got = pread(fd, copy + from, static_cast<size_t>(to - from), from);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    from += got;
  }
  return true;
}

}  // namespace

const char* open_region(Region* region) {
  size_t bytes = 0;
  int fd = -1;
  if (const char* why = choose_size(&bytes)) return why;
  if (const char* why = make_file(bytes, &fd)) return why;
  char* const base = map_aligned(bytes, MAP_SHARED, fd);
  if (base == nullptr) {
    const int error = errno;
    close(fd);
    return because("no room for %zu bytes of address space (ulimit -v?): %s; set COPSE_HEAP_BYTES lower", bytes,
                   strerror(error));
  }
  struct stat status;
  fstat(fd, &status);
  *region = Region{base, bytes, fd, status.st_dev, status.st_ino};
  return nullptr;
}

bool descriptor_intact(const Region& region) {
  struct stat status;
  return fstat(region.fd, &status) == 0 && status.st_dev == region.device && status.st_ino == region.inode;
}

const char* make_private(Region* region) {
  if (!descriptor_intact(*region)) return "the program has closed the heap's descriptor";
  char* const copy = map_aligned(region->bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (copy == nullptr) return "no address space for a private copy of the heap";
  off_t data = 0;
  while ((data = lseek(region->fd, data, SEEK_DATA)) >= 0) {
    const off_t hole = lseek(region->fd, data, SEEK_HOLE);
    if (hole < 0 || !read_range(region->fd, copy, data, hole)) return "the heap cannot be read";
    data = hole;
  }
  if (errno != ENXIO) return "the heap's extents cannot be found";
  // One step from shared to private: there is no moment at which the heap is not there.
  if (mremap(copy, region->bytes, region->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, region->base) == MAP_FAILED) {
    return "the private copy cannot take the heap's place";
  }
  close(region->fd);
  region->fd = -1;
  return nullptr;
}

}  // namespace copse::heap
