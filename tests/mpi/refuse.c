/* Runs a program in which the kernel refuses some system calls (EPERM), as a sandbox would.
 *
 * Usage: refuse RANK CALL PROGRAM [ARGUMENT...]. RANK is "all" or a number, compared with the launcher's variables.
 * CALL is "kernel" (process_vm_readv and process_vm_writev) or "bind" (sched_setaffinity). */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char* rank_by_launcher(void) {
  const char* rank = getenv("PMI_RANK");
  return rank != NULL ? rank : getenv("OMPI_COMM_WORLD_RANK");
}

static int refuse(unsigned first, unsigned second) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int argc, char** argv) {
  if (argc < 4) return fprintf(stderr, "usage: refuse RANK CALL PROGRAM [ARGUMENT...]\n"), 2;
  const char* rank = rank_by_launcher();
  if (strcmp(argv[1], "all") == 0 || (rank != NULL && strcmp(argv[1], rank) == 0)) {
    int done = strcmp(argv[2], "kernel") == 0 ? refuse(SYS_process_vm_readv, SYS_process_vm_writev)
                                              : refuse(SYS_sched_setaffinity, SYS_sched_setaffinity);
    if (!done) return perror("refuse: seccomp"), 77;
  }
  execvp(argv[3], argv + 3);
  return perror(argv[3]), 127;
}
