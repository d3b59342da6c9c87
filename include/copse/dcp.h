/* The interface of the paper about dedicated collective processors (CDCP IV.B), for programs that are written for it.
 *
 * Include <mpi.h> first. DCP_IAllreduce, as the paper spells it, or DCP_Iallreduce starts an allreduce, and DCP_Wait waits for its
 * end; the arguments, results and errors are those of MPI_Iallreduce and MPI_Wait. With helpers (copse run
 * --collective-processors), the rank only posts its value and awaits the result. Without Copse, they are the MPI's own. */
#ifndef COPSE_DCP_H
#define COPSE_DCP_H

static inline int DCP_Iallreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                 MPI_Request* request) {
  return MPI_Iallreduce(input, output, count, type, op, comm, request);
}

static inline int DCP_IAllreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                 MPI_Request* request) {
  return DCP_Iallreduce(input, output, count, type, op, comm, request);
}

static inline int DCP_Wait(MPI_Request* request, MPI_Status* status) { return MPI_Wait(request, status); }

#endif
