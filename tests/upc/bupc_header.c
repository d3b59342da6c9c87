/* bupc.h and upc_nb.h in strict C11, used as a C program would. */
#include "copse/bupc.h"
#include "copse/upc_nb.h"

struct pair {
  int thread;
  double value;
};

static int differ(struct pair one, struct pair other) { return one.thread != other.thread; }

static int program(int argc, char** argv) {
  struct pair mine, got;
  int all[64], last, wrong;
  bupc_sem_t sem = bupc_sem_alloc(0);
  (void)argc;
  (void)argv;
  mine.thread = MYTHREAD;
  mine.value = 0.5;
  got = bupc_allv_broadcast(struct pair, mine, THREADS - 1);
  wrong = got.thread != THREADS - 1 || got.value != 0.5;
  /* Two results of one expression. */
  wrong += differ(bupc_allv_broadcast(struct pair, mine, 0), bupc_allv_broadcast(struct pair, mine, THREADS - 1)) != (THREADS > 1);
  wrong += bupc_allv_reduce_all(double, MYTHREAD, UPC_ADD) != THREADS * (THREADS - 1) / 2.0;
  wrong += bupc_allv_prefix_reduce(unsigned char, 1, UPC_ADD) != MYTHREAD + 1;
  last = MYTHREAD;
  wrong += bupc_allv_gather_all(int, last, all) != all || all[THREADS - 1] != THREADS - 1;
  wrong += bupc_allv_scatter(int, 0, all) != MYTHREAD;
  wrong += bupc_allv_permute(int, last, THREADS - 1 - MYTHREAD) != THREADS - 1 - MYTHREAD;
  bupc_sem_post(sem);
  bupc_sem_wait(sem);
  upc_sync(upc_memput_nb(sem.at, &last, 0));
  bupc_sem_free(sem);
  return wrong;
}

int bupc_header_works_in_c11(void);
int bupc_header_works_in_c11(void) { return copse_upc_run(0, 0, program); }
