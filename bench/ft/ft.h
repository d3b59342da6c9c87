/* The kernel FT of the NAS Parallel Benchmarks 3.4: what its versions for UPC, MPI and OpenMP share.
 *
 * A 3-D array of complex random numbers is transformed. Then, in each iteration, it is damped, transformed back, and a sum over
 * 1024 of its elements is compared with the published one (D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, 2.3.4). FFTW
 * makes the transforms.
 *
 * Each thread has nz / threads planes of the array, and, of the transformed one, ny / threads rows of each of the nz planes: its
 * columns. How data get from the one to the other is a version's own. */
#ifndef COPSE_BENCH_FT_H
#define COPSE_BENCH_FT_H

#define _GNU_SOURCE
#include <complex.h>
#include <fftw3.h> /* behind complex.h, so that fftw_complex is double complex */
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FT_ITERATIONS = 6 };

typedef struct ft_class {
  char name;
  int nx, ny, nz;
  double sums[FT_ITERATIONS][2];
} ft_class;

static const ft_class ft_classes[] = {{'S',
                                       64,
                                       64,
                                       64,
                                       {{554.6087004964, 484.5363331978},
                                        {554.6385409189, 486.5304269511},
                                        {554.6148406171, 488.3910722336},
                                        {554.5423607415, 490.1273169046},
                                        {554.4255039624, 491.7475857993},
                                        {554.2683411902, 493.2597244941}}},
                                      {'W',
                                       128,
                                       128,
                                       32,
                                       {{567.3612178944, 529.3246849175},
                                        {563.1436885271, 528.2149986629},
                                        {559.4024089970, 527.0996558037},
                                        {556.0698047020, 526.0027904925},
                                        {553.0898991250, 524.9400845633},
                                        {550.4159734538, 523.9212247086}}},
                                      {'A',
                                       256,
                                       256,
                                       128,
                                       {{504.6735008193, 511.4047905510},
                                        {505.9412319734, 509.8809666433},
                                        {506.9376896287, 509.8144042213},
                                        {507.7892868474, 510.1336130759},
                                        {508.5233095391, 510.4914655194},
                                        {509.1487099959, 510.7917842803}}}};

typedef struct ft {
  const ft_class* of;
  int me, threads;
  size_t plane_count, row_count; /* this thread's planes, and its rows of each transformed plane */
  size_t own;                    /* elements of this thread, in planes and in columns alike */
  double complex* planes;        /* [plane_count][ny][nx] */
  double complex* columns;       /* [nz][row_count][nx] */
  double* factors;               /* like columns */
  fftw_plan planes_forward, planes_back;
  double exchange_seconds; /* in which this thread did not compute */
  void* version;           /* the version's own data */
} ft;

/* What the versions do in their own ways. All threads call each function together. */
typedef struct ft_version {
  const char* title;
  void (*to_columns)(ft*);                            /* from the planes to transformed columns */
  void (*to_planes)(ft*);                             /* from the columns to planes, transformed back in that direction */
  double complex (*sum)(ft*, double complex of_mine); /* over all threads; it is a barrier, too */
} ft_version;

static double ft_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns the class of that name, if `threads` divide it. Otherwise says on stderr what is wrong, and returns null. */
static const ft_class* ft_class_named(const char* name, int threads) {
  for (size_t i = 0; i < sizeof ft_classes / sizeof ft_classes[0]; ++i) {
    const ft_class* of = &ft_classes[i];
    if (name == NULL || name[0] != of->name || name[1] != '\0') continue;
    if (of->nz % threads == 0 && of->ny % threads == 0) return of;
    fprintf(stderr, "ft: %d threads cannot share class %c: they must divide %d and %d\n", threads, of->name, of->nz, of->ny);
    return NULL;
  }
  fprintf(stderr, "ft: the class is '%s'; required: S, W or A\n", name == NULL ? "" : name);
  return NULL;
}

/* Returns how often to run: the argument, or 1 if there is none. */
static int ft_runs(const char* argument) {
  const int runs = argument == NULL ? 1 : atoi(argument);
  return runs > 0 ? runs : 1;
}

static void* ft_memory(size_t bytes) {
  void* const memory = fftw_malloc(bytes);
  if (memory == NULL) {
    fprintf(stderr, "ft: no %zu bytes of memory\n", bytes);
    exit(1);
  }
  memset(memory, 0, bytes); /* so that pages come before time is taken */
  return memory;
}

/* FFTW makes plans for one thread at a time. */
static pthread_mutex_t ft_planner = PTHREAD_MUTEX_INITIALIZER;

static fftw_plan ft_plan_planes(const ft* f, int sign) {
  const int sides[2] = {f->of->ny, f->of->nx}, size = f->of->nx * f->of->ny;
  pthread_mutex_lock(&ft_planner);
  const fftw_plan plan =
      fftw_plan_many_dft(2, sides, (int)f->plane_count, f->planes, NULL, 1, size, f->planes, NULL, 1, size, sign, FFTW_ESTIMATE);
  pthread_mutex_unlock(&ft_planner);
  return plan;
}

/* Plans the transforms of this thread's columns. Their planes lie `in_stride` and `out_stride` elements apart. */
static fftw_plan ft_plan_columns(const ft* f, double complex* in, int in_stride, double complex* out, int out_stride, int sign) {
  const int columns = (int)f->row_count * f->of->nx;
  pthread_mutex_lock(&ft_planner);
  const fftw_plan plan = fftw_plan_many_dft(1, &f->of->nz, columns, in, NULL, in_stride, 1, out, NULL, out_stride, 1, sign,
                                            FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  pthread_mutex_unlock(&ft_planner);
  return plan;
}

/* Prepares thread `me`. Its planes may be given, or else are allocated. */
static void ft_prepare(ft* f, const ft_class* of, int me, int threads, double complex* planes) {
  f->of = of;
  f->me = me;
  f->threads = threads;
  f->plane_count = (size_t)(of->nz / threads);
  f->row_count = (size_t)(of->ny / threads);
  f->own = f->plane_count * (size_t)of->ny * (size_t)of->nx;
  f->planes = planes != NULL ? planes : ft_memory(f->own * sizeof *f->planes);
  f->columns = ft_memory(f->own * sizeof *f->columns);
  f->factors = ft_memory(f->own * sizeof *f->factors);
  f->planes_forward = ft_plan_planes(f, FFTW_FORWARD);
  f->planes_back = ft_plan_planes(f, FFTW_BACKWARD);
}

/* The random numbers: x[i + 1] = 5^13 x[i] modulo 2^46, from 314159265 on. Products modulo 2^64 have the right lower bits. */
static uint64_t ft_random_after(uint64_t x, uint64_t steps) {
  for (uint64_t power = 1220703125; steps > 0; steps >>= 1, power *= power)
    if (steps & 1) x *= power;
  return x & (((uint64_t)1 << 46) - 1);
}

static void ft_fill(ft* f) {
  const size_t of_plane = (size_t)f->of->nx * (size_t)f->of->ny;
  uint64_t x = ft_random_after(314159265, 2 * of_plane * f->plane_count * (size_t)f->me);
  for (size_t i = 0; i < f->own; ++i) {
    const double real = (double)(x = ft_random_after(x, 1)) * 0x1p-46;
    f->planes[i] = real + I * ((double)(x = ft_random_after(x, 1)) * 0x1p-46);
  }
}

static int ft_frequency(int index, int size) { return (index + size / 2) % size - size / 2; }

static void ft_make_factors(ft* f) {
  const double pi = 3.14159265358979323846, alpha = 1e-6;
  size_t at = 0;
  for (int z = 0; z < f->of->nz; ++z)
    for (size_t row = 0; row < f->row_count; ++row)
      for (int x = 0; x < f->of->nx; ++x) {
        const double kx = ft_frequency(x, f->of->nx), kz = ft_frequency(z, f->of->nz),
                     ky = ft_frequency(f->me * (int)f->row_count + (int)row, f->of->ny);
        f->factors[at++] = exp(-4 * alpha * pi * pi * (kx * kx + ky * ky + kz * kz));
      }
}

/* The sum over those of the 1024 elements that this thread has. */
static double complex ft_sum_of_mine(const ft* f) {
  double complex sum = 0;
  for (int j = 1; j <= 1024; ++j) {
    const int x = j % f->of->nx, y = 3 * j % f->of->ny, z = 5 * j % f->of->nz;
    const size_t plane = (size_t)z - f->plane_count * (size_t)f->me; /* a huge one, if it is before this thread's */
    if (plane < f->plane_count) sum += f->planes[(plane * (size_t)f->of->ny + (size_t)y) * (size_t)f->of->nx + (size_t)x];
  }
  return sum;
}

static int ft_is_right(const ft_class* of, int iteration, double complex sum) {
  const double complex published = of->sums[iteration][0] + I * of->sums[iteration][1];
  return cabs((sum - published) / published) <= 1e-12;
}

/* Runs the benchmark once and returns the seconds. Sets *right to 0 if a sum is not as published. */
static double ft_run_once(ft* f, const ft_version* version, int* right) {
  const double elements = (double)f->of->nx * f->of->ny * f->of->nz;
  ft_fill(f);
  version->sum(f, 0);
  f->exchange_seconds = 0;
  const double begin = ft_now();
  fftw_execute(f->planes_forward);
  version->to_columns(f);
  for (int iteration = 0; iteration < FT_ITERATIONS; ++iteration) {
    for (size_t i = 0; i < f->own; ++i) f->columns[i] *= f->factors[i];
    version->to_planes(f);
    fftw_execute(f->planes_back);
    *right &= ft_is_right(f->of, iteration, version->sum(f, ft_sum_of_mine(f)) / elements);
  }
  return ft_now() - begin;
}

/* Runs the benchmark `runs` times after one that warms up. All threads call it. Thread 0 prints a line of JSON for each. The
 * operations are counted as the NAS Parallel Benchmarks do. Returns 0, or 1 if a sum was wrong. */
static int ft_run(ft* f, const ft_version* version, int runs) {
  const double elements = (double)f->of->nx * f->of->ny * f->of->nz;
  const double operations = elements * (14.8157 + 7.19641 * log(elements) + (5.23518 + 7.21113 * log(elements)) * FT_ITERATIONS);
  int right = 1;
  ft_make_factors(f);
  for (int run = -1; run < runs; ++run) {
    const double seconds = ft_run_once(f, version, &right);
    if (f->me == 0 && run >= 0)
      printf(
          "{\"version\": \"%s\", \"class\": \"%c\", \"threads\": %d, \"seconds\": %.6f, \"exchange_seconds\": %.6f, "
          "\"mops\": %.1f, \"verified\": %s}\n",
          version->title, f->of->name, f->threads, seconds, f->exchange_seconds, operations / seconds / 1e6,
          right ? "true" : "false");
  }
  return right ? 0 : 1;
}

#endif
