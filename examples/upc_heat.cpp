// Heat along a rod whose ends are kept at 0 and 1, from C++, with Berkeley UPC's extensions. Each thread has a part of the rod.
// It puts its border cells where its neighbours need them, and a semaphore tells them. All stop when no cell changes much any
// more.
//
//     copse run --upc-threads 4 build/release/bin/example-upc_heat
//     copse run --upc-threads 4 --upc-processes 4 build/release/bin/example-upc_heat
#include <copse/bupc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <copse/upc.hpp>
#include <cstdio>

namespace {

constexpr std::size_t kCells = 12;  // of each thread
constexpr double kStill = 1e-7;  // a change in one step that no longer counts

// What a neighbour writes: the border cells on the left and on the right, of even and of odd steps. A neighbour may be one step
// ahead, but not two: it waits for this thread's border, too.
struct Halo {
  std::array<std::array<double, 2>, 2> cell;
};

int program(int, char**) {
  const int me = MYTHREAD, last = THREADS - 1;
  const upc::shared_array<Halo> halos(static_cast<std::size_t>(THREADS));
  const upc::shared_array<bupc_sem_t, 2> full(2 *
                                              static_cast<std::size_t>(THREADS));  // of the left and of the right of each thread
  for (const int side : {0, 1})
    full[static_cast<std::size_t>(2 * me + side)] = bupc_sem_alloc(BUPC_SEM_SPRODUCER | BUPC_SEM_SCONSUMER);
  Halo& mine = halos[static_cast<std::size_t>(me)];
  for (auto& of_step : mine.cell) of_step = {0, 1};  // the ends of the rod, where there is no neighbour
  upc_barrier();

  // Gives a border cell to a neighbour, for which it lies on that `side`.
  const auto put = [&](int neighbour, std::size_t side, std::size_t step, double value) {
    const upc_shared halo = upc_add((halos.begin() + neighbour).raw(), static_cast<std::ptrdiff_t>(2 * (step % 2) + side),
                                    sizeof(double), UPC_INDEFINITE);
    bupc_memput_signal(halo, &value, sizeof value, full.load(static_cast<std::size_t>(2 * neighbour) + side), 1);
  };

  std::array<double, kCells> now{}, next{};
  double change = 1;
  std::size_t step = 0;
  for (; change > kStill; ++step) {
    if (me > 0) put(me - 1, 1, step, now.front());
    if (me < last) put(me + 1, 0, step, now.back());
    if (me > 0) bupc_sem_wait(full[static_cast<std::size_t>(2 * me)]);
    if (me < last) bupc_sem_wait(full[static_cast<std::size_t>(2 * me + 1)]);
    const auto& [left, right] = mine.cell[step % 2];
    double most = 0;
    for (std::size_t i = 0; i < kCells; ++i) {
      next[i] = ((i == 0 ? left : now[i - 1]) + (i + 1 == kCells ? right : now[i + 1])) / 2;
      most = std::max(most, std::abs(next[i] - now[i]));
    }
    now = next;
    if (step % 100 == 0) change = bupc_allv_reduce_all(double, most, UPC_MAX);
  }

  // Then the heat rises evenly from one end to the other.
  double error = 0;
  const auto cells = static_cast<double>(kCells * static_cast<std::size_t>(THREADS));
  for (std::size_t i = 0; i < kCells; ++i)
    error = std::max(error, std::abs(now[i] - static_cast<double>(static_cast<std::size_t>(me) * kCells + i + 1) / (cells + 1)));
  error = bupc_allv_reduce_all(double, error, UPC_MAX);
  if (me == 0) std::printf("%d UPC threads: the rod is at rest after %zu steps, within %.0e\n", THREADS, step, error);
  return error < 1e-3 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
