// Lives of processes on Linux: pidfd.
#include "engine/reach/process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "engine/reach/shared_memory.hpp"

namespace copse::engine {

bool process_ended(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return kill(pid, 0) != 0 && errno == ESRCH;  // no descriptors left, or no such call here
  const Descriptor owner(fd);
  pollfd state{fd, POLLIN, 0};
  return poll(&state, 1, 0) > 0;  // readable from the end on
}

}  // namespace copse::engine
