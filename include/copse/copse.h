/* Copse: collective communication among the threads and processes of machines with non-uniform memory.
 *
 * A communicator is a group of ranks, numbered from 0. Each rank is one thread of some process and has a handle of
 * its own. Only one thread at a time may use a handle. Making a communicator and calling on it are collective: every
 * rank makes the same calls in the same order, with the same root, count, type and operator.
 *
 * Every function that can fail returns a copse_status. No function throws or aborts. None prints, except that
 * copse_comm_free says on stderr if the file of COPSE_LEARNED cannot be written. copse_status_text explains a status;
 * copse_comm_message tells in one line what went wrong on this rank.
 *
 * If a thread is cancelled (pthread_cancel) during a long wait in a call, it leaves the call, and the other ranks
 * get COPSE_ERROR_LOST. The request that it waited for stays, and another thread may wait for it. While a
 * communicator is made or freed, cancellation is deferred. */
#ifndef COPSE_COPSE_H
#define COPSE_COPSE_H

#include <stddef.h>

#include "copse/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COPSE_VERSION_MAJOR 0
#define COPSE_VERSION_MINOR 2

#if defined(__GNUC__)
#define COPSE_API __attribute__((visibility("default")))
#else
#define COPSE_API
#endif

/* The results of all functions of the interface. */
typedef enum copse_status {
  COPSE_OK = 0,
  COPSE_ERROR_ARGUMENT = 1,    /* an argument is out of range, or the operator is not defined for the type */
  COPSE_ERROR_VARIABLE = 2,    /* a COPSE_ environment variable has an impossible value */
  COPSE_ERROR_UNREACHABLE = 3, /* the ranks cannot share memory, or did not meet in time */
  COPSE_ERROR_MISMATCH = 4,    /* COPSE_CHECK=1: the ranks called different things */
  COPSE_ERROR_LOST = 5,        /* a rank ended in the middle of a call; free the communicator */
  COPSE_ERROR_MEMORY = 6,      /* the system has no memory left; after a collective, free the communicator */
  COPSE_ERROR_TRUNCATED = 7    /* a rank sent more than another has room for; what fits has arrived */
} copse_status;

/* Returns a description of the status, for the user. It is never null. */
COPSE_API const char* copse_status_text(copse_status status);

typedef struct copse_comm copse_comm;

/* --- Making communicators ------------------------------------------------------------------------------------- *
 *
 * A function that fails here leaves *comm or *meeting as it was. copse_meeting_free ignores null. */

/* A meeting place for `ranks` threads of this process (1 or more). One thread creates it. All ranks use it, for as
 * many communicators as they like. It may be freed as soon as every rank has its communicator. Errors:
 * COPSE_ERROR_ARGUMENT, COPSE_ERROR_MEMORY. */
typedef struct copse_meeting copse_meeting;
COPSE_API copse_status copse_meeting_create(int ranks, copse_meeting** meeting);
COPSE_API void copse_meeting_free(copse_meeting* meeting);

/* Makes a communicator whose ranks are threads. Each thread calls this with its own rank, once for each
 * communicator. Blocks until all have called, for at most an hour. Errors: those of copse_comm_join.
 * COPSE_ERROR_ARGUMENT is also returned if another thread already waits there as that rank; the caller may then try
 * another rank. */
COPSE_API copse_status copse_comm_create_threads(copse_meeting* meeting, int rank, copse_comm** comm);

/* Makes a meeting place for `ranks` threads that `helpers` more threads of the process (1 or more) serve: dedicated
 * collective processors. A helper runs none of the program's work. It makes copse_start_barrier, _broadcast, _reduce,
 * _allreduce and _reduce_scatter_block of the ranks' communicators, so that they go on while the ranks compute.
 * Errors: those of copse_meeting_create. */
COPSE_API copse_status copse_meeting_create_with_helpers(int ranks, int helpers, copse_meeting** meeting);
/* Each helper thread calls this with its own number, from 0 on, once for each communicator that the ranks make there.
 * Serves the communicator, and returns when rank 0 has freed it. Errors: those of copse_comm_create_threads. */
COPSE_API copse_status copse_help_threads(copse_meeting* meeting, int helper);

/* Makes a communicator whose ranks are processes (or threads within processes) on one machine. They meet by a name,
 * without any MPI: each rank calls this with the same `name` (1 to 80 characters) and `ranks`. Blocks until all have
 * called, for at most `timeout_seconds` (0 or more; infinity is allowed). All ranks belong to one user, and to one
 * job if COPSE_JOB or a launcher names one. A rank that does not fit gets an error that says why, and the others go
 * on waiting for the right one. Errors: COPSE_ERROR_ARGUMENT, COPSE_ERROR_VARIABLE, COPSE_ERROR_UNREACHABLE,
 * COPSE_ERROR_MEMORY. */
COPSE_API copse_status copse_comm_join(const char* name, int rank, int ranks, double timeout_seconds, copse_comm** comm);

/* Makes a communicator whose ranks, all on one machine, can already exchange data (because MPI launched them, for
 * instance). `allgather` must gather `bytes` bytes from every rank into all[rank * bytes] on every rank, and return 0.
 * It is called several times while the communicator is made, and under COPSE_CHECK before each call. So `allgather` and
 * `context`, which is passed to it, must stay valid until copse_comm_free. If it returns something else, the
 * communicator cannot be made (COPSE_ERROR_UNREACHABLE), or the ranks cannot be compared (COPSE_ERROR_MISMATCH).
 * Errors: those of copse_comm_join. */
typedef int (*copse_allgather_callback)(void* context, const void* mine, void* all, size_t bytes);
COPSE_API copse_status copse_comm_create(int rank, int ranks, copse_allgather_callback allgather, void* context, copse_comm** comm);

/* Frees this rank's handle. After that no rank may use the communicator, except to free its own handle. Null is
 * ignored. */
COPSE_API void copse_comm_free(copse_comm* comm);

/* These return -1 if `comm` is null. */
COPSE_API int copse_comm_rank(const copse_comm* comm);
COPSE_API int copse_comm_ranks(const copse_comm* comm);

/* Returns what went wrong in this rank's last failed call on `comm`. If `comm` is null, returns what went wrong in
 * this thread's last failed creation or call without a communicator. The text is one line without a newline. It is
 * empty if nothing went wrong, and may be after COPSE_ERROR_MEMORY. It is valid until the next call on `comm`, or, if
 * `comm` is null, until this thread's next such call. */
COPSE_API const char* copse_comm_message(const copse_comm* comm);

/* --- Collectives ---------------------------------------------------------------------------------------------- *
 *
 * <copse/collectives.h> lists them. Each COPSE_COLLECTIVE(name, parameters) there declares two functions with these
 * parameters:
 *
 *     copse_status copse_name(parameters);                                       returns when this rank's part is done
 *     copse_status copse_start_name(parameters, copse_request **request);        returns at once (see "Requests")
 *
 * Sizes named `bytes` are in bytes, those named `count` in elements of `type`. 0 is allowed. All ranks must mean the
 * same sizes, counts, type, operator, root and permutation; otherwise the behaviour is undefined. (COPSE_CHECK=1 finds a
 * difference and tells what two ranks called.) Buffers may have any alignment. A buffer may be null if the rank does not
 * have it or if it has no bytes. Input and output may share memory only where the description says so ("in place").
 *
 * If there is a block for each rank, `bytes` or `count` is the size of one block. The buffer holds as many blocks as
 * there are ranks, and they follow one another in the order of ranks. The functions whose names end
 * in v (and reduce_scatter) have blocks of different sizes, and a size may be zero. `sizes[r]` is the size of the block
 * that goes to or comes from rank r. `places[r]` is where the block begins, in bytes from the beginning of the buffer.
 * If `places` is null, the blocks follow one another. Blocks that are written must not overlap. alltoallv is also MPI's
 * alltoallw: sizes and places are in bytes, every rank has its own, and there are no datatypes that could differ.
 *
 * Results: COPSE_OK. COPSE_ERROR_ARGUMENT: nothing was done on this rank, and the other ranks wait for it, so it may
 * call again (under COPSE_CHECK=1 the others get COPSE_ERROR_MISMATCH). COPSE_ERROR_MISMATCH: nothing was done on any
 * rank. COPSE_ERROR_TRUNCATED: only from gatherv, scatterv and alltoallv. COPSE_ERROR_LOST or COPSE_ERROR_MEMORY: the
 * communicator can only be freed. */
#define COPSE_COLLECTIVE(name, ...)                 \
  COPSE_API copse_status copse_##name(__VA_ARGS__); \
  COPSE_API copse_status copse_start_##name(__VA_ARGS__, copse_request** request)

typedef struct copse_request copse_request;

#include "copse/collectives.h"
#undef COPSE_COLLECTIVE

/* --- Requests ------------------------------------------------------------------------------------------------- *
 *
 * A call that has been started is under way until copse_wait or copse_test says that it is over. Any number of calls
 * may be under way on a communicator. All ranks must start them in the same order, blocking calls included. Until a
 * call is over, its outputs must not be touched and its inputs must not be written. `sizes`, `places` and `permutation` may
 * be reused at once.
 *
 * Calls make progress while this rank is in copse_test, in copse_wait, or in any other call on this communicator or on
 * another one that the same thread has made. With COPSE_PROGRESS=thread, a thread of Copse's own moves them on too.
 * Without it, a rank that computes for long should now and then call copse_test. A blocking call first finishes the
 * calls that were started on its communicator. Under COPSE_CHECK=1, starting a call waits for the other ranks to start
 * it.
 *
 * If a start fails, it sets *request to null. A request that is over is freed, and *request is set to null. A null
 * request counts as over. If the request's communicator was freed, the result is COPSE_ERROR_ARGUMENT. */

/* Waits until the call is over. Returns what the blocking call would return. */
COPSE_API copse_status copse_wait(copse_request** request);

/* Waits for all requests. They may belong to several communicators, and may be null. Returns the first failure in
 * the order of `requests`. */
COPSE_API copse_status copse_wait_all(size_t count, copse_request** requests);

/* Returns at once. If the call is over, sets *done to 1 and returns what the blocking call would return. If not,
 * sets *done to 0 and returns COPSE_OK. */
COPSE_API copse_status copse_test(copse_request** request, int* done);

#ifdef __cplusplus
}
#endif

#endif
