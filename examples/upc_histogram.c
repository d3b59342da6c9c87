/* A histogram whose bins lie on all threads. A lock for each bin guards it against threads that count at the same time.
 *
 *     copse run --upc-threads 4 build/release/bin/example-upc_histogram
 */
#include <copse/upc.h>
#include <stdio.h>

enum { kBins = 16, kEach = 4000 };

static int program(int argc, char** argv) {
  /* shared long bins[kBins]; shared upc_lock_t locks[kBins]; shared long sum. */
  const upc_shared bins = upc_all_alloc(kBins, sizeof(long)), locks = upc_all_alloc(kBins, sizeof(upc_lock_t)),
                   sum = upc_all_alloc(1, sizeof(long));
  unsigned random = 12345u + 67u * (unsigned)MYTHREAD;
  long total;
  int i;
  (void)argc;
  (void)argv;
  for (i = MYTHREAD; i < kBins; i += THREADS) { /* element i lies on thread i % THREADS */
    UPC_AT(long, 1, bins, i) = 0;
    UPC_AT(upc_lock_t, 1, locks, i) = upc_global_lock_alloc();
  }
  upc_barrier();
  for (i = 0; i < kEach; ++i) {
    random = random * 1103515245u + 12345u;
    const int bin = (int)(random >> 16) % kBins;
    const upc_lock_t lock = UPC_GET(upc_lock_t, 1, locks, bin); /* which may lie on any thread, and on another node */
    upc_lock(lock);
    UPC_PUT(long, 1, bins, bin, UPC_GET(long, 1, bins, bin) + 1);
    upc_unlock(lock);
  }
  upc_all_reduceL(sum, bins, UPC_ADD, kBins, 1, NULL, 0); /* ALLSYNC: all have counted before */
  total = UPC_GET(long, 1, sum, 0);
  for (i = MYTHREAD; i < kBins; i += THREADS) upc_lock_free(UPC_AT(upc_lock_t, 1, locks, i));
  if (MYTHREAD == 0) printf("%d UPC threads: %ld numbers in %d bins\n", THREADS, total, (int)kBins);
  return total == (long)kEach * THREADS ? 0 : 1;
}

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
