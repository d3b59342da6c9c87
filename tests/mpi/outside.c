/* A program that must not notice that some ranks of MPI_COMM_WORLD are helpers. argv[1] is the number of ranks that it is to have,
 * argv[2] what it tries. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "versions.h"

static int checks, wrong, rank, ranks;

static void expect(int holds, const char* what) {
  ++checks;
  if (holds) return;
  ++wrong;
  fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
}

static int class_of(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class;
}

static int size_of(MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  return size;
}

static void try_sum(MPI_Comm comm, const char* where) {
  const int all = size_of(comm);
  int mine = 1, sum = 0;
  MPI_Request request;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(sum == all, where);
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == all, where);
}

static void try_and_free(MPI_Comm comm, int size, const char* where) {
  if (comm == MPI_COMM_NULL) return;
  expect(size_of(comm) == size, where);
  try_sum(comm, where);
  MPI_Comm_free(&comm);
}

static void try_identity(void) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0, result = -1, flag = 0, group_rank = -1, group_size = -1, inter = 1, kind = 0;
  void* value = NULL;
  MPI_Group group;
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  expect(strcmp(name, "MPI_COMM_WORLD") == 0, "the name");
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
  expect(result == MPI_IDENT, "comparing with itself");
  expect(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "the Fortran handle");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
  expect(flag != 0 && *(int*)value >= 32767, "MPI_TAG_UB");
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_size(group, &group_size);
  MPI_Group_rank(group, &group_rank);
  expect(group_size == ranks && group_rank == rank, "the group");
  MPI_Group_free(&group);
  MPI_Comm_test_inter(MPI_COMM_WORLD, &inter);
  MPI_Topo_test(MPI_COMM_WORLD, &kind);
  expect(inter == 0 && kind == MPI_UNDEFINED, "what kind of communicator it is");
}

static void handle_error(MPI_Comm* comm, int* error, ...) {
  (void)comm;
  *error = MPI_SUCCESS;
}

static void try_errors(void) {
  int value = 0;
  MPI_Errhandler handler, now;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
  expect(now == MPI_ERRORS_ARE_FATAL, "the error handler at first");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect(class_of(MPI_Send(&value, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD)) == MPI_ERR_RANK, "sending to a rank that is not there");
  expect(class_of(MPI_Bcast(&value, 1, MPI_INT, ranks, MPI_COMM_WORLD)) != MPI_SUCCESS, "a root that is not there");
  MPI_Comm_create_errhandler(handle_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
  expect(now == handler, "a handler of its own");
  MPI_Errhandler_free(&now);
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int deleted;
static int note_deletion(MPI_Comm comm, int key, void* value, void* more) {
  (void)comm, (void)key, (void)value, (void)more;
  ++deleted;
  return MPI_SUCCESS;
}

static void try_attributes(void) {
  int key, flag = 0;
  int* value = NULL;
  MPI_Comm copy;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, note_deletion, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &deleted);
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
  expect(flag != 0 && value == &deleted, "an attribute");
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_get_attr(copy, key, &value, &flag);
  expect(flag != 0 && value == &deleted, "a copied attribute");
  MPI_Comm_free(&copy);
  expect(deleted == 1, "deleting a copy's attribute");
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
  expect(flag == 0 && deleted == 2, "deleting an attribute");
  MPI_Comm_free_keyval(&key);
}

static void try_messages(void) {
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  int mine = rank, got = -1, flag = 0, bytes = 0, at = 0;
  char packed[64];
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Sendrecv(&mine, 1, MPI_INT, next, 1, &got, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &status);
  expect(got == last && status.MPI_SOURCE == last, "MPI_Sendrecv");
  MPI_Isend(&mine, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Probe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
  expect(status.MPI_SOURCE == last, "MPI_Probe");
  MPI_Irecv(&got, 1, MPI_INT, last, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect(got == last, "MPI_Irecv");
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  expect(flag == 0, "MPI_Iprobe");
  MPI_Send_init(&mine, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&got, 1, MPI_INT, last, 3, MPI_COMM_WORLD, &requests[1]);
  got = -1;
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect(got == last, "a persistent receive");
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &bytes);
  MPI_Pack(&mine, 1, MPI_INT, packed, sizeof packed, &at, MPI_COMM_WORLD);
  expect(at > 0 && at <= bytes, "MPI_Pack");
}

static void try_communicators(void) {
  MPI_Comm made, inter;
  MPI_Group group, part;
  int zero = 0, periodic = 1, half = rank % 2, destination = (rank + 1) % ranks, one = 1;
  try_sum(MPI_COMM_WORLD, "the world");
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  try_and_free(made, ranks, "a duplicate");
  MPI_Comm_split(MPI_COMM_WORLD, half, rank, &made);
  try_and_free(made, (ranks + 1 - half) / 2, "a split");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
  try_and_free(made, ranks, "the ranks of the node");
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_excl(group, 1, &zero, &part);
  MPI_Comm_create(MPI_COMM_WORLD, part, &made);
  try_and_free(made, ranks - 1, "MPI_Comm_create");
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &made);
  try_and_free(made, ranks, "MPI_Comm_create_group");
  MPI_Group_free(&part);
  MPI_Group_free(&group);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &made);
  try_and_free(made, ranks, "a grid");
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &destination, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  try_and_free(made, ranks, "a graph");
  if (ranks < 2) return;
  MPI_Comm_split(MPI_COMM_WORLD, half, rank, &made);
  MPI_Intercomm_create(made, 0, MPI_COMM_WORLD, 1 - half, 6, &inter);
  MPI_Comm_free(&made);
  MPI_Intercomm_merge(inter, half, &made);
  MPI_Comm_free(&inter);
  try_and_free(made, ranks, "merged halves");
}

static void try_window(int next, int last) {
  int exposed = -1;
  MPI_Win window;
  MPI_Group group;
  MPI_Win_create(&exposed, sizeof exposed, sizeof exposed, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_get_group(window, &group);
  int size = 0;
  MPI_Group_size(group, &size);
  MPI_Group_free(&group);
  MPI_Win_fence(0, window);
  MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  expect(size == ranks && exposed == last, "a window");
  MPI_Win_free(&window);
}

static void try_windows_and_files(void) {
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  int read = -1;
  char path[128];
  MPI_File file;
  if (ranks > 1) try_window(next, last); /* Open MPI 4.1 has no windows for one rank */
  snprintf(path, sizeof path, "/tmp/copse-outside-%d", rank == 0 ? (int)getpid() : 0);
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    return expect(0, "MPI_File_open");
  MPI_File_write_at_all(file, (MPI_Offset)(rank * sizeof rank), &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_read_at_all(file, (MPI_Offset)(last * sizeof rank), &read, 1, MPI_INT, MPI_STATUS_IGNORE);
  expect(read == last, "a file");
  MPI_File_close(&file);
}

/* argv[0] starts again, as children that have all their ranks. */
static void try_children(char* program) {
  enum { kChildren = 2 };
  char* arguments[] = {"2", "child", NULL};
  int errors[kChildren], remote = 0;
  MPI_Comm children, merged;
  MPI_Comm_spawn(program, arguments, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, errors);
  MPI_Comm_remote_size(children, &remote);
  expect(remote == kChildren && size_of(children) == ranks, "MPI_Comm_spawn");
  MPI_Intercomm_merge(children, 0, &merged);
  try_sum(merged, "parents and children");
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&children);
}

static void be_a_child(void) {
  MPI_Comm parents, merged;
  MPI_Comm_get_parent(&parents);
  if (parents == MPI_COMM_NULL) return expect(0, "the parents");
  MPI_Intercomm_merge(parents, 1, &merged);
  try_sum(merged, "children and parents");
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&parents);
}

static int ask_at_the_end(MPI_Comm comm, int key, void* value, void* more) {
  int flag = 0;
  (void)comm, (void)key, (void)value, (void)more;
  MPI_Initialized(&flag);
  expect(flag == 1, "MPI_Initialized while MPI ends");
  return MPI_SUCCESS;
}

#if HAS_PERSISTENT
static int flag_of(int (*ask)(int*)) {
  int flag = -1;
  ask(&flag);
  return flag;
}

/* A program that knows only sessions, and then perhaps the world, too. */
static void try_sessions(int expected, int world_too) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  expect(flag_of(MPI_Initialized) == 0, "MPI_Initialized at first");
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS) return expect(0, "MPI_Session_init");
  expect(flag_of(MPI_Initialized) == 0, "MPI_Initialized with a session");
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Group_size(group, &ranks);
  MPI_Group_rank(group, &rank);
  expect(ranks == expected && rank >= 0 && rank < ranks, "the group of a session");
#ifndef OPEN_MPI /* Open MPI 5.0.11 ends the program there, with or without Copse */
  MPI_Info info;
  char text[16] = "";
  int length = sizeof text, flag = 0;
  MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
  MPI_Info_get_string(info, "mpi_size", &length, text, &flag);
  expect(flag != 0 && atoi(text) == expected, "the size of a process set");
  MPI_Info_free(&info);
#endif
  MPI_Comm_create_from_group(group, "copse.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  try_and_free(comm, expected, "a communicator of a session");
  MPI_Session_finalize(&session);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "copse.again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  try_and_free(comm, expected, "a communicator of a second session");
  if (world_too) {
    int provided = -1;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided);
    expect(flag_of(MPI_Initialized) == 1 && provided >= MPI_THREAD_SINGLE, "MPI_Init_thread");
    expect(size_of(MPI_COMM_WORLD) == expected, "the world beside a session");
    try_sum(MPI_COMM_WORLD, "the world beside a session");
    int of_self;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ask_at_the_end, &of_self, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, of_self, NULL);
    MPI_Finalize();
    expect(flag_of(MPI_Finalized) == 1, "MPI_Finalized");
  } else {
    expect(flag_of(MPI_Finalized) == 0, "MPI_Finalized");
  }
  MPI_Session_finalize(&session);
}
#endif

/* A persistent call that the program never frees. */
static void leak(void) {
#if HAS_PERSISTENT
  static int mine = 1, sum;
  MPI_Request request;
  MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == ranks, "a persistent call");
#endif
}

static int report(const char* what) {
  if (wrong == 0) printf("outside %s: %d checks, %d ranks\n", what, checks, ranks);
  return wrong == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  const char* const what = argc > 2 ? argv[2] : "";
  const int expected = argc > 1 ? atoi(argv[1]) : 0;
#if HAS_PERSISTENT
  if (strstr(what, "session") != NULL) {
    try_sessions(expected, strcmp(what, "session-and-world") == 0);
    return report(what);
  }
#endif
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(ranks == expected, "the number of ranks");
  if (strcmp(what, "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) MPI_Abort(MPI_COMM_WORLD, 7);
    for (;;) pause();
  }
  if (strcmp(what, "child") == 0) be_a_child();
  if (strcmp(what, "leak") == 0) leak();
  if (strcmp(what, "spawn") == 0) try_children(argv[0]);
  if (strcmp(what, "all") == 0) {
    try_identity();
    try_errors();
    try_attributes();
    try_messages();
    try_communicators();
    try_windows_and_files();
  }
  int of_world, of_self;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_deletion, &of_world, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ask_at_the_end, &of_self, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, of_world, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, of_self, NULL);
  const int before = deleted;
  MPI_Finalize();
  expect(deleted == before + 1, "deleting the world's attributes at the end");
  return report(what);
}
