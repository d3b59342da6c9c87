/* Copse: collective communication among the threads and processes of machines whose memory is not uniform.
 *
 * A communicator is a group of ranks, numbered from 0. Each rank is one thread of some process and holds its own
 * handle; a handle is used by one thread at a time. Making and using a communicator is collective: every rank makes
 * the same calls in the same order, with the same root, count, type and operator.
 *
 * Every function returns a copse_status; nothing throws, aborts or prints. copse_status_text explains a status,
 * copse_comm_message tells what went wrong on this rank, in one line.
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
  COPSE_ERROR_MEMORY = 6       /* the system has no memory to give */
} copse_status;

/* A sentence for people; never null. */
COPSE_API const char *copse_status_text(copse_status status);

typedef struct copse_comm copse_comm;

/* --- Making communicators ------------------------------------------------------------------------------------- */

/* A meeting place for `ranks` threads of this process (1 or more). One thread creates it, all ranks use it, and it
 * may be freed as soon as every rank has its communicator. COPSE_ERROR_ARGUMENT, COPSE_ERROR_MEMORY. */
typedef struct copse_meeting copse_meeting;
COPSE_API copse_status copse_meeting_create(int ranks, copse_meeting **meeting);
COPSE_API void copse_meeting_free(copse_meeting *meeting);

/* Threads as ranks: each calls this with its own rank. Blocks until all have come. Errors as of copse_comm_join. */
COPSE_API copse_status copse_comm_create_threads(copse_meeting *meeting, int rank, copse_comm **comm);

/* Processes as ranks (or threads within processes), joined by a name and without any MPI: each rank calls this with
 * the same `name` (1 to 80 characters) and `ranks`, on one machine. Blocks until all have come, for at most
 * `timeout_seconds`. COPSE_ERROR_ARGUMENT, COPSE_ERROR_VARIABLE, COPSE_ERROR_UNREACHABLE, COPSE_ERROR_MEMORY. */
COPSE_API copse_status copse_comm_join(const char *name, int rank, int ranks, double timeout_seconds,
                                       copse_comm **comm);

/* Ranks that can already talk (launched by MPI, say): `allgather` must gather `bytes` bytes from every rank into
 * all[rank * bytes] on every rank, and return 0; it is called while the communicator is made, and under COPSE_CHECK
 * before each call. `context` is passed on. All ranks on one machine. Errors as of copse_comm_join. */
typedef int (*copse_allgather)(void *context, const void *mine, void *all, size_t bytes);
COPSE_API copse_status copse_comm_create(int rank, int ranks, copse_allgather allgather, void *context,
                                         copse_comm **comm);

/* Frees this rank's handle; the other ranks' stay valid as long as nobody calls on the communicator. Null is
 * ignored. */
COPSE_API void copse_comm_free(copse_comm *comm);

/* -1 if `comm` is null. */
COPSE_API int copse_comm_rank(const copse_comm *comm);
COPSE_API int copse_comm_ranks(const copse_comm *comm);

/* What went wrong in this rank's last failed call on `comm`, or, with null, in this thread's last failed creation or
 * call without a communicator.
 * One line without a newline; empty if nothing did. Valid until the next call. */
COPSE_API const char *copse_comm_message(const copse_comm *comm);

/* --- Collectives ---------------------------------------------------------------------------------------------- *
 *
 * All block, and return COPSE_OK, COPSE_ERROR_ARGUMENT (nothing was done, on this rank), COPSE_ERROR_MISMATCH or
 * COPSE_ERROR_LOST. `count` is in elements of `type`, `bytes` in bytes; 0 is allowed. Buffers may have any alignment.
 * Reductions combine ranks in an order that depends on the communicator alone, so that the same call gives the same
 * bits each time, and all ranks of an allreduce the same bits. `input` may equal `output`; otherwise they must not
 * overlap. */

/* Returns when every rank has called it. */
COPSE_API copse_status copse_barrier(copse_comm *comm);

/* `buffer` of rank `root` is copied to `buffer` of every rank. */
COPSE_API copse_status copse_broadcast(copse_comm *comm, void *buffer, size_t bytes, int root);

/* output[i] on rank `root` = input[i] of rank 0 op ... op input[i] of the last rank. `output` is not touched on the
 * other ranks and may be null there. */
COPSE_API copse_status copse_reduce(copse_comm *comm, const void *input, void *output, size_t count, copse_type type,
                                    copse_op op, int root);

/* The same, on every rank. */
COPSE_API copse_status copse_allreduce(copse_comm *comm, const void *input, void *output, size_t count,
                                       copse_type type, copse_op op);

#ifdef __cplusplus
}
#endif

#endif
