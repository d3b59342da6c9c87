// Makes the region: a sparse memfd with a mapping.
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
#include <sys/syscall.h>
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
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    case 'T': shift = 40; break;
    default: break;
  }
  if (shift != 0) ++end;
  if (errno != 0 || *end != '\0' || number > (uint64_t{1} << 47) >> shift) return 0;
  return static_cast<size_t>(number) << shift;
}

const char* choose_size(size_t* bytes) {
  if (const char* wish = getenv("COPSE_HEAP_BYTES")) {
    *bytes = parse_size(wish);
    if (*bytes < kSegment) {
      return because("COPSE_HEAP_BYTES=%.60s is not a size of at least 32M; write bytes, or a number with K, M, G or T", wish);
    }
  } else {
    *bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  *bytes = (*bytes + kSegment - 1) / kSegment * kSegment;
  // A file that grows past this limit raises SIGXFSZ instead of merely failing. So check first.
  struct rlimit file_size;
  if (getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < *bytes) {
    return because("the limit on file sizes (ulimit -f) is %llu bytes and the heap wants %zu; raise it, or set COPSE_HEAP_BYTES",
                   static_cast<unsigned long long>(file_size.rlim_cur), *bytes);
  }
  return nullptr;
}

// Moves a descriptor to a number that programs are unlikely to close in bulk, but that is small enough for select().
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
  // Allocate one page and return it. A refusal here is better than a SIGBUS in the program.
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

// Makes the system call directly. Libraries that hook memory events keep lists in the heap, and a forked child that
// makes its copy would write into its parent's lists.
void* map(void* at, size_t bytes, int protection, int flags, int fd) {
  constexpr long kOffset = 0;  // as wide as a word: of an int, the upper half would be whatever lies on the stack
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, fd, kOffset));
}

void unmap(void* at, size_t bytes) { syscall(SYS_munmap, at, bytes); }

// Maps `bytes` at a multiple of kSegment. Returns null and sets errno if that fails.
char* map_aligned(size_t bytes, int protection, int flags, int fd) {
  void* const reserved = map(nullptr, bytes + kSegment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (reserved == MAP_FAILED) return nullptr;
  char* const low = static_cast<char*>(reserved);
  char* const base = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(low) + kSegment - 1) / kSegment * kSegment);
  if (map(base, bytes, protection, flags | MAP_FIXED | MAP_NORESERVE, fd) == MAP_FAILED) {
    const int error = errno;
    unmap(reserved, bytes + kSegment);
    errno = error;
    return nullptr;
  }
  if (base > low) unmap(low, static_cast<size_t>(base - low));
  if (base < low + kSegment) unmap(base + bytes, static_cast<size_t>(low + kSegment - base));
  // This is only advice. A system that does not take it uses small pages.
  if (wants_huge_pages()) syscall(SYS_madvise, base, bytes, MADV_HUGEPAGE);
  return base;
}

// Reads [from, to) of the region to the same offsets of `copy`. The region begins at offset `begin` of the file.
bool read_range(int fd, off_t begin, char* copy, off_t from, off_t to) {
  while (from < to) {
    const ssize_t got = pread(fd, copy + from, static_cast<size_t>(to - from), begin + from);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    from += got;
  }
  return true;
}

const char* copy_extents(const Region& region, char* copy) {
  off_t data = 0;
  while ((data = lseek(region.fd, data, SEEK_DATA)) >= 0) {
    const off_t hole = lseek(region.fd, data, SEEK_HOLE);
    if (hole < 0 || !read_range(region.fd, 0, copy, data, hole)) return "the heap cannot be read";
    data = hole;
  }
  return errno == ENXIO ? nullptr : "the heap's extents cannot be found";
}

// Reads through the process's memory file, because the program may have made a page inaccessible.
const char* copy_open_grains(const Region& region, char* copy) {
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return "the program has closed the heap's descriptor, and /proc/self/mem does not open";
  const char* trouble = nullptr;
  for (size_t at = 0; at < region.bytes && trouble == nullptr; at += kGrain) {
    if (region.open[at / kGrain] == 0) continue;
    const auto from = static_cast<off_t>(at);
    if (!read_range(memory, reinterpret_cast<off_t>(region.base), copy, from, from + static_cast<off_t>(kGrain)))
      trouble = "the heap cannot be read";
  }
  close(memory);
  return trouble;
}

// Makes grains [from, to) accessible and part of core dumps, or makes them neither.
bool set_access(const Region& region, size_t from, size_t to, bool open) {
  char* const start = region.base + from * kGrain;
  const size_t bytes = (to - from) * kGrain;
  if (syscall(SYS_mprotect, start, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) return false;
  syscall(SYS_madvise, start, bytes, open ? MADV_DODUMP : MADV_DONTDUMP);
  memset(region.open + from, open ? 1 : 0, to - from);
  return true;
}

}  // namespace

const char* open_region(Region* region) {
  size_t bytes = 0;
  int fd = -1;
  if (const char* why = choose_size(&bytes)) return why;
  if (const char* why = make_file(bytes, &fd)) return why;
  char* const base = map_aligned(bytes, PROT_NONE, MAP_SHARED, fd);
  void* const open = map(nullptr, bytes / kGrain, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (base == nullptr || open == MAP_FAILED) {
    const int error = errno;
    if (base != nullptr) unmap(base, bytes);
    if (open != MAP_FAILED) unmap(open, bytes / kGrain);
    close(fd);
    return because("no room for %zu bytes of address space (ulimit -v?): %s; set COPSE_HEAP_BYTES lower", bytes, strerror(error));
  }
  struct stat status;
  fstat(fd, &status);
  *region = Region{base, bytes, fd, status.st_dev, status.st_ino, static_cast<unsigned char*>(open)};
  syscall(SYS_madvise, base, bytes, MADV_DONTDUMP);
  return nullptr;
}

void drop_region(Region* region) {
  unmap(region->base, region->bytes);
  unmap(region->open, region->bytes / kGrain);
  close(region->fd);
  *region = Region{};
}

bool descriptor_intact(const Region& region) {
  struct stat status;
  return fstat(region.fd, &status) == 0 && status.st_dev == region.device && status.st_ino == region.inode;
}

bool open_grains(const Region& region, const void* start, size_t bytes) {
  const auto offset = static_cast<size_t>(static_cast<const char*>(start) - region.base);
  size_t grain = offset / kGrain;
  const size_t end = (offset + bytes + kGrain - 1) / kGrain;
  while (grain < end) {
    size_t next = grain;
    while (next < end && region.open[next] == 0) ++next;
    if (next > grain && !set_access(region, grain, next, true)) return false;
    grain = next + 1;
  }
  return true;
}

void close_grains(const Region& region, const void* start, size_t bytes) {
  const auto offset = static_cast<size_t>(static_cast<const char*>(start) - region.base);
  const size_t from = (offset + kGrain - 1) / kGrain;
  const size_t to = (offset + bytes) / kGrain;
  constexpr size_t kWorthwhile = 4;  // each run is a mapping, and a process may have 65530
  if (from + kWorthwhile <= to) set_access(region, from, to, false);
}

const char* make_private(Region* region) {
  char* const copy = map_aligned(region->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (copy == nullptr) return "no address space for a private copy of the heap";
  const bool intact = descriptor_intact(*region);
  if (const char* why = intact ? copy_extents(*region, copy) : copy_open_grains(*region, copy)) return why;
  // This replaces the shared mapping in one step, so the heap is there at every moment.
  if (syscall(SYS_mremap, copy, region->bytes, region->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, region->base) == -1) {
    return "the private copy cannot take the heap's place";
  }
  if (intact) close(region->fd);
  region->fd = -1;
  return nullptr;
}

}  // namespace copse::heap
