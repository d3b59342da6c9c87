/* The first UPC program of most books: pi as an integral. Each thread adds up every THREADS-th strip. A reduction adds the parts.
 *
 *     copse run --upc-threads 4 build/release/bin/example-upc_pi
 */
#include <copse/upc.h>
#include <stdio.h>

enum { kStrips = 1000000 };

static int program(int argc, char** argv) {
  /* shared double parts[THREADS]; shared double pi. The block size is 1, as it is in UPC where none is given. */
  const upc_shared parts = upc_all_alloc((size_t)THREADS, sizeof(double)), pi = upc_all_alloc(1, sizeof(double));
  const double width = 1.0 / kStrips;
  double sum = 0, error;
  int i;
  (void)argc;
  (void)argv;
  for (i = MYTHREAD; i < kStrips; i += THREADS) { /* upc_forall (i = 0; i < kStrips; ++i; i) */
    const double x = (i + 0.5) * width;
    sum += 4 / (1 + x * x) * width;
  }
  UPC_AT(double, 1, parts, MYTHREAD) = sum;
  upc_all_reduceD(pi, parts, UPC_ADD, (size_t)THREADS, 1, NULL, UPC_IN_MYSYNC | UPC_OUT_ALLSYNC); /* everybody reads the result */
  error = UPC_GET(double, 1, pi, 0) - 3.14159265358979323846;
  if (MYTHREAD == 0) printf("%d UPC threads: pi is %.12f\n", THREADS, UPC_GET(double, 1, pi, 0));
  return error < 1e-9 && error > -1e-9 ? 0 : 1;
}

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
