/* Copse: collective communication among the threads and processes of machines whose memory is not uniform.
 *
 * A communicator is a group of ranks, numbered from 0. Each rank is one thread of some process and holds its own
 * handle; a handle is used by one thread at a time. Making and using a communicator is collective: every rank makes
 * the same calls in the same order, with the same root, count, type and operator.
 *
 * Every function that can fail returns a copse_status; nothing throws, aborts or prints. copse_status_text explains a status,
 * copse_comm_message tells what went wrong on this rank, in one line.
 *
 * A thread that is cancelled (pthread_cancel) while it waits long in a call leaves it, and the other ranks get COPSE_ERROR_LOST.
 * A request that it waited for stays: another thread may wait for it. While a communicator is made or freed, a cancellation is
 * put off.
 */
#ifndef COPSE_COPSE_H
#define COPSE_COPSE_H

#include <stddef.h>

#include "copse/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COPSE_VERSION_MAJOR 0
#define COPSE_VERSION_MINOR 1

#if defined(__GNUC__)
#define COPSE_API __attribute__((visibility("default")))
#else
#define COPSE_API
#endif

/* One enum for the whole interface. */
typedef enum copse_status {
  COPSE_OK = 0,
  COPSE_ERROR_ARGUMENT = 1,    /* an argument is out of range, or an operator not defined for the type */
  COPSE_ERROR_VARIABLE = 2,    /* a COPSE_ environment variable has an impossible value */
  COPSE_ERROR_UNREACHABLE = 3, /* the ranks cannot share memory, or did not meet in time */
  COPSE_ERROR_MISMATCH = 4,    /* COPSE_CHECK=1: the ranks called different things */
  COPSE_ERROR_LOST = 5,        /* a rank ended in the middle of a call; free the communicator */
  COPSE_ERROR_MEMORY = 6,      /* the system has no memory to give; after a collective, free the communicator */
  COPSE_ERROR_TRUNCATED = 7    /* a rank gave more than another has room for; the call is over, what fits arrived */
} copse_status;

/* A sentence for people; never null. */
COPSE_API const char *copse_status_text(copse_status status);

typedef struct copse_comm copse_comm;

/* --- Making communicators ------------------------------------------------------------------------------------- */

/* A meeting place for `ranks` threads of this process (1 or more). One thread creates it, all ranks use it, for as many
 * communicators as they like, and it may be freed as soon as every rank has its communicator. COPSE_ERROR_ARGUMENT,
 * COPSE_ERROR_MEMORY. */
typedef struct copse_meeting copse_meeting;
COPSE_API copse_status copse_meeting_create(int ranks, copse_meeting **meeting);
COPSE_API void copse_meeting_free(copse_meeting *meeting);

/* Threads as ranks: each calls this with its own rank, once for each communicator. Blocks until all have come, for at
 * most an hour. Errors as of copse_comm_join; COPSE_ERROR_ARGUMENT also if another thread waits there as that rank (this
 * one may call again, as another). */
COPSE_API copse_status copse_comm_create_threads(copse_meeting *meeting, int rank, copse_comm **comm);

/* Processes as ranks (or threads within processes), joined by a name and without any MPI: each rank calls this with
 * the same `name` (1 to 80 characters) and `ranks`, on one machine. Blocks until all have come, for at most
 * `timeout_seconds` (0 or more; infinity is allowed). All ranks are of one user, and of one job if COPSE_JOB or a launcher
 * names one; a rank that does not fit is told why, and the others go on waiting for the right one. COPSE_ERROR_ARGUMENT,
 * COPSE_ERROR_VARIABLE, COPSE_ERROR_UNREACHABLE, COPSE_ERROR_MEMORY. */
COPSE_API copse_status copse_comm_join(const char *name, int rank, int ranks, double timeout_seconds,
                                       copse_comm **comm);

/* Ranks that can already talk (launched by MPI, say): `allgather` must gather `bytes` bytes from every rank into
 * all[rank * bytes] on every rank, and return 0; it is called while the communicator is made, and under COPSE_CHECK
 * before each call. `context` is passed on. All ranks on one machine. Errors as of copse_comm_join. */
typedef int (*copse_allgather_callback)(void *context, const void *mine, void *all, size_t bytes);
COPSE_API copse_status copse_comm_create(int rank, int ranks, copse_allgather_callback allgather, void *context,
                                         copse_comm **comm);

/* Frees this rank's handle. From then on no rank may call on the communicator, but to free its own. Null is ignored. */
COPSE_API void copse_comm_free(copse_comm *comm);

/* -1 if `comm` is null. */
COPSE_API int copse_comm_rank(const copse_comm *comm);
COPSE_API int copse_comm_ranks(const copse_comm *comm);

/* What went wrong in this rank's last failed call on `comm`, or, with null, in this thread's last failed creation or
 * call without a communicator. One line without a newline; empty if nothing did. Valid until the next call on `comm`, or,
 * with null, the next such call of this thread. */
COPSE_API const char *copse_comm_message(const copse_comm *comm);

/* --- Collectives ---------------------------------------------------------------------------------------------- *
 *
 * They are listed in <copse/collectives.h>. Each COPSE_COLLECTIVE(name, parameters) there declares two functions, both with
 * all the parameters named:
 *
 *     copse_status copse_name(parameters);                                       returns when this rank's part is done
 *     copse_status copse_start_name(parameters, copse_request **request);        returns at once (see "Requests")
 *
 * Sizes named `bytes` are in bytes, those named `count` in elements of `type`; 0 is allowed. All ranks must mean the
 * same sizes, counts, type, operator, root and permutation, or the behaviour is undefined (COPSE_CHECK=1 finds the difference and
 * tells what two ranks called). Buffers may have any alignment. A buffer that a rank does not have, and a buffer of no
 * bytes, may be null. Only where it says so may input and output share memory ("in place").
 *
 * Where there is a block for each rank, the blocks lie one after the other, in the order of ranks. The forms that end
 * in v (and reduce_scatter) have blocks of different sizes, zero among them: `sizes[r]` is the size of the block that
 * goes to or comes from rank r, `places[r]` where it begins, in bytes from the begin of the buffer; without `places`
 * (null) they lie one after the other. Blocks that are written must not overlap. As sizes and places are in bytes and
 * every rank has its own, alltoallv is also MPI's alltoallw: there are no datatypes that could differ.
 *
 * Results: COPSE_OK; COPSE_ERROR_ARGUMENT (nothing was done on this rank, and the others wait for it: it may call
 * again. Under COPSE_CHECK=1 the others get COPSE_ERROR_MISMATCH); COPSE_ERROR_MISMATCH (nothing was done on any);
 * COPSE_ERROR_TRUNCATED (gatherv, scatterv, alltoallv); COPSE_ERROR_LOST or COPSE_ERROR_MEMORY (the communicator can
 * only be freed). */
#define COPSE_COLLECTIVE(name, ...)                 \
  COPSE_API copse_status copse_##name(__VA_ARGS__); \
  COPSE_API copse_status copse_start_##name(__VA_ARGS__, copse_request **request)

typedef struct copse_request copse_request;

#include "copse/collectives.h"
#undef COPSE_COLLECTIVE

/* --- Requests ------------------------------------------------------------------------------------------------- *
 *
 * A call that was started is under way until copse_wait or copse_test says that it is over. Any number may be, on one
 * communicator; all ranks must start them, and make blocking calls among them, in the same order. Until then buffers
 * may not be touched (inputs: not written); `sizes`, `places` and `permutation` are free at once.
 *
 * Calls go on while this rank is in copse_test, copse_wait or any other call on this communicator or another that the
 * same thread has made; with COPSE_PROGRESS=thread a thread of Copse's own moves them on as well, and else a rank that
 * computes for long should now and then call copse_test. A blocking call first finishes those that were started on its
 * communicator. Under COPSE_CHECK=1 starting a call waits for the other ranks to start it.
 *
 * A start that fails sets *request to null. A request that is over is freed, and *request set to null; a null
 * request is over already. One whose communicator was freed is COPSE_ERROR_ARGUMENT. */

/* Waits until the call is over, and returns what the blocking call would. */
COPSE_API copse_status copse_wait(copse_request **request);

/* Waits for all of them; `requests` may belong to several communicators, and hold nulls. Returns the first failure in
 * the order of `requests`. */
COPSE_API copse_status copse_wait_all(size_t count, copse_request **requests);

/* Does not wait. *done = 1: the call is over, and the status is what the blocking call would return; 0: it is not,
 * COPSE_OK. */
COPSE_API copse_status copse_test(copse_request **request, int *done);

#ifdef __cplusplus
}
#endif

#endif
