/* Counts the messages that a rank sends by MPI_Isend, as Copse does between nodes. It is preloaded behind Copse, which looks for
 * PMPI there. MPI_Pcontrol(1, &messages) tells the program how many messages there were so far. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stddef.h>

static long messages;

int PMPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  static int (*next)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "PMPI_Isend");
  ++messages;
  return next(buffer, count, type, to, tag, comm, request);
}

int MPI_Pcontrol(const int level, ...) {
  va_list arguments;
  va_start(arguments, level);
  if (level == 1) *va_arg(arguments, long*) = messages;
  va_end(arguments);
  return MPI_SUCCESS;
}
