/* UPC's collectives from C: thread 0 scatters numbers, every thread squares its own, and the squares are gathered and added up.
 *
 *     copse run --upc-threads 4 build/release/bin/example-upc_scatter
 *     copse run --upc-threads 4 --upc-processes 2 build/release/bin/example-upc_scatter
 */
#include <copse/upc.h>
#include <stdio.h>

enum { kEach = 1000 };

static int program(int argc, char** argv) {
  /* shared [] long whole[kEach * THREADS], on thread 0; shared [kEach] long parts[kEach * THREADS]; shared long sum. */
  const size_t bytes = kEach * sizeof(long), n = (size_t)THREADS;
  const upc_shared whole = upc_all_alloc(1, bytes * n), parts = upc_all_alloc(n, bytes), sum = upc_all_alloc(1, sizeof(long));
  const long last = (long)kEach * THREADS - 1;
  long i, expected;
  (void)argc;
  (void)argv;
  if (MYTHREAD == 0)
    for (i = 0; i <= last; ++i) UPC_AT(long, UPC_INDEFINITE, whole, i) = i;

  upc_all_scatter(parts, whole, bytes, UPC_IN_MYSYNC | UPC_OUT_MYSYNC); /* each thread touches only its own part */
  for (i = 0; i < kEach; ++i) {
    long* const mine = &UPC_AT(long, kEach, parts, (long)MYTHREAD* kEach + i);
    *mine *= *mine;
  }
  upc_all_gather(whole, parts, bytes, UPC_IN_MYSYNC | UPC_OUT_ALLSYNC); /* everybody reads the result */
  upc_all_reduceL(sum, parts, UPC_ADD, kEach * n, kEach, NULL, 0);

  expected = last * (last + 1) * (2 * last + 1) / 6;
  if (UPC_GET(long, UPC_INDEFINITE, whole, last) != last * last || UPC_GET(long, 1, sum, 0) != expected) {
    fprintf(stderr, "thread %d: the sum is %ld, not %ld\n", MYTHREAD, UPC_GET(long, 1, sum, 0), expected);
    return 1;
  }
  if (MYTHREAD == 0) printf("%d UPC threads: the squares of 0 to %ld add up to %ld\n", THREADS, last, expected);
  return 0;
}

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
