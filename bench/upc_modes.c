/* What UPC's synchronisation modes cost: operation x mode x size, as lines of CSV.
 *
 *     copse-upc-modes OPERATIONS SIZES BATCHES
 *
 * Operations and sizes are separated by commas. A batch is many calls between two barriers. Its time ends when the last thread has
 * passed the second barrier, and is divided by the number of calls. So what a call of a weaker mode leaves to do counts in the
 * batch. The batches of the three modes follow one another in turn, so that a disturbance of the machine affects all three. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "copse/upc.h"

static const struct {
  const char* name;
  upc_flag_t flags;
} modes[] = {{"ALLSYNC", UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC},
             {"MYSYNC", UPC_IN_MYSYNC | UPC_OUT_MYSYNC},
             {"NOSYNC", UPC_IN_NOSYNC | UPC_OUT_NOSYNC}};
enum { MODES = sizeof modes / sizeof modes[0] };

static const char* const operations[] = {"broadcast", "scatter", "gather", "gather_all", "exchange", "permute"};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static upc_shared dst, src, perm;

static void call(int operation, size_t bytes, upc_flag_t flags) {
  switch (operation) {
    case 0: upc_all_broadcast(dst, src, bytes, flags); return;
    case 1: upc_all_scatter(dst, src, bytes, flags); return;
    case 2: upc_all_gather(dst, src, bytes, flags); return;
    case 3: upc_all_gather_all(dst, src, bytes, flags); return;
    case 4: upc_all_exchange(dst, src, bytes, flags); return;
    default: upc_all_permute(dst, src, perm, bytes, flags); return;
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static double batch_us(int operation, size_t bytes, upc_flag_t flags, int calls) {
  upc_barrier();
  const double start = now();
  for (int i = 0; i < calls; ++i) call(operation, bytes, flags);
  upc_barrier();
  return (now() - start) / calls;
}

static int calls_of(size_t bytes) {
  const size_t many = ((size_t)16 << 20) / (bytes * (size_t)THREADS);
  return many < 50 ? 50 : many > 4000 ? 4000 : (int)many;
}

static void measure(int operation, size_t bytes, int batches) {
  const int calls = calls_of(bytes);
  for (int batch = -1; batch < batches; ++batch) { /* batch -1 warms up */
    for (int mode = 0; mode < MODES; ++mode) {
      const double us = batch_us(operation, bytes, modes[mode].flags, calls);
      if (MYTHREAD == 0 && batch >= 0)
        printf("%s,%zu,%d,%s,%d,%.4f\n", operations[operation], bytes, THREADS, modes[mode].name, batch, us);
    }
  }
}

static int number_of(const char* name) {
  for (int i = 0; i < OPERATIONS; ++i)
    if (strcmp(operations[i], name) == 0) return i;
  fprintf(stderr, "copse-upc-modes: no operation is called '%s'\n", name);
  exit(2);
}

static int program(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: copse-upc-modes OPERATIONS SIZES BATCHES\n");
    return 2;
  }
  size_t largest = 0;
  for (char* at = argv[2]; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
    const size_t bytes = strtoul(at, NULL, 10);
    if (bytes > largest) largest = bytes;
  }
  if (largest == 0) {
    fprintf(stderr, "copse-upc-modes: SIZES is '%s'; required: numbers of bytes from 1 up\n", argv[2]);
    return 2;
  }
  const size_t threads = (size_t)THREADS;
  dst = upc_all_alloc(threads, threads * largest);
  src = upc_all_alloc(threads, threads * largest);
  perm = upc_all_alloc(threads, sizeof(int));
  if (upc_is_null(dst) || upc_is_null(src) || upc_is_null(perm)) {
    if (MYTHREAD == 0)
      fprintf(stderr, "copse-upc-modes: no memory for %zu bytes; use smaller sizes, or a larger COPSE_UPC_HEAP\n", largest);
    return 2;
  }
  memset(upc_cast(upc_add(src, MYTHREAD, threads * largest, 1)), MYTHREAD, threads * largest);
  UPC_AT(int, 1, perm, MYTHREAD) = (MYTHREAD + 1) % THREADS;
  upc_barrier();
  if (MYTHREAD == 0) printf("operation,bytes,threads,mode,batch,us\n");
  char *names = strdup(argv[1]), *rest = NULL; /* every thread cuts its own copy */
  for (char* name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
    for (char* at = argv[2]; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
      measure(number_of(name), strtoul(at, NULL, 10), atoi(argv[3]));
  free(names);
  return 0;
}

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
