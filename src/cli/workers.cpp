// Runs tasks on threads, with a progress line on standard error.
#include "cli/workers.hpp"

#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace copse::cli {
namespace {

int processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

class Runner {
 public:
  explicit Runner(const Tasks& tasks) : tasks_(tasks) {}

  std::string run() {
    const int count = tasks_.threads > 0 ? tasks_.threads : processors();
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
    watch();
    for (auto& thread : threads) thread.join();
    return failed_;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (next_ < tasks_.count) {
      const std::size_t task = next_++;
      lock.unlock();
      std::string failed = tasks_.run(task);
      lock.lock();
      if (failed_.empty()) failed_ = std::move(failed);
      if (++done_ == tasks_.count) finished_.notify_all();
    }
  }

  // Prints a progress line: on a terminal twice a second, otherwise every 30 seconds.
  void watch() {
    using Clock = std::chrono::steady_clock;
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto pause = std::chrono::milliseconds(terminal ? 500 : 30'000);
    const auto start = Clock::now();
    std::unique_lock lock(mutex_);
    while (!finished_.wait_for(lock, pause, [&] { return done_ == tasks_.count; })) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
      std::fprintf(stderr, "%s%d:%02d  %zu of %zu, at %s%s%s%s", terminal ? "\r" : "", static_cast<int>(seconds / 60),
                   static_cast<int>(seconds % 60), done_, tasks_.count, tasks_.where(std::min(next_, tasks_.count - 1)).c_str(),
                   failed_.empty() ? "" : "; FAILED: ", failed_.c_str(), terminal ? "   " : "\n");
    }
    if (terminal) std::fprintf(stderr, "\r%78s\r", "");
  }

  const Tasks& tasks_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::size_t next_ = 0, done_ = 0;
  std::string failed_;  // the first failure
};

}  // namespace

std::string run(const Tasks& tasks) {
  // Tasks allocate and free much memory. It need not go back to the system each time.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return Runner(tasks).run();
}

}  // namespace copse::cli
