/* FT with MPI_Alltoall: ft_mpi CLASS [RUNS]. */
#include "ft_exchange.h"

#include <mpi.h>

static void exchange(ft* f) {
  const int doubles = (int)(f->own / (size_t)f->threads) * 2;
  MPI_Alltoall(ft_exchange_of(f)->packed, doubles, MPI_DOUBLE, ft_exchange_of(f)->arrived, doubles, MPI_DOUBLE, MPI_COMM_WORLD);
}

static double complex sum(ft* f, double complex of_mine) {
  double complex all;
  (void)f;
  MPI_Allreduce(&of_mine, &all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  static const ft_version version = {"MPI", ft_exchange_to_columns, ft_exchange_to_planes, sum};
  int me, ranks, status = 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const ft_class* const of = ft_class_named(argc > 1 ? argv[1] : NULL, ranks);
  if (of != NULL) {
    ft f;
    ft_exchange e;
    memset(&f, 0, sizeof f);
    ft_prepare(&f, of, me, ranks, NULL);
    const size_t bytes = f.own * sizeof(double complex);
    ft_prepare_exchange(&f, &e, ft_memory(bytes), ft_memory(bytes), exchange);
    status = ft_run(&f, &version, ft_runs(argc > 2 ? argv[2] : NULL));
  }
  MPI_Finalize();
  return status;
}
