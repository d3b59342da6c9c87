/* Error handlers (MPI 9.3): an error calls the right one, once. */
#include "collectives.h"

static int handled, handled_class;
static MPI_Comm handled_on;
static void handler(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_on = *comm;
  MPI_Error_class(*code, &handled_class);
}
static void expect_handled(const char* what, int code, MPI_Comm comm, int class) {
  const int theirs = class != MPI_ERR_BUFFER && class != MPI_ERR_TRUNCATE; /* MPICH returns MPI_SUCCESS if a handler does */
  int returned;
  MPI_Error_class(code, &returned);
  EXPECT(returned == class || theirs, "%s returns class %d, not %d", what, returned, class);
  EXPECT(handled == (class != MPI_SUCCESS), "%s: %d calls of the handler", what, handled);
  EXPECT(class == MPI_SUCCESS || (handled_on == comm && handled_class == class), "%s: class %d, the right communicator: %d", what,
         handled_class, handled_on == comm);
  handled = 0;
}

/* The procedure that completes a started call reports its error. The call is a gatherv whose root has too little
 * room; it is among others that are right. The test uses every form and way of completing. Only the handlers of the
 * world and of this process are fatal. */
static void errors_at_completion(MPI_Comm comm) {
  enum { kHow = 8, kThree = 3 };
  int mine[4] = {0}, all[4 * kRanksMax], counts[kRanksMax], places[kRanksMax], sums[2];
  const int wrong = rank == 0 && ranks > 1, one = 1;
  for (int r = 0; r < ranks; ++r) counts[r] = r == 1 ? 2 : 4, places[r] = 4 * r;
  for (int persistent = 0; persistent <= HAS_PERSISTENT; ++persistent)
    for (int how = 0; how < kHow; ++how) {
      MPI_Request requests[kThree];
      MPI_Status statuses[kThree];
      int code = MPI_SUCCESS, codes[kThree] = {0}, index, flag = 0, done = 0, indices[kThree], class;
      form = persistent ? kPersistent : kStarted;
      slot = &requests[0], CALL(Allreduce, allreduce, , &one, &sums[0], 1, MPI_INT, MPI_SUM, comm);
      slot = &requests[1], CALL(Gatherv, gatherv, , mine, 4, MPI_INT, all, counts, places, MPI_INT, 0, comm);
      slot = &requests[2], CALL(Allreduce, allreduce, , &one, &sums[1], 1, MPI_INT, MPI_SUM, comm);
      slot = NULL, form = kBlocking;
      if (persistent) MPI_Startall(kThree, requests);
      switch (how) {
        case 0:
          for (int i = 0; i < kThree; ++i) codes[i] = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
          break;
        case 1:
          for (int i = kThree - 1; i >= 0; --i, flag = 0)
            while (!flag) codes[i] = MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
          break;
        case 2:
          for (int i = 0; i < kThree; ++i) code = MPI_Waitany(kThree, requests, &index, statuses), codes[index] = code;
          break;
        case 3:
          for (int i = 0; i < kThree; ++i, flag = 0) {
            while (!flag) code = MPI_Testany(kThree, requests, &index, &flag, statuses);
            codes[index] = code;
          }
          break;
        case 4:
        case 5:
          for (int ended = 0; ended < kThree; ended += done) {
            code = how == 4 ? MPI_Waitsome(kThree, requests, &done, indices, statuses)
                            : MPI_Testsome(kThree, requests, &done, indices, statuses);
            MPI_Error_class(code, &class);
            for (int i = 0; i < done; ++i) codes[indices[i]] = class == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : code;
          }
          break;
        default:
          if (how == 6) code = MPI_Waitall(kThree, requests, statuses);
          for (; how == 7 && !flag;) code = MPI_Testall(kThree, requests, &flag, statuses);
          MPI_Error_class(code, &class);
          EXPECT(class == (wrong ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "way %d: class %d", how, class);
          for (int i = 0; wrong && i < kThree; ++i) codes[i] = statuses[i].MPI_ERROR;
      }
      EXPECT(codes[0] == MPI_SUCCESS && codes[2] == MPI_SUCCESS, "way %d: codes %d %d", how, codes[0], codes[2]);
      expect_handled("a gatherv that was started", codes[1], comm, wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      EXPECT(sums[0] == ranks && sums[1] == ranks, "way %d: %d %d", how, sums[0], sums[1]);
      for (int i = 0; i < kThree; ++i) {
        EXPECT((requests[i] == MPI_REQUEST_NULL) == !persistent, "way %d: request %d", how, i);
        if (persistent) MPI_Request_free(&requests[i]);
      }
    }
}

/* If MPI_Testall fails because of a message, MPICH 4.0 completes a failed gatherv, too, although another message is still to come.
 * MPICH reports the failed message to the handlers of this process. */
static void error_beside_a_pending_message(MPI_Comm comm) {
  enum { kThree = 3, kTries = 1000 };
  int mine[4] = {0}, all[4 * kRanksMax], counts[kRanksMax], places[kRanksMax], small, last, over = 0, flag = 0;
  const int two[2] = {1, 2}, wrong = rank == 0 && ranks > 1;
  MPI_Request requests[kThree] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[kThree];
  MPI_Errhandler before;
  MPI_Comm messages;
  MPI_Comm_dup(MPI_COMM_SELF, &messages);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
  for (int i = 0; i < 3; ++i) MPI_Comm_set_errhandler((MPI_Comm[]){messages, MPI_COMM_SELF, MPI_COMM_WORLD}[i], MPI_ERRORS_RETURN);
  for (int r = 0; r < ranks; ++r) counts[r] = r == 1 ? 2 : 4, places[r] = 4 * r;
  MPI_Igatherv(mine, 4, MPI_INT, all, counts, places, MPI_INT, 0, comm, &requests[0]);
  if (wrong) {
    MPI_Irecv(&small, 1, MPI_INT, 0, 1, messages, &requests[1]);
    MPI_Irecv(&last, 1, MPI_INT, 0, 2, messages, &requests[2]);
    MPI_Send(two, 2, MPI_INT, 0, 1, messages);
    while (!over) MPI_Request_get_status(requests[0], &over, MPI_STATUS_IGNORE);
    int code = MPI_SUCCESS, tries = 0;
    for (; !flag && code == MPI_SUCCESS; ++tries) {
      if (tries == kTries) MPI_Send(two, 1, MPI_INT, 0, 2, messages);
      code = MPI_Testall(kThree, requests, &flag, statuses);
    }
    code = requests[0] == MPI_REQUEST_NULL ? statuses[0].MPI_ERROR : MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    expect_handled("a gatherv beside messages", code, comm, MPI_ERR_TRUNCATE);
    if (tries <= kTries) MPI_Send(two, 1, MPI_INT, 0, 2, messages);
  }
  for (int i = 0; i < kThree; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) MPI_Comm_set_errhandler((MPI_Comm[]){MPI_COMM_SELF, MPI_COMM_WORLD}[i], before);
  if (before != MPI_ERRORS_ARE_FATAL && before != MPI_ERRORS_RETURN) MPI_Errhandler_free(&before);
  MPI_Comm_free(&messages);
}

/* An error calls the handler of the call's communicator once, wherever it is noticed. */
void test_handlers(void) {
  int mine[8] = {0}, all[4 * kRanksMax], counts[kRanksMax], places[kRanksMax];
  MPI_Errhandler counting;
  MPI_Comm comm = met_copy();
  MPI_Request request;
  MPI_Comm_create_errhandler(handler, &counting);
  MPI_Comm_set_errhandler(comm, counting);
  MPI_Errhandler_free(&counting);
  expect_handled("a count of -1", MPI_Bcast(mine, -1, MPI_INT, 0, comm), comm, MPI_ERR_COUNT);
  expect_handled("a wrong root", MPI_Ibcast(mine, 1, MPI_INT, ranks, comm, &request), comm, MPI_ERR_ROOT);
  if (!bare) {
    expect_handled("an overlap", MPI_Allreduce(mine, mine + 1, 4, MPI_INT, MPI_SUM, comm), comm, MPI_ERR_BUFFER);
    expect_handled("an overlap, started", MPI_Iallreduce(mine, mine + 1, 4, MPI_INT, MPI_SUM, comm, &request), comm,
                   MPI_ERR_BUFFER);
    for (int r = 0; r < ranks; ++r) counts[r] = r == 1 ? 2 : 4, places[r] = 4 * r;
    const int class = rank == 0 && ranks > 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    expect_handled("a gatherv", MPI_Gatherv(mine, 4, MPI_INT, all, counts, places, MPI_INT, 0, comm), comm, class);
    errors_at_completion(comm);
    error_beside_a_pending_message(comm);
  }
  MPI_Comm_free(&comm);
}
