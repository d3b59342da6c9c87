/* upc.h in strict C11, used as a C program would. */
#include "copse/upc.h"

static upc_private int calls;

static int larger(int a, int b) { return a > b ? a : b; }

static int program(int argc, char** argv) {
  const upc_shared a = upc_all_alloc((size_t)THREADS, 4 * sizeof(int)), most = upc_all_alloc(1, sizeof(int));
  const upc_lock_t lock = upc_all_lock_alloc();
  int i, wrong;
  (void)argc;
  (void)argv;
  ++calls;
  for (i = 0; i < 4; ++i) UPC_AT(int, 4, a, 4 * MYTHREAD + i) = 4 * MYTHREAD + i;
  upc_all_reduceI(most, a, UPC_FUNC, (size_t)(4 * THREADS), 4, larger, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
  upc_lock(lock);
  wrong = UPC_GET(int, 1, most, 0) != 4 * THREADS - 1 || calls != 1;
  UPC_PUT(int, 1, most, 0, UPC_GET(int, 1, most, 0));
  upc_unlock(lock);
  upc_barrier();
  return wrong;
}

int upc_header_compiles_as_c11(void);
int upc_header_compiles_as_c11(void) { return copse_upc_run(0, 0, program); }
