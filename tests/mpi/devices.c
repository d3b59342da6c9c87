/* Makes calls on memory that no processor may read, for an MPI that can reach it (aware.c). argv[1] is the driver's
 * library (driver.c), which only rank 1 loads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kBytes = 1 << 20, kCount = 2000 };
static int rank, ranks, right = 1;
static char* device;

static void allow(int protection) { mprotect(device, kBytes, protection); }
static void expect(int condition, const char* what, int turn) {
  if (!condition) fprintf(stderr, "rank %d: %s %d is wrong\n", rank, what, turn), right = 0;
}
static void** variable(const char* name) { return dlsym(RTLD_DEFAULT, name); }

/* Makes one round of calls. `at` is where this rank's buffers lie. */
static void calls(int* at, int on_device, int turn) {
  int *const in = at, *const out = at + kCount, all[64] = {0};
  if (on_device) allow(PROT_READ | PROT_WRITE);
  for (int i = 0; i < kCount; ++i) in[i] = i + rank;
  if (on_device) allow(PROT_NONE);
  MPI_Allreduce(in, out, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (on_device) allow(PROT_READ);
  for (int i = 0; i < kCount; ++i) expect(out[i] == ranks * i + ranks * (ranks - 1) / 2, "allreduce", turn);
  if (on_device) allow(PROT_NONE);
  MPI_Gather(in + 1, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int r = 0; r < ranks && rank == 0; ++r) expect(all[r] == 1 + r, "gather", turn);
  MPI_Bcast(in, kCount, MPI_INT, turn % ranks, MPI_COMM_WORLD);
  if (on_device) allow(PROT_READ);
  for (int i = 0; i < kCount; ++i) expect(in[i] == i + turn % ranks, "broadcast", turn);
  if (on_device) allow(PROT_NONE);
}

int main(int argc, char** argv) {
  static int host[2 * kCount];
  int all = 0, sum = 0;
  char* mine = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
  void* driver = argc > 1 && strcmp(mine, "1") == 0 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (argc > 1 && strcmp(mine, "1") == 0 && driver == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  device = mmap(NULL, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (driver != NULL) {
    *variable("device_begin") = *variable("aware_begin") = device;
    *(unsigned long*)variable("device_bytes") = *(unsigned long*)variable("aware_bytes") = kBytes;
  }
  for (int turn = 0; turn < 12; ++turn) {
    const int on_device = driver != NULL && turn % 3 != 0;
    calls(on_device ? (int*)device : host, on_device, turn);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request request;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == ranks * (ranks - 1) / 2, "started allreduce", 0);
  if (driver != NULL && dlsym(driver, "hipPeekAtLastError"))
    expect(((int (*)(void))dlsym(driver, "hipPeekAtLastError"))() == 0, "the driver's last error", 0);
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all) printf("right\n"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
