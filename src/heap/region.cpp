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

#include <initializer_list>

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

// A rank maps the heaps of all ranks of its node. Together they get half of the addresses of a process.
constexpr size_t kAddresses = size_t{1} << 46;

size_t ranks_of_node() {
  for (const char* name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"}) {
    const char* const told = getenv(name);
    const long ranks = told == nullptr ? 0 : strtol(told, nullptr, 10);
    if (ranks > 0) return static_cast<size_t>(ranks);
  }
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  return processors > 0 ? static_cast<size_t>(processors) : 1;
}

const char* choose_size(size_t* bytes) {
  if (const char* wish = getenv("COPSE_HEAP_BYTES")) {
    *bytes = parse_size(wish);
    if (*bytes < kSegment) {
      return because("COPSE_HEAP_BYTES=%.60s is not a size of at least 32M; write bytes, or a number with K, M, G or T", wish);
    }
  } else {
    *bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t room = kAddresses / ranks_of_node();
    if (*bytes > room) *bytes = room;
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
  constexpr unsigned kNoExecSeal = 8;  // MFD_NOEXEC_SEAL: Linux before 6.3 does not know it, and some systems demand it
  int fd = memfd_create("copse-heap", MFD_CLOEXEC | kNoExecSeal);
  if (fd < 0) fd = memfd_create("copse-heap", MFD_CLOEXEC);
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

bool read_at(int fd, off_t from, char* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = pread(fd, to, bytes, from);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    from += got;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

// Copies `bytes` of the region from offset `from` on, without the holes, which read as zeros in the copy anyway.
const char* copy_extents(const Region& region, char* copy, size_t from, size_t bytes) {
  const auto begin = static_cast<off_t>(from), end = static_cast<off_t>(from + bytes);
  for (off_t data = begin, hole = begin; (data = lseek(region.fd, hole, SEEK_DATA)) < end;) {
    if (data < 0) return errno == ENXIO ? nullptr : "the heap's extents cannot be found";
    hole = lseek(region.fd, data, SEEK_HOLE);
    if (hole > end) hole = end;
    if (hole < 0 || !read_at(region.fd, data, copy + (data - begin), static_cast<size_t>(hole - data)))
      return "the heap cannot be read";
    if (hole == end) return nullptr;
  }
  return nullptr;
}

// Reads through the process's memory file, because the program may have made a page inaccessible.
const char* copy_mapped(const Region& region, char* copy, size_t from, size_t bytes) {
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return "the program has closed the heap's descriptor, and /proc/self/mem does not open";
  const bool done = read_at(memory, reinterpret_cast<off_t>(region.base + from), copy, bytes);
  close(memory);
  return done ? nullptr : "the heap cannot be read";
}

// Puts a private copy of [from, from + bytes), which is open, in its place.
const char* copy_open(const Region& region, bool intact, size_t from, size_t bytes) {
  char* const copy = map_aligned(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (copy == nullptr) return "no memory for a private copy of the heap (vm.overcommit_memory, ulimit -d or -v)";
  if (const char* why = intact ? copy_extents(region, copy, from, bytes) : copy_mapped(region, copy, from, bytes)) return why;
  if (syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, region.base + from) == -1)
    return "the private copy cannot take the heap's place";
  return nullptr;
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
  const bool intact = descriptor_intact(*region);
  const size_t grains = region->bytes / kGrain;
  for (size_t from = 0, to = 0; from < grains; from = to) {
    while (to < grains && region->open[to] == region->open[from]) ++to;
    const size_t bytes = (to - from) * kGrain;
    const char* why = nullptr;
    if (region->open[from] != 0) {
      why = copy_open(*region, intact, from * kGrain, bytes);
    } else if (map(region->base + from * kGrain, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1) ==
               MAP_FAILED) {
      why = "no private address space can take the heap's place";
    }
    if (why != nullptr) return why;
  }
  if (intact) close(region->fd);
  region->fd = -1;
  return nullptr;
}

}  // namespace copse::heap
