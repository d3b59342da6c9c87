/* Communicators of ranks that were started separately: by MPI_Comm_spawn of argv[1], and by MPI_Comm_connect. The
 * test chooses which ranks have Copse. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kChildren = 2, kCount = 3000, kTurns = 24 }; /* so many turns that Copse would look whether to begin */
static int right = 1;

static void expect(int condition, const char* what, const char* where) {
  if (condition) return;
  fprintf(stderr, "%s is wrong on %s\n", what, where);
  right = 0;
}

static void try_calls(MPI_Comm comm, const char* where) {
  static int values[kCount], sums[kCount];
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int turn = 0; turn < kTurns; ++turn) {
    const int root = turn % ranks;
    for (int i = 0; i < kCount; ++i) values[i] = i + rank;
    MPI_Allreduce(values, sums, kCount, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < kCount; ++i) expect(sums[i] == ranks * i + ranks * (ranks - 1) / 2, "MPI_Allreduce", where);
    MPI_Bcast(values, kCount, MPI_INT, root, comm);
    for (int i = 0; i < kCount; ++i) expect(values[i] == i + root, "MPI_Bcast", where);
    MPI_Request request;
    MPI_Iallreduce(&rank, sums, 1, MPI_INT, MPI_MAX, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sums[0] == ranks - 1, "MPI_Iallreduce", where);
    MPI_Barrier(comm);
  }
}

/* Tries everything between the two sides of an intercommunicator. */
static void try_both(MPI_Comm sides, int high, const char* where) {
  MPI_Comm merged, again, part;
  int rank;
  MPI_Intercomm_merge(sides, high, &merged);
  try_calls(merged, where);
  MPI_Comm_dup(merged, &again);
  try_calls(again, "a duplicate");
  MPI_Comm_rank(merged, &rank);
  MPI_Comm_split(merged, rank % 2, rank, &part); /* of either side one */
  try_calls(part, "a part of both");
  MPI_Comm_free(&part);
  MPI_Comm_split(merged, high, rank, &part);
  try_calls(part, "a part of one");
  MPI_Comm_free(&part);
  MPI_Comm_free(&again);
  MPI_Comm_free(&merged);
}

/* At times MPICH 5 has no port to open. */
static void connect_once_more(MPI_Comm sides, int child) {
  char port[MPI_MAX_PORT_NAME] = "";
  int rank, any = 0;
  MPI_Comm connected;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && !child) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    any = MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Send(port, any ? MPI_MAX_PORT_NAME : 0, MPI_CHAR, 0, 0, sides);
  }
  if (rank == 0 && child) {
    MPI_Status status;
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, sides, &status);
    MPI_Get_count(&status, MPI_CHAR, &any);
  }
  MPI_Bcast(&any, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0 && !child) printf("parents: %s\n", any ? "a port" : "no port"), fflush(stdout);
  if (!any) return;
  if (child) MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &connected);
  else MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &connected);
  if (rank == 0 && !child) MPI_Close_port(port);
  try_both(connected, child, "connected worlds");
  MPI_Comm_disconnect(&connected);
}

int main(int argc, char** argv) {
  MPI_Comm sides;
  int rank, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try_calls(MPI_COMM_WORLD, "the world");
  MPI_Comm_get_parent(&sides);
  const int child = sides != MPI_COMM_NULL;
  if (!child) MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &sides, MPI_ERRCODES_IGNORE);
  try_both(sides, child, "spawned worlds");
  connect_once_more(sides, child);
  try_calls(MPI_COMM_WORLD, "the world again");
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Comm_disconnect(&sides);
  if (rank == 0 && all) printf("%s: right\n", child ? "children" : "parents"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
