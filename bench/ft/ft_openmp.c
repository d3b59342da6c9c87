/* FT with OpenMP's threads, which share one array and so exchange nothing: copse-ft-openmp CLASS THREADS [RUNS].
 * The transforms of columns read and write the planes of all threads. */
#include <omp.h>

#include "ft.h"

typedef struct shared_array {
  double complex* whole;
  double complex* sums; /* one for each thread */
  fftw_plan forward, back;
} shared_array;

static void meet(ft* f) {
  const double begin = ft_now();
#pragma omp barrier
  f->exchange_seconds += ft_now() - begin;
}

static void to_columns(ft* f) {
  meet(f);
  fftw_execute(((shared_array*)f->version)->forward);
}

static void to_planes(ft* f) {
  meet(f); /* nobody reads the planes any more */
  fftw_execute(((shared_array*)f->version)->back);
  meet(f);
}

static double complex sum(ft* f, double complex of_mine) {
  double complex* const sums = ((shared_array*)f->version)->sums;
  double complex all = 0;
  sums[f->me] = of_mine;
#pragma omp barrier
  for (int t = 0; t < f->threads; ++t) all += sums[t];
#pragma omp barrier
  return all;
}

int main(int argc, char** argv) {
  static const ft_version version = {"OpenMP", to_columns, to_planes, sum};
  const int threads = argc > 2 ? atoi(argv[2]) : 0;
  if (threads < 1) {
    fprintf(stderr, "usage: copse-ft-openmp CLASS THREADS [RUNS]\n");
    return 2;
  }
  const ft_class* const of = ft_class_named(argv[1], threads);
  if (of == NULL) return 2;
  const size_t of_plane = (size_t)of->nx * (size_t)of->ny, elements = of_plane * (size_t)of->nz;
  double complex* const whole = fftw_malloc(elements * sizeof *whole); /* each thread touches its planes first */
  double complex* const sums = calloc((size_t)threads, sizeof *sums);
  if (whole == NULL || sums == NULL) {
    fprintf(stderr, "copse-ft-openmp: no memory for %zu elements\n", elements);
    return 1;
  }
  int failed = 0;
#pragma omp parallel num_threads(threads) reduction(| : failed)
  {
    ft f;
    shared_array own;
    const int me = omp_get_thread_num();
    const size_t planes = (size_t)(of->nz / threads), rows = (size_t)(of->ny / threads);
    memset(&f, 0, sizeof f);
    memset(whole + (size_t)me * planes * of_plane, 0, planes * of_plane * sizeof *whole);
    ft_prepare(&f, of, me, threads, whole + (size_t)me * planes * of_plane);
    double complex* const first = whole + (size_t)me * rows * (size_t)of->nx;
    const int apart = (int)rows * of->nx;
    own.whole = whole;
    own.sums = sums;
    own.forward = ft_plan_columns(&f, first, (int)of_plane, f.columns, apart, FFTW_FORWARD);
    own.back = ft_plan_columns(&f, f.columns, apart, first, (int)of_plane, FFTW_BACKWARD);
    f.version = &own;
#pragma omp barrier
    failed = ft_run(&f, &version, ft_runs(argc > 3 ? argv[3] : NULL));
  }
  free(sums);
  fftw_free(whole);
  return failed;
}
