/* What the files of the program `collectives` share. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "versions.h"

enum { kRanksMax = 64 };

extern int rank, ranks; /* of the world */
extern int bare;        /* COLLECTIVES_BARE: leave out what MPIs without Copse get wrong */
extern long checks;
extern uint64_t random_state;
unsigned next_random(void);

#define EXPECT(condition, ...)                                                       \
  do {                                                                               \
    ++checks;                                                                        \
    if (!(condition)) {                                                              \
      fprintf(stderr, "rank %d, %s:%d: %s: ", rank, __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__);                                                  \
      fprintf(stderr, "\n");                                                         \
      PMPI_Abort(MPI_COMM_WORLD, 1);                                                 \
    }                                                                                \
  } while (0)

/* What a call that was left to MPI_Finalize must have put into `paid`: the same as `owed`. */
extern int owed, paid;

/* CALL(Scan, scan, , arguments) makes the call in the form that `form` says: MPI_Scan, MPI_Iscan or MPI_Scan_init.
 * The request goes to `slot`. The third argument is _c for the large-count form. */
enum form { kBlocking, kStarted, kPersistent };
extern enum form form;
extern _Thread_local MPI_Request* slot;
#define CALL(name, stem, C, ...)                          \
  (form == kBlocking  ? MPI_##name##C(__VA_ARGS__)        \
   : form == kStarted ? MPI_I##stem##C(__VA_ARGS__, slot) \
                      : PERSISTENT(MPI_##name##_init##C, __VA_ARGS__))
#if HAS_PERSISTENT
#define HAS_SESSIONS 1
#define PERSISTENT(name, ...) name(__VA_ARGS__, MPI_INFO_NULL, slot)
#else
#define HAS_SESSIONS 0
#define PERSISTENT(...) MPI_ERR_OTHER
#endif
/* MPI 4 has large-count forms. LARGE(Scan, scan, large, arguments) calls MPI_Scan_c if it exists and is wanted. */
#if MPI_VERSION >= 4
#define HAS_LARGE 1
#define LARGE(name, stem, large, ...) ((large) ? CALL(name, stem, _c, __VA_ARGS__) : CALL(name, stem, , __VA_ARGS__))
#else
#define HAS_LARGE 0
#define LARGE(name, stem, large, ...) ((void)(large), CALL(name, stem, , __VA_ARGS__))
#endif

/* reductions.c */
void part_types(void);

/* requests.c */
void part_requests(void);
void part_progress(void);
void part_waits(void);
void part_moved(void);
void part_request_threads(void);
/* Completes all requests, in one of MPI's ways. */
enum { kWays = 10 };
void complete(int count, MPI_Request* requests, unsigned way);
/* For persistent calls: returns a way that works for the MPI's own requests of that kind. */
int safe_way(unsigned way, int of_the_mpis);
void end_beside_message(int count, MPI_Request* requests, MPI_Comm comm, int of_the_mpis);

/* orders.c */
void part_orders(void);
void part_order_threads(void);

/* rounds.c */
void part_rounds(void);
void part_threads(void);
void part_killed(void);
void part_killed_behind(void);
void part_killed_amid(uint64_t seed);

/* rare.c */
void part_rare(void);
void part_type_threads(void);
void part_cancelled_threads(void);

/* standard.c */
void part_standard(void);
void part_identical(void);
void part_session_last(void);
/* A receive from any rank with any tag never meets what collectives send. */
void receive_of_anything(void);
/* Returns a copy of the world on which Copse has met. */
MPI_Comm met_copy(void);

/* handlers.c */
void test_handlers(void);

/* moves.c */
void part_derived(void);
void part_sparse(void);
void part_large(int mib);
void part_truncated(void);

/* trials.c, programs.c */
void part_matrix(const char* only);
void part_programs(uint64_t seed, long steps, long programs);

#endif
