// Measures an allocator; this is not a test. bench/heap.py runs it bare (glibc), with LD_PRELOAD=libmimalloc.so.2, and
// with the shared heap. Each time it prints the same figures, one per line: times (best of seven batches), and memory
// in use.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace {

void report(const char* what, const char* unit, double per, const std::function<void()>& body) {
  double best = 1e300;
  for (int batch = 0; batch < 7; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  printf("%-52s %9.2f %s\n", what, best / per * 1e9, unit);
}

double resident_mib() {
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == nullptr || fscanf(file, "%*d %ld", &pages) != 1) pages = -1;
  if (file != nullptr) fclose(file);
  return static_cast<double>(pages) * 4096 / (1 << 20);
}

// For `count` blocks of random sizes, reports the memory that they take per MiB asked for, and what is left after the
// free.
void report_memory(const char* what, size_t count, size_t largest) {
  std::mt19937 random(7);
  std::vector<char*> blocks(count);
  const double before = resident_mib();
  double asked = 0;
  for (char*& block : blocks) {
    const size_t bytes = 1 + random() % largest;
    asked += static_cast<double>(bytes) / (1 << 20);
    block = static_cast<char*>(malloc(bytes));
    memset(block, 1, bytes);
  }
  const double live = resident_mib() - before;
  for (char* block : blocks) free(block);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // some allocators keep memory for a moment
  free(malloc(size_t{64} << 20));
  printf("%-52s %9.3f MiB\n", what, live / asked);
  printf("%-52s %9.3f MiB\n", "  and of it left when they are freed", (resident_mib() - before) / asked);
}

void churn(unsigned seed, size_t operations, size_t largest) {
  std::mt19937 random(seed);
  std::vector<char*> live(1000);
  for (size_t i = 0; i < operations; ++i) {
    char*& slot = live[random() % live.size()];
    free(slot);
    slot = static_cast<char*>(malloc(1 + random() % largest));
    slot[0] = 1;
  }
  for (char* p : live) free(p);
}

}  // namespace

int main() {
  constexpr size_t kMany = 1000000;
  constexpr size_t kLarge = size_t{64} << 20;
  // One block stays, as in any real program: mimalloc retires a page at each free that leaves it empty.
  void* const one = malloc(64);
  report("malloc and free of 64 B", "ns", kMany, [] {
    for (size_t i = 0; i < kMany; ++i) {
      void* p = malloc(64);
      asm volatile("" : : "r"(p) : "memory");
      free(p);
    }
  });
  report("random sizes to 1 KiB, 1000 live", "ns", kMany, [] { churn(1, kMany, 1024); });
  report("random sizes to 64 KiB, 1000 live", "ns", kMany / 10, [] { churn(1, kMany / 10, 65536); });
  report("the same to 1 KiB, 8 threads, per operation", "ns", 8.0 * kMany / 4, [] {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 8; ++t) threads.emplace_back([t] { churn(t, kMany / 4, 1024); });
    for (auto& thread : threads) thread.join();
  });
  report("malloc, touch and free of 1 MiB", "ns per 4 KiB", 100 * 256.0, [] {
    for (int i = 0; i < 100; ++i) {
      char* p = static_cast<char*>(malloc(size_t{1} << 20));
      memset(p, 1, size_t{1} << 20);
      free(p);
    }
  });
  report("malloc, first touch and free of 64 MiB", "ns per 4 KiB", kLarge / 4096.0, [] {
    char* p = static_cast<char*>(malloc(kLarge));
    for (size_t i = 0; i < kLarge; i += 4096) p[i] = 1;
    free(p);
  });
  char* from = static_cast<char*>(malloc(kLarge));
  char* to = static_cast<char*>(malloc(kLarge));
  memset(from, 1, kLarge);
  memset(to, 1, kLarge);
  report("copy of 64 MiB, touched", "ns per 4 KiB", kLarge / 4096.0, [&] { memcpy(to, from, kLarge); });
  report("realloc from 4 KiB to 64 MiB in steps of a half", "us", 1000, [] {
    char* p = nullptr;
    for (size_t n = 4096; n < kLarge; n = n * 3 / 2) p = static_cast<char*>(realloc(p, n));
    free(p);
  });
  free(one);
  free(from);
  free(to);
  report_memory("1,000,000 blocks to 1 KiB, per MiB asked for", 1000000, 1024);
}
