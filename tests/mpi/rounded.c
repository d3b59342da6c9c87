/* A reduction that one rank starts before MPI_Init, in a session, and the others behind it. Then all ranks must make the next
 * ones in the same way. Prints "rounded: right" on rank 0. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, ranks, i;
  double mine, sums[3] = {0, 0, 0};
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Request request;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "copse-rounded", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  mine = rank + 1;
  if (rank == 0) MPI_Iallreduce(&mine, &sums[0], 1, MPI_DOUBLE, MPI_SUM, comm, &request);
  MPI_Init(&argc, &argv);
  if (rank != 0) MPI_Iallreduce(&mine, &sums[0], 1, MPI_DOUBLE, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Allreduce(&mine, &sums[1], 1, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Iallreduce(&mine, &sums[2], 1, MPI_DOUBLE, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (i = 0; i < 3; ++i)
    if (sums[i] != ranks * (ranks + 1) / 2) MPI_Abort(comm, 1);
  if (rank == 0) printf("rounded: right\n");
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  MPI_Session_finalize(&session);
  return 0;
}
