/* What the files of the program `collectives` share. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRanksMax = 64 };

extern int rank, ranks; /* of the world */
extern int bare;        /* COLLECTIVES_BARE: leave out what MPIs without Copse get wrong */
extern long checks;
extern uint64_t random_state;
unsigned next_random(void);

#define EXPECT(condition, ...)                                                    \
  do {                                                                            \
    ++checks;                                                                     \
    if (!(condition)) {                                                           \
      fprintf(stderr, "rank %d, %s:%d: %s: ", rank, __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__);                                               \
      fprintf(stderr, "\n");                                                      \
      PMPI_Abort(MPI_COMM_WORLD, 1);                                              \
    }                                                                             \
  } while (0)

/* Large-count forms come with MPI 4: LARGE(MPI_Scan, large, arguments) calls MPI_Scan_c where it exists and is asked for. */
#if MPI_VERSION >= 4
#define HAS_LARGE 1
#define LARGE(name, large, ...) ((large) ? name##_c(__VA_ARGS__) : name(__VA_ARGS__))
#else
#define HAS_LARGE 0
#define LARGE(name, large, ...) ((void)(large), name(__VA_ARGS__))
#endif

/* reductions.c */
void part_types(void);
void part_operators(void);
void random_reduction(MPI_Comm comm, long call);

/* moves.c */
void part_derived(void);
void part_moves(void);
void part_sparse(void);
void part_truncated(void);
void random_move(MPI_Comm comm, long call);

#endif
