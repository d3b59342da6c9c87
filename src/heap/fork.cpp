// fork without a shared heap. Copy-on-write does not apply to a shared mapping, so parent and child would write into
// one heap. Therefore the parent waits in fork until the child has copied the touched pages to private memory. vfork
// and posix_spawn (system, popen, Python's subprocess) run no handlers and need none, because their child shares all
// memory until exec.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "heap/state.hpp"

namespace copse::heap {
namespace {

// Lets one fork run at a time, so that no other child holds the pipe's end open. Also guards the variables below.
pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
int done_pipe[2];
sigset_t signals_before;
int cancelling_before;
pid_t (*glibc_fork)();

[[noreturn]] void give_up(const char* what, const char* why) {
  for (const char* part : {"copse: ", what, why, "\n"}) {
    if (write(STDERR_FILENO, part, strlen(part)) < 0) break;
  }
  _exit(127);
}

[[noreturn]] void child_gives_up(const char* why) { give_up("a forked child has no heap of its own and ends: ", why); }

void before_fork() {
  if (!state.active()) return;
  // If the stack lies in the region, parent and child would both return from fork on that one stack.
  if (state.region.contains(__builtin_frame_address(0))) {
    give_up("fork on a stack that lies in the shared heap, which cannot work; ",
            "allocate the stack by mmap, or run without --shared-heap");
  }
  // fork is no cancellation point, but the calls here are. A thread that ended here would keep the turn.
  int cancelling = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
  // No signal handler may run while the child's heap is half copied.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_mutex_lock(&turn);
  signals_before = before;
  cancelling_before = cancelling;
  if (pipe2(done_pipe, O_CLOEXEC) != 0) done_pipe[0] = done_pipe[1] = -1;
}

void leave() {
  const sigset_t before = signals_before;
  const int cancelling = cancelling_before;
  pthread_mutex_unlock(&turn);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setcancelstate(cancelling, nullptr);
}

void in_parent() {
  if (!state.active()) return;
  if (done_pipe[0] >= 0) {
    close(done_pipe[1]);
    // read() returns the end of file when the child has copied its heap, when it has died, and when it never existed.
    char nothing;
    while (read(done_pipe[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    close(done_pipe[0]);
  }
  leave();
}

void in_child() {
  if (!state.active()) return;
  if (done_pipe[0] < 0) child_gives_up("no descriptor was free for fork (ulimit -n)");
  if (const char* why = make_private(&state.region)) child_gives_up(why);
  state.freeze();
  close(done_pipe[0]);
  close(done_pipe[1]);
  leave();
}

void find_glibc_fork() { glibc_fork = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "_Fork")); }

}  // namespace

void guard_forks() {
  find_glibc_fork();
  pthread_atfork(before_fork, in_parent, in_child);
}

}  // namespace copse::heap

// _Fork, which runs no handlers, is the only other way to make a child with a copy of the memory. glibc has it since
// 2.34.
extern "C" __attribute__((visibility("default"))) pid_t _Fork() noexcept {
  using namespace copse::heap;
  if (glibc_fork == nullptr) find_glibc_fork();  // the heap did not start
  before_fork();
  const pid_t child = glibc_fork();
  child == 0 ? in_child() : in_parent();
  return child;
}
