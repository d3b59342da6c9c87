/* Memory of the shared heap that the program gives back is really gone, under an MPI that hooks madvise (UCX in
 * Debian's MPICH) as well as under one that does not. Rank 0 prints `returned` on success. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct region { /* src/heap/heap.hpp */
  void* base;
  size_t bytes;
  int fd;
  uint64_t device, inode;
};

static int (*look_up)(struct region*);

static long charged_mib(void) {
  struct region heap;
  struct stat status;
  if (look_up == NULL || look_up(&heap) != 0 || fstat(heap.fd, &status) != 0) return -1;
  return (long)(status.st_blocks / 2048);
}

#define EXPECT(condition)                                                  \
  if (!(condition)) {                                                      \
    printf("rank %d: line %d: expected %s\n", rank, __LINE__, #condition); \
    MPI_Abort(MPI_COMM_WORLD, 1);                                          \
  }

int main(int argc, char** argv) {
  int rank;
  const size_t n = (size_t)64 << 20;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  *(void**)&look_up = dlsym(RTLD_DEFAULT, "copse_heap_region");
  EXPECT(charged_mib() >= 0);
  char* volatile p;
  if (posix_memalign((void**)&p, 4096, n) != 0) return 1;
  memset(p, 7 * (rank == 0), n);
  MPI_Bcast(p, (int)n, MPI_CHAR, 0, MPI_COMM_WORLD);
  EXPECT(p[0] == 7 && p[n - 1] == 7);
  const long full = charged_mib();
  EXPECT(full >= 64);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody reads it any more */
  EXPECT(madvise(p, n / 2, MADV_DONTNEED) == 0);
  EXPECT(charged_mib() <= full - 30);
  EXPECT(p[5000] == 0 && p[n / 2 - 1] == 0 && p[n / 2] == 7);
  free(p);
  EXPECT(charged_mib() <= full - 60);
  for (int i = 0; i < 4; ++i) {
    p = malloc(100 << 20);
    memset(p, 1, 100 << 20);
    free(p);
  }
  EXPECT(charged_mib() <= full);
  MPI_Finalize();
  if (rank == 0) puts("returned");
  return 0;
}
