/* A matrix product. Each thread has a band of rows of all three matrices. While it multiplies with one thread's rows of B, it
 * fetches the next thread's.
 *
 *     copse run --upc-threads 4 build/release/bin/example-upc_multiply
 */
#include <copse/upc.h>
#include <copse/upc_nb.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 32 }; /* of a band; the matrices have kRows * THREADS rows and columns */

static double element_of_a(size_t row, size_t column) { return (double)(row + 2 * column); }
static double element_of_b(size_t row, size_t column) { return row == column ? 2 : row == column + 1 ? 1 : 0; }

static int program(int argc, char** argv) {
  const size_t n = (size_t)kRows * (size_t)THREADS, band = (size_t)kRows * n, me = (size_t)MYTHREAD;
  /* shared [band] double a[n * n], b[n * n], c[n * n] */
  const upc_shared a = upc_all_alloc((size_t)THREADS, band * sizeof(double)),
                   b = upc_all_alloc((size_t)THREADS, band * sizeof(double)),
                   c = upc_all_alloc((size_t)THREADS, band * sizeof(double));
  double* const rows_a = &UPC_AT(double, band, a, me* band); /* this thread's own rows, through a common pointer */
  double* const rows_b = &UPC_AT(double, band, b, me* band);
  double* const rows_c = &UPC_AT(double, band, c, me* band);
  double* const fetched = malloc(2 * band * sizeof(double)); /* two bands in turn */
  size_t i, j, k, step, wrong = 0;
  upc_handle_t coming;
  (void)argc;
  (void)argv;
  if (fetched == NULL) return 1;
  for (i = 0; i < kRows; ++i)
    for (j = 0; j < n; ++j) {
      rows_a[i * n + j] = element_of_a(me * kRows + i, j);
      rows_b[i * n + j] = element_of_b(me * kRows + i, j);
      rows_c[i * n + j] = 0;
    }
  upc_barrier();

  coming = upc_memget_nb(fetched, upc_add(b, (ptrdiff_t)(me * band), sizeof(double), band), band * sizeof(double));
  for (step = 0; step < (size_t)THREADS; ++step) { /* begins with its own band, so that not all ask the same thread */
    const size_t owner = (me + step) % (size_t)THREADS, next = (owner + 1) % (size_t)THREADS;
    const double* const from = fetched + step % 2 * band;
    upc_sync(coming);
    if (step + 1 < (size_t)THREADS)
      coming = upc_memget_nb(fetched + (step + 1) % 2 * band, upc_add(b, (ptrdiff_t)(next * band), sizeof(double), band),
                             band * sizeof(double));
    for (i = 0; i < kRows; ++i)
      for (k = 0; k < kRows; ++k)
        for (j = 0; j < n; ++j) rows_c[i * n + j] += rows_a[i * n + owner * kRows + k] * from[k * n + j];
  }
  for (i = 0; i < kRows; ++i)
    for (j = 0; j < n; ++j) {
      const double next = j + 1 < n ? element_of_a(me * kRows + i, j + 1) : 0;
      wrong += rows_c[i * n + j] != 2 * element_of_a(me * kRows + i, j) + next;
    }
  free(fetched);
  if (wrong == 0 && me == 0) printf("%d UPC threads: the product of two matrices of %zu rows is right\n", THREADS, n);
  return wrong == 0 ? 0 : 1;
}

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
