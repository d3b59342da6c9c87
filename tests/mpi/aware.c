/* Makes the MPI one that can reach device memory. While a call of the MPI's own runs, the device's range may be read
 * and written. Preloaded behind Copse, which calls these functions in place of the MPI's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>

char* aware_begin;
unsigned long aware_bytes, aware_calls;

#define AWARE(name, parameters, arguments)                                       \
  int PMPI_##name parameters {                                                   \
    int(*call) parameters;                                                       \
    *(void**)&call = dlsym(RTLD_NEXT, "PMPI_" #name);                            \
    ++aware_calls;                                                               \
    if (aware_bytes) mprotect(aware_begin, aware_bytes, PROT_READ | PROT_WRITE); \
    const int result = call arguments;                                           \
    if (aware_bytes) mprotect(aware_begin, aware_bytes, PROT_NONE);              \
    return result;                                                               \
  }
AWARE(Allreduce, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (in, out, count, type, op, comm))
AWARE(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm))
AWARE(Gather,
      (const void* in, int given, MPI_Datatype given_type, void* out, int taken, MPI_Datatype taken_type, int root, MPI_Comm comm),
      (in, given, given_type, out, taken, taken_type, root, comm))
