/* A program whose best algorithm changes twice: the kernel's copy is slow, then takes no time, then is slow again.
 *
 * Usage: learning CALLS [PHASES]. Makes so many broadcasts in each of the phases (3), and tells how many of the last 100 calls of
 * each phase moved their data by the kernel's copy. The program defines the kernel's calls itself, for all libraries: link it with
 * -rdynamic. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { kBytes = 1 << 20, kLarge = 1 << 14, kSlowLeastNs = 100000, kCounted = 100 };

static int slow = 1;
static long slow_ns = kSlowLeastNs;  /* what a copy takes more while it is slow */
static long copies; /* large ones, by this rank */

static ssize_t copy(long number, pid_t pid, const struct iovec* mine, unsigned long mine_count, const struct iovec* theirs,
                    unsigned long theirs_count, unsigned long flags) {
  size_t bytes = 0;
  for (unsigned long i = 0; i < mine_count; ++i) bytes += mine[i].iov_len;
  if (bytes >= kLarge) {
    ++copies;
    /* All ranks have the same data while the copy is fast, so nothing needs to be moved. */
    if (!slow) return (ssize_t)bytes;
    const struct timespec pause = {0, slow_ns};
    nanosleep(&pause, NULL);
  }
  return syscall(number, pid, mine, mine_count, theirs, theirs_count, flags);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec* mine, unsigned long mine_count, const struct iovec* theirs,
                         unsigned long theirs_count, unsigned long flags) {
  return copy(SYS_process_vm_readv, pid, mine, mine_count, theirs, theirs_count, flags);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec* mine, unsigned long mine_count, const struct iovec* theirs,
                          unsigned long theirs_count, unsigned long flags) {
  return copy(SYS_process_vm_writev, pid, mine, mine_count, theirs, theirs_count, flags);
}

/* Where memory is slow, the kernel's copy must be much slower. */
static void be_slow_enough(unsigned char* data) {
  unsigned char* const other = malloc(kBytes);
  long least = 1000000;
  for (int i = 0; i < 5; ++i) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    memcpy(other, data, kBytes);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const long ns = (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
    if (ns < least) least = ns;
  }
  if (20 * least > slow_ns) slow_ns = 20 * least;
  free(other);
}

static void check(const unsigned char* data, int value, const char* phase, int call) {
  for (int at = 0; at < kBytes; at += at + 997 < kBytes ? 997 : 1) {
    if (data[at] == value) continue;
    printf("phase %s, call %d: byte %d is %d, expected %d\n", phase, call, at, data[at], value);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void run_phase(const char* name, int calls, unsigned char* data) {
  int rank, by_kernel = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int call = 0; call < calls; ++call) {
    const int value = slow ? call % 251 + 1 : 0;
    if (rank == 0 || !slow) memset(data, value, kBytes);
    const long before = copies;
    MPI_Bcast(data, kBytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    check(data, value, name, call);
    if (call >= calls - kCounted) by_kernel += copies > before;
  }
  int most = 0;
  MPI_Reduce(&by_kernel, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d of %d calls by the kernel's copy\n", name, most, (int)kCounted);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  const int calls = count > 1 ? atoi(arguments[1]) : 1000, phases = count > 2 ? atoi(arguments[2]) : 3;
  unsigned char* const data = malloc(kBytes);
  const char* const names[] = {"slow", "fast", "slow again"};
  memset(data, 1, kBytes);
  be_slow_enough(data);
  for (int phase = 0; phase < phases && phase < 3; ++phase) {
    slow = phase != 1;
    run_phase(names[phase], calls, data);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
