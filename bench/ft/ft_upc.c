/* FT with UPC's exchange: copse-ft-upc CLASS [RUNS]. COPSE_ALGORITHM says which algorithm exchanges. */
#include "ft_exchange.h"

#include "copse/bupc.h"
#include "copse/upc.h"

static upc_private upc_shared from, to;

static void exchange(ft* f) {
  upc_all_exchange(to, from, f->own / (size_t)f->threads * sizeof(double complex), UPC_IN_MYSYNC | UPC_OUT_MYSYNC);
}

static double complex sum(ft* f, double complex of_mine) {
  (void)f;
  const double real = bupc_allv_reduce_all(double, creal(of_mine), UPC_ADD),
               imaginary = bupc_allv_reduce_all(double, cimag(of_mine), UPC_ADD);
  upc_barrier();
  return real + I * imaginary;
}

static double complex* mine(upc_shared array) {
  array.thread = MYTHREAD;
  return upc_cast(array);
}

static int program(int argc, char** argv) {
  static const ft_version version = {"UPC", ft_exchange_to_columns, ft_exchange_to_planes, sum};
  const ft_class* const of = ft_class_named(argc > 1 ? argv[1] : NULL, THREADS);
  ft f;
  ft_exchange e;
  if (of == NULL) return 2;
  memset(&f, 0, sizeof f);
  ft_prepare(&f, of, MYTHREAD, THREADS, NULL);
  from = upc_all_alloc((size_t)THREADS, f.own * sizeof(double complex));
  to = upc_all_alloc((size_t)THREADS, f.own * sizeof(double complex));
  if (upc_is_null(from) || upc_is_null(to)) {
    if (MYTHREAD == 0) fprintf(stderr, "ft: no memory for this class; use a smaller one, or a larger COPSE_UPC_HEAP\n");
    return 2;
  }
  ft_prepare_exchange(&f, &e, mine(from), mine(to), exchange);
  return ft_run(&f, &version, ft_runs(argc > 2 ? argv[2] : NULL));
}

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
