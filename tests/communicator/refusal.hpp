// Makes the system refuse a call, as containers, sandboxes and hardened kernels do.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace copse::test {

// From now on the system answers call `number` so in this thread and in those that it starts. Returns false if the system does not
// allow that.
inline bool answer(unsigned number, unsigned action) {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
// The call fails with `error`, or ends the process.
inline bool refuse(unsigned number, unsigned error = EPERM) { return answer(number, SECCOMP_RET_ERRNO | error); }
inline bool die_at(unsigned number) { return answer(number, SECCOMP_RET_KILL_PROCESS); }

// Tells whether the system allows that, and whether this program makes only the calls that its source says: the sanitizers make
// others.
inline bool can_refuse() {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  return false;
#else
  const pid_t child = fork();
  if (child == 0) _exit(refuse(SYS_getppid) ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
#endif
}

}  // namespace copse::test
