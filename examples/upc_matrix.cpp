// UPC's collectives from C++: a matrix, a row of blocks on each thread, is transposed by an exchange; a lock guards a counter.
//
//     copse run --upc-threads 4 build/release/bin/example-upc_matrix
//     copse run --upc-threads 4 --upc-processes 4 build/release/bin/example-upc_matrix
#include <copse/upc.h>

#include <cstdio>

namespace {

constexpr std::size_t kSide = 8;  // of a block, which is a matrix of its own
constexpr std::size_t kBlock = kSide * kSide;

double element(std::size_t row, std::size_t column) { return static_cast<double>(row * 10000 + column); }

int program(int, char**) {
  const auto n = static_cast<std::size_t>(THREADS), me = static_cast<std::size_t>(MYTHREAD);
  // shared [kBlock * THREADS] double: block (t, u) holds rows t * kSide on and columns u * kSide on.
  const upc_shared matrix = upc_all_alloc(n, n * kBlock * sizeof(double)),
                   transposed = upc_all_alloc(n, n * kBlock * sizeof(double));
  const upc_shared wrong = upc_all_alloc(1, sizeof(long));
  const upc_lock_t lock = upc_all_lock_alloc();
  const auto mine = [&](upc_shared array) { return static_cast<double*>(upc_cast(upc_shared{array.address, 0, MYTHREAD})); };
  if (me == 0) upc_memset(wrong, 0, sizeof(long));
  for (std::size_t i = 0; i < n * kBlock; ++i)
    mine(matrix)[i] = element(me * kSide + i % kBlock / kSide, i / kBlock * kSide + i % kSide);

  upc_all_exchange(transposed, matrix, kBlock * sizeof(double), UPC_IN_MYSYNC | UPC_OUT_MYSYNC);

  // Block u on this thread is what thread u had for it: its rows are still rows. Read across, they are the columns.
  long differences = 0;
  for (std::size_t i = 0; i < n * kBlock; ++i)
    differences += mine(transposed)[i] != element(i / kBlock * kSide + i % kBlock / kSide, me * kSide + i % kSide);
  upc_lock(lock);
  UPC_PUT(long, 1, wrong, 0, UPC_GET(long, 1, wrong, 0) + differences);
  upc_unlock(lock);
  upc_barrier();
  const long all = UPC_GET(long, 1, wrong, 0);
  if (me == 0)
    std::printf("%d UPC threads: a matrix of %zu x %zu was exchanged, %ld elements differ\n", THREADS, n * kSide, n * kSide, all);
  return all == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
