// Compares Copse's allreduce, with threads as ranks, with an OpenMP reduction of the same array,
// `reduction(+:a[:n])`. It is built once for each OpenMP runtime: copse-libgomp (gcc) and copse-libomp (clang).
//
// Every thread of an OpenMP team holds an array of n doubles. Three forms take turns, a batch each:
//   for       a worksharing reduction inside one long parallel region: each thread adds its array into the shared one
//   parallel  the same with a region for every call, including its fork and join
//   copse     the threads of the team are ranks of a communicator; each gets the sum in an array of its own
// A batch's time is that of its slowest thread. Output is CSV: minimum and median over batches, in microseconds per
// call, and the ratio of the faster OpenMP form to Copse. With more threads than cores, OpenMP is at its best with
// OMP_WAIT_POLICY=passive.
#include <copse/copse.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

#if defined(__clang__)
constexpr const char* kRuntime = "libomp";
#else
constexpr const char* kRuntime = "libgomp";
#endif
constexpr double kBatchSeconds = 0.01;
constexpr int kBatches = 15;

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "openmp_allreduce: %s: %s\n", what, why);
  std::exit(1);
}

// The data for one number of threads and one size.
struct Team {
  int threads;
  size_t n;
  std::vector<std::vector<double>> operands, outputs;
  std::vector<copse_comm*> comms;
};

// This is a separate function, so that the private copies of each reduction leave the stack before the next one. The
// array is passed by reference, as a variable that the team shares: with a global instead, clang 14 loses updates.
[[gnu::noinline]] void reduce_once(double*& a, const Team& team) {
  const size_t n = team.n;
#pragma omp for schedule(static, 1) reduction(+ : a[ : n])
  for (int t = 0; t < team.threads; ++t) {
    const double* mine = team.operands[size_t(t)].data();
    for (size_t i = 0; i < n; ++i) a[i] += mine[i];
  }
}

[[gnu::noinline]] void reduce_region(double*& a, const Team& team) {
  const size_t n = team.n;
#pragma omp parallel num_threads(team.threads) reduction(+ : a[ : n])
  {
    const double* mine = team.operands[size_t(omp_get_thread_num())].data();
    for (size_t i = 0; i < n; ++i) a[i] += mine[i];
  }
}

// Runs `body(thread)` on every thread of the team and returns the slowest thread's seconds.
template <typename Body>
double timed(const Team& team, Body&& body) {
  double slowest = 0;
#pragma omp parallel num_threads(team.threads) reduction(max : slowest)
  {
#pragma omp barrier
    const double start = omp_get_wtime();
    body(size_t(omp_get_thread_num()));
    slowest = omp_get_wtime() - start;
  }
  return slowest;
}

void check(const char* form, const Team& team, const std::vector<double>& result, double times) {
  for (size_t i = 0; i < team.n; ++i) {
    double sum = 0;
    for (const auto& operand : team.operands) sum += operand[i];
    if (result[i] != sum * times) {
      std::fprintf(stderr, "openmp_allreduce: %s, %d threads, %zu bytes: element %zu is %.17g, expected %.17g\n", form,
                   team.threads, team.n * 8, i, result[i], sum * times);
      std::exit(1);
    }
  }
}

double run_for(Team& team, int64_t calls) {
  std::vector<double> array(team.n);
  double* a = array.data();
  const double took = timed(team, [&](size_t) {
    for (int64_t call = 0; call < calls; ++call) reduce_once(a, team);
  });
  check("for", team, array, double(calls));  // calls reset nothing, so each adds the sum to the array
  return took;
}

double run_parallel(Team& team, int64_t calls) {
  std::vector<double> array(team.n);
  double* a = array.data();
  const double start = omp_get_wtime();
  for (int64_t call = 0; call < calls; ++call) reduce_region(a, team);
  const double took = omp_get_wtime() - start;
  check("parallel", team, array, double(calls));
  return took;
}

double run_copse(Team& team, int64_t calls) {
  for (auto& output : team.outputs) std::fill(output.begin(), output.end(), 0.0);
  const double took = timed(team, [&](size_t me) {
    for (int64_t call = 0; call < calls; ++call) {
      const copse_status status =
          copse_allreduce(team.comms[me], team.operands[me].data(), team.outputs[me].data(), team.n, COPSE_DOUBLE, COPSE_SUM);
      if (status != COPSE_OK) fail(copse_status_text(status), copse_comm_message(team.comms[me]));
    }
  });
  for (const auto& output : team.outputs) check("copse", team, output, 1);
  return took;
}

void compare(Team& team) {
  struct Form {
    const char* name;
    double (*run)(Team&, int64_t calls);
    int64_t calls = 1;
    std::vector<double> us{};
  } forms[] = {{"for", run_for}, {"parallel", run_parallel}, {"copse", run_copse}};
  for (Form& form : forms) {
    double took;
    while ((took = form.run(team, form.calls)) < kBatchSeconds / 4) form.calls *= 4;
    form.calls = std::max<int64_t>(1, int64_t(double(form.calls) * kBatchSeconds / took));
  }
  for (int b = 0; b < kBatches; ++b) {
    for (Form& form : forms) form.us.push_back(form.run(team, form.calls) / double(form.calls) * 1e6);
  }
  std::printf("%s,%d,%zu", kRuntime, team.threads, team.n * 8);
  for (Form& form : forms) {
    std::sort(form.us.begin(), form.us.end());
    std::printf(",%.4f,%.4f", form.us.front(), form.us[form.us.size() / 2]);
  }
  const auto ratio = [&](size_t at) { return std::min(forms[0].us[at], forms[1].us[at]) / forms[2].us[at]; };
  std::printf(",%.2f,%.2f\n", ratio(0), ratio(kBatches / 2));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> team_sizes;
  for (int i = 1; i < argc; ++i) team_sizes.push_back(std::atoi(argv[i]));
  if (team_sizes.empty()) team_sizes = {2, 8};
  if (*std::min_element(team_sizes.begin(), team_sizes.end()) < 1) {
    std::fprintf(stderr, "openmp_allreduce: not a number of threads; usage: %s [threads ...], e.g. 2 8\n", argv[0]);
    return 2;
  }
  omp_set_dynamic(0);
  std::printf(
      "runtime,threads,bytes,for_min,for_median,parallel_min,parallel_median,copse_min,copse_median,"
      "ratio_min,ratio_median\n");
  for (const int threads : team_sizes) {
    std::vector<copse_comm*> comms(size_t(threads), nullptr);
    copse_meeting* meeting = nullptr;
    if (const copse_status status = copse_meeting_create(threads, &meeting); status != COPSE_OK) {
      fail("no meeting", copse_status_text(status));
    }
#pragma omp parallel num_threads(threads)
    {
      const int me = omp_get_thread_num();
      const copse_status status = copse_comm_create_threads(meeting, me, &comms[size_t(me)]);
      if (status != COPSE_OK) fail(copse_status_text(status), copse_comm_message(nullptr));
    }
    copse_meeting_free(meeting);
    for (const size_t n : {1, 8, 64, 512, 4096, 32768, 131072}) {  // 8 B to 1 MiB
      Team team{threads, n, {}, {}, comms};
      for (int t = 0; t < threads; ++t) {
        team.operands.emplace_back(n);
        team.outputs.emplace_back(n);
        for (size_t i = 0; i < n; ++i) team.operands.back()[i] = double(size_t(t + 1) * (i % 1021 + 1));
      }
      compare(team);
    }
#pragma omp parallel num_threads(threads)
    copse_comm_free(comms[size_t(omp_get_thread_num())]);
  }
  return 0;
}
