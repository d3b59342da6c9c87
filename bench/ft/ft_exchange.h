/* FT where threads exchange blocks, as MPI_Alltoall and upc_all_exchange do. */
#ifndef COPSE_BENCH_FT_EXCHANGE_H
#define COPSE_BENCH_FT_EXCHANGE_H

#include "ft.h"

typedef struct ft_exchange {
  double complex *packed, *arrived; /* what an exchange reads and what it writes, `own` elements each */
  void (*run)(ft*);                 /* block t of packed becomes block `me` of arrived on thread t */
  fftw_plan forward, back;
} ft_exchange;

static ft_exchange* ft_exchange_of(ft* f) { return f->version; }

static void ft_prepare_exchange(ft* f, ft_exchange* e, double complex* packed, double complex* arrived, void (*run)(ft*)) {
  const int apart = (int)f->row_count * f->of->nx;
  f->version = e;
  e->packed = packed;
  e->arrived = arrived;
  e->run = run;
  e->forward = ft_plan_columns(f, arrived, apart, f->columns, apart, FFTW_FORWARD);
  e->back = ft_plan_columns(f, f->columns, apart, packed, apart, FFTW_BACKWARD);
}

static void ft_timed_exchange(ft* f) {
  const double begin = ft_now();
  ft_exchange_of(f)->run(f);
  f->exchange_seconds += ft_now() - begin;
}

/* Block t consists of thread t's rows of each of this thread's planes. `piece` elements of a plane lie side by side. */
static void ft_exchange_to_columns(ft* f) {
  const size_t piece = f->row_count * (size_t)f->of->nx, threads = (size_t)f->threads;
  for (size_t t = 0; t < threads; ++t)
    for (size_t z = 0; z < f->plane_count; ++z)
      memcpy(ft_exchange_of(f)->packed + (t * f->plane_count + z) * piece, f->planes + (z * threads + t) * piece,
             piece * sizeof *f->planes);
  ft_timed_exchange(f);
  fftw_execute(ft_exchange_of(f)->forward); /* the blocks follow one another as their planes do */
}

static void ft_exchange_to_planes(ft* f) {
  const size_t piece = f->row_count * (size_t)f->of->nx, threads = (size_t)f->threads;
  fftw_execute(ft_exchange_of(f)->back);
  ft_timed_exchange(f);
  for (size_t t = 0; t < threads; ++t)
    for (size_t z = 0; z < f->plane_count; ++z)
      memcpy(f->planes + (z * threads + t) * piece, ft_exchange_of(f)->arrived + (t * f->plane_count + z) * piece,
             piece * sizeof *f->planes);
}

#endif
