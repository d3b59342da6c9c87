// mlockall that leaves sparse memory alone. mlockall allocates every page that is mapped and accessible. Peers' heaps, the common
// memory of the ranks and UPC's are mapped as a whole. So a program that locks its memory would use up the node's memory.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/state.hpp"

namespace copse::heap {
namespace {

// `line` is a line of /proc/self/maps: START-END PERMISSIONS OFFSET DEVICE INODE PATH
void lock_mapping(const char* line) {
  char* rest = nullptr;
  const unsigned long start = strtoul(line, &rest, 16);
  const unsigned long end = strtoul(rest + 1, nullptr, 16);
  const bool sparse = strstr(line, "/memfd:copse") != nullptr;
  if (!sparse || state.region.contains(reinterpret_cast<const void*>(start))) {
    syscall(SYS_mlock, start, end - start);  // mlockall too skips mappings that cannot be locked
  }
}

void lock_mappings(int maps) {
  char text[8192];  // no path is longer than 4096 bytes
  size_t held = 0;
  for (;;) {
    const ssize_t got = read(maps, text + held, sizeof text - 1 - held);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    held += static_cast<size_t>(got);
    text[held] = '\0';
    char* line = text;
    while (char* const end = strchr(line, '\n')) {
      *end = '\0';
      lock_mapping(line);
      line = end + 1;
    }
    held = strlen(line);
    memmove(text, line, held);
  }
}

int system_call(int flags) { return static_cast<int>(syscall(SYS_mlockall, flags)); }

// First locks everything that is mapped, which allocates nothing. Then allocates, mapping by mapping.
int lock_what_is_used(int flags) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return system_call(flags);
  const int result = system_call(flags | MCL_ONFAULT);
  if (result == 0) {
    if ((flags & MCL_FUTURE) != 0) system_call(MCL_FUTURE);  // later mappings are locked as asked
    const int error = errno;
    lock_mappings(maps);
    errno = error;
  }
  close(maps);
  return result;
}

}  // namespace
}  // namespace copse::heap

extern "C" __attribute__((visibility("default"))) int mlockall(int flags) noexcept {
  if ((flags & (MCL_CURRENT | MCL_ONFAULT)) != MCL_CURRENT) return copse::heap::system_call(flags);
  // mlockall is no cancellation point, but open, read and close are. A thread that ended here would end the process.
  int cancelling = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
  const int result = copse::heap::lock_what_is_used(flags);
  pthread_setcancelstate(cancelling, nullptr);
  return result;
}
