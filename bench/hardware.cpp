// copse-hardware: measures what the bare machine can do, as a yardstick for the collectives.
//
// A team of processes (fork; one shared memfd) makes each exchange by hand, without a library: flags, one copy, one
// vector add. Two pinned processes give the lower bounds. More processes than processors give the price of each way of
// waiting. The exchanges run in interleaved batches (A B C ... A B C ...), so that a disturbance affects all of them. A
// batch's time is that of its slowest process. Output is CSV: minimum and median over batches, in microseconds per
// call.
//
// `against` also measures Copse in the same run, through its C interface, with threads as ranks.
//
// warm: the same buffers in every call. cold: each call takes the next buffer of a ring larger than twice the L3.
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "copse/copse.h"

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "copse-hardware: %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

// Each line has one writer and lies a pair of cache lines from the next. A small payload is in the line of its flag.
struct alignas(128) Line {
  std::atomic<uint64_t> flag{0};
  std::atomic<double> payload{0};
  std::atomic<uint32_t> word{0};      // the word on which futex waiters sleep
  std::atomic<uint32_t> sleepers{0};  // how many waiters sleep
};

struct Arena {
  char* base;
  size_t size;
  size_t used = 0;

  explicit Arena(size_t bytes) : size(bytes) {
    const int fd = memfd_create("copse-hardware", 0);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) fail("cannot create shared memory");
    void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) fail("cannot map shared memory");
    close(fd);
    base = static_cast<char*>(map);
  }
  ~Arena() { munmap(base, size); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  char* take(size_t bytes, size_t align = 4096) {
    used = (used + align - 1) / align * align;
    if (used + bytes > size) {
      errno = ENOMEM;
      fail("arena too small");
    }
    char* place = base + used;
    used += bytes;
    return place;
  }
  Line* lines(size_t count) {
    auto* first = reinterpret_cast<Line*>(take(count * sizeof(Line)));
    for (size_t i = 0; i < count; ++i) new (first + i) Line;
    return first;
  }
};

// ---- ways of waiting ----
enum class Wait { kSpin, kPause, kYield, kPauseYield, kFutex };
constexpr const char* kWaitNames[] = {"spin", "pause", "yield", "pause20-yield", "futex"};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

void futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

void set_flag(Line& line, uint64_t value, Wait wait) {
  if (wait != Wait::kFutex) {
    line.flag.store(value, std::memory_order_release);  // pairs with the acquire in await_flag
    return;
  }
  line.flag.store(value, std::memory_order_release);
  line.word.store(static_cast<uint32_t>(value), std::memory_order_seq_cst);  // pairs with sleepers++ and the second read
  if (line.sleepers.load(std::memory_order_seq_cst) != 0) futex(line.word, FUTEX_WAKE, INT32_MAX);
}

void await_flag(Line& line, uint64_t value, Wait wait) {
  const auto ready = [&] { return line.flag.load(std::memory_order_acquire) >= value; };
  if (ready()) return;
  switch (wait) {
    case Wait::kSpin:
      while (!ready()) {
      }
      return;
    case Wait::kPause:
      while (!ready()) pause();
      return;
    case Wait::kYield:
      while (!ready()) sched_yield();
      return;
    case Wait::kPauseYield:
      for (int i = 0; i < 20 && !ready(); ++i) pause();
      while (!ready()) sched_yield();
      return;
    case Wait::kFutex:
      for (int i = 0; i < 20 && !ready(); ++i) pause();
      while (!ready()) {
        line.sleepers.fetch_add(1, std::memory_order_seq_cst);
        const uint32_t seen = line.word.load(std::memory_order_seq_cst);
        if (static_cast<int32_t>(static_cast<uint32_t>(value) - seen) > 0) futex(line.word, FUTEX_WAIT, seen);
        line.sleepers.fetch_sub(1, std::memory_order_relaxed);
      }
      return;
  }
}

// ---- the team and its batches ----
struct Exchange {
  std::string operation, mode, variant;
  size_t bytes;
  std::function<double(int rank, int64_t calls)> run;  // returns the seconds that this rank counts
};

template <typename Body>
double timed(int64_t calls, Body&& body) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) fail("cannot bind to a processor");
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) fail("cannot read the affinity mask");
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

enum class Members { kProcesses, kThreads };

// Runs every exchange with `ranks` members and prints CSV rows. If `bound`, binds the members to processors (round
// robin).
void run_team(Arena& arena, int ranks, bool bound, std::vector<Exchange>& exchanges, int batches, double batch_seconds,
              pid_t* pids = nullptr, Members members = Members::kProcesses) {
  const std::vector<int> cpus = allowed_cpus();
  Line* gate = arena.lines(static_cast<size_t>(ranks) + 1);
  auto* seconds = reinterpret_cast<double*>(arena.take(sizeof(double) * static_cast<size_t>(ranks)));
  auto* calls = reinterpret_cast<std::atomic<int64_t>*>(arena.take(sizeof(int64_t) * exchanges.size()));
  std::vector<std::vector<double>> results(exchanges.size());

  const auto member = [&](int rank) {
    if (bound) pin(cpus[static_cast<size_t>(rank) % cpus.size()]);
    if (pids) pids[rank] = getpid();  // published by the first meeting
    std::vector<Exchange> mine = exchanges;  // each has its own counters, in threads as in processes
    uint64_t passed = 0;
    const auto meet = [&] {
      ++passed;
      set_flag(gate[rank], passed, Wait::kYield);
      for (int peer = 0; peer < ranks; ++peer) await_flag(gate[peer], passed, Wait::kYield);
    };
    const auto batch = [&](Exchange& exchange, int64_t n) {
      meet();
      seconds[rank] = exchange.run(rank, n);
      meet();
      return *std::max_element(seconds, seconds + ranks);
    };
    for (size_t e = 0; e < exchanges.size(); ++e) {
      for (int64_t n = 1;; n *= 4) {  // every rank reads the same times, so all stop together
        const double took = batch(mine[e], n);
        meet();
        if (took > batch_seconds / 5) {
          if (rank == 0) calls[e] = std::max<int64_t>(1, static_cast<int64_t>(batch_seconds / took * double(n)));
          break;
        }
      }
    }
    meet();
    for (int b = 0; b < batches; ++b) {
      for (size_t e = 0; e < exchanges.size(); ++e) {
        const double took = batch(mine[e], calls[e]);
        if (rank == 0) results[e].push_back(took / double(calls[e]) * 1e6);
      }
    }
  };

  std::fflush(stdout);
  std::vector<pid_t> children;
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks; ++rank) {
    if (members == Members::kThreads) {
      threads.emplace_back(member, rank);
      continue;
    }
    const pid_t pid = fork();
    if (pid < 0) fail("cannot fork");
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      member(rank);
      std::_Exit(0);
    }
    children.push_back(pid);
  }
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  member(0);
  sched_setaffinity(0, sizeof before, &before);
  for (std::thread& thread : threads) thread.join();
  for (const pid_t pid : children) {
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0) fail("a member of the team failed");
  }
  for (size_t e = 0; e < exchanges.size(); ++e) {
    auto& r = results[e];
    std::sort(r.begin(), r.end());
    std::printf("%s,%zu,%s,%s,%d,%s,%.4f,%.4f,%zu\n", exchanges[e].operation.c_str(), exchanges[e].bytes, exchanges[e].mode.c_str(),
                exchanges[e].variant.c_str(), ranks, bound ? "bound" : "free", r.front(), r[r.size() / 2], r.size());
  }
  std::fflush(stdout);
}

// ---- two processes: the lower bounds ----

// A ring of buffers for each rank. Warm calls use the first buffer, cold calls the next one each time.
struct Ring {
  char* base;
  size_t stride, count;
  size_t at = 0;
  char* next(bool cold) { return base + (cold ? (at = (at + 1) % count) * stride : 0); }
};
using Rings = std::array<Ring, 2>;

// Stores a + b in `out_a` and `out_b`. This is the one addition that a direct allreduce of two ranks cannot avoid.
void add_for_both(double* __restrict out_a, double* __restrict out_b, const double* a, const double* b, size_t n) {
  for (size_t i = 0; i < n; ++i) out_a[i] = out_b[i] = a[i] + b[i];
}

void add_to(double* __restrict out, const double* a, const double* b, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

void small_exchanges(Arena& arena, std::vector<Exchange>& out) {
  for (const Wait wait : {Wait::kSpin, Wait::kPause}) {
    Line* line = arena.lines(2);
    out.push_back({"barrier", "warm", kWaitNames[int(wait)], 0, [=, seq = uint64_t{0}](int me, int64_t n) mutable {
                     return timed(n, [&] {
                       set_flag(line[me], ++seq, wait);
                       await_flag(line[1 - me], seq, wait);
                     });
                   }});
    Line* slot = arena.lines(4);  // two per rank: call n + 1 never overwrites what the peer still reads
    out.push_back({"allreduce", "warm", kWaitNames[int(wait)], 8, [=, seq = uint64_t{0}](int me, int64_t n) mutable {
                     double value = me;
                     return timed(n, [&] {
                       Line& mine = slot[2 * me + int(++seq & 1)];
                       Line& theirs = slot[2 * (1 - me) + int(seq & 1)];
                       mine.payload.store(value, std::memory_order_relaxed);
                       set_flag(mine, seq, wait);
                       await_flag(theirs, seq, wait);
                       value = (value + theirs.payload.load(std::memory_order_relaxed)) * 0.5;
                     });
                   }});
  }
  for (const uint64_t slots : {4, 16, 64, 512}) {
    Line* slot = arena.lines(slots);
    Line* acknowledged = arena.lines(1);
    out.push_back(
        {"bcast", "warm", "slots" + std::to_string(slots), 8, [=, seq = uint64_t{0}, value = 0.0](int me, int64_t n) mutable {
           return timed(n, [&] {
             Line& line = slot[seq++ % slots];
             if (me == 0) {
               if (seq > slots) await_flag(*acknowledged, seq - slots, Wait::kSpin);
               line.payload.store(double(seq), std::memory_order_relaxed);
               set_flag(line, seq, Wait::kSpin);
             } else {
               await_flag(line, seq, Wait::kSpin);
               value = line.payload.load(std::memory_order_relaxed);
               if (seq % (slots / 4) == 0) set_flag(*acknowledged, seq, Wait::kSpin);
             }
           });
         }});
  }
}

// Adds Copse in the same places: `call` on the communicator of this rank, which the first batch makes.
void copse_exchange(std::vector<Exchange>& out, const char* operation, const char* mode, size_t bytes,
                    std::function<copse_status(copse_comm*, int rank)> call) {
  copse_meeting* meeting = nullptr;
  if (copse_meeting_create(2, &meeting) != COPSE_OK) fail("cannot make a meeting");
  auto comms = std::make_shared<std::array<copse_comm*, 2>>();
  out.push_back({operation, mode, "copse", bytes, [=](int me, int64_t n) {
                   copse_comm*& comm = (*comms)[size_t(me)];
                   if (comm == nullptr && copse_comm_create_threads(meeting, me, &comm) != COPSE_OK)
                     fail(copse_comm_message(nullptr));
                   return timed(n, [&] {
                     if (call(comm, me) != COPSE_OK) fail(copse_comm_message(comm));
                   });
                 }});
}

void copse_small(std::vector<Exchange>& out) {
  copse_exchange(out, "barrier", "warm", 0, [](copse_comm* comm, int) { return copse_barrier(comm); });
  copse_exchange(out, "allreduce", "warm", 8, [](copse_comm* comm, int me) {
    double value = me, sum = 0;
    return copse_allreduce(comm, &value, &sum, 1, COPSE_DOUBLE, COPSE_SUM);
  });
  copse_exchange(out, "bcast", "warm", 8, [](copse_comm* comm, int me) {
    double value = me;
    return copse_broadcast(comm, &value, sizeof value, 0);
  });
}

void copse_large(std::vector<Exchange>& out, size_t bytes, const Rings& in, const Rings& res) {
  copse_exchange(out, "bcast", "warm", bytes,
                 [=](copse_comm* comm, int me) { return copse_broadcast(comm, me == 0 ? in[0].base : res[1].base, bytes, 0); });
  copse_exchange(out, "allreduce", "warm", bytes, [=](copse_comm* comm, int me) {
    return copse_allreduce(comm, in[size_t(me)].base, res[size_t(me)].base, bytes / 8, COPSE_DOUBLE, COPSE_SUM);
  });
}

void large_exchanges(Arena& arena, std::vector<Exchange>& out, size_t bytes, bool cold, const Rings& whole_in,
                     const Rings& whole_res, const pid_t* pids, bool sweep) {
  const char* mode = cold ? "cold" : "warm";
  const auto add = [&](const char* operation, const std::string& variant, auto body) {
    Line* line = arena.lines(2);
    out.push_back({operation, mode, variant, bytes, [=, seq = uint64_t{0}](int me, int64_t n) mutable {
                     const auto meet = [&] {
                       set_flag(line[me], ++seq, Wait::kSpin);
                       await_flag(line[1 - me], seq, Wait::kSpin);
                     };
                     return timed(n, [&] { body(me, meet); });
                   }});
  };
  const size_t stride = (bytes + 4095) / 4096 * 4096 + 4096;
  const auto cut = [&](const Rings& whole) {
    Rings rings = whole;
    for (Ring& ring : rings) ring = {ring.base, stride, ring.count * ring.stride / stride};
    return rings;
  };
  const Rings in = cut(whole_in), res = cut(whole_res);  // both ranks' operands and results
  const size_t half = bytes / 2;

  if (!cold) {
    out.push_back({"memcpy", mode, "alone", bytes, [=, a = in[0], b = res[1]](int me, int64_t n) mutable {
                     if (me == 0) return 0.0;
                     return timed(n, [&] { std::memcpy(b.base, a.base, bytes); });
                   }});
    // Times only the copy, not the writing: the other core has just written the source.
    Line* line = arena.lines(2);
    out.push_back({"memcpy", mode, "just-written", bytes, [=, a = in[0], b = res[1], seq = uint64_t{0}](int me, int64_t n) mutable {
                     double total = 0;
                     for (int64_t i = 0; i < n; ++i) {
                       if (me == 0) std::memset(a.base, int(i), bytes);
                       set_flag(line[me], ++seq, Wait::kSpin);
                       await_flag(line[1 - me], seq, Wait::kSpin);
                       if (me == 1) total += timed(1, [&] { std::memcpy(b.base, a.base, bytes); });
                       set_flag(line[me], ++seq, Wait::kSpin);
                       await_flag(line[1 - me], seq, Wait::kSpin);
                     }
                     return total;
                   }});
  }
  add("bcast", "direct", [=, a = in[0], b = res[1]](int me, auto& meet) mutable {
    const char* source = a.next(cold);
    char* target = b.next(cold);
    meet();
    if (me == 1) std::memcpy(target, source, bytes);
    meet();
  });
  // Both cores copy: the root pushes one half while the other rank pulls its own.
  add("bcast", "direct-halves", [=, a = in[0], b = res[1]](int me, auto& meet) mutable {
    const char* source = a.next(cold);
    char* target = b.next(cold);
    meet();
    std::memcpy(target + size_t(me) * half, source + size_t(me) * half, half);
    meet();
  });
  add("allreduce", "direct", [=, a = in[0], b = in[1], x = res[0], y = res[1]](int me, auto& meet) mutable {
    const size_t from = size_t(me) * half;
    const auto at = [&](Ring& r) { return reinterpret_cast<double*>(r.next(cold) + from); };
    double *sx = at(x), *sy = at(y), *sa = at(a), *sb = at(b);
    meet();
    add_for_both(sx, sy, sa, sb, half / 8);
    meet();
  });
  add("allreduce", "direct-full",  // each rank reduces everything for itself: no remote writes
      [=, a = in[0], b = in[1], x = res[0], y = res[1]](int me, auto& meet) mutable {
        auto at = [&](Ring& r) { return reinterpret_cast<double*>(r.next(cold)); };
        double *sx = at(x), *sy = at(y), *sa = at(a), *sb = at(b);
        meet();
        add_to(me == 0 ? sx : sy, sa, sb, bytes / 8);
        meet();
      });
  for (const bool both : {false, true}) {
    add("bcast", both ? "kernel-halves" : "kernel", [=, a = in[0], b = res[1]](int me, auto& meet) mutable {
      char* source = a.next(cold);
      char* target = b.next(cold);
      const size_t from = both ? size_t(me) * half : 0, length = both ? half : bytes;
      iovec s{source + from, length}, t{target + from, length};
      meet();
      if (me == 1 && process_vm_readv(pids[0], &t, 1, &s, 1, 0) != ssize_t(length)) fail("process_vm_readv");
      if (me == 0 && both && process_vm_writev(pids[1], &s, 1, &t, 1, 0) != ssize_t(length)) fail("process_vm_writev");
      meet();
    });
  }
  if (!sweep) return;

  // Copies twice, through a ring of slots. Both sides work at the same time.
  for (const size_t fragment : {4, 8, 16, 32, 64, 128}) {
    for (const size_t slots : {2, 4, 8}) {
      const size_t size = fragment * 1024;
      if (size > bytes) continue;
      const std::string variant = std::to_string(fragment) + "KiBx" + std::to_string(slots);
      const size_t fragments = bytes / size;
      {
        char* stage = arena.take(slots * size);
        Line* line = arena.lines(2);  // filled, drained
        out.push_back(
            {"bcast", mode, "staged-" + variant, bytes, [=, a = in[0], b = res[1], seq = uint64_t{0}](int me, int64_t n) mutable {
               return timed(n, [&] {
                 char* user = (me == 0 ? a : b).next(cold);
                 for (size_t f = 0; f < fragments; ++f) {
                   char* slot = stage + seq++ % slots * size;
                   if (me == 0) {
                     if (seq > slots) await_flag(line[1], seq - slots, Wait::kSpin);
                     std::memcpy(slot, user + f * size, size);
                   } else {
                     await_flag(line[0], seq, Wait::kSpin);
                     std::memcpy(user + f * size, slot, size);
                   }
                   set_flag(line[me], seq, Wait::kSpin);
                 }
               });
             }});
      }
      // A staged allreduce in which each rank adds everything: it copies in, then adds its own data and the peer's
      // slot. With halves, it gives the peer its half, adds its own half into both places, and fetches the other half.
      for (const bool halves : {false, true}) {
        if (halves && slots < 4) continue;  // three fragments are under way at a time
        const size_t piece = halves ? size / 2 : size;
        const size_t pieces = halves ? 2 : 1;  // what each rank stages for a fragment
        char* stage = arena.take(2 * pieces * slots * piece);
        Line* line = arena.lines(6);  // filled, summed and drained, for each rank
        out.push_back({"allreduce", mode, (halves ? "staged-halves-" : "staged-full-") + variant, bytes,
                       [=, in = in, out = res, seq = uint64_t{0}](int me, int64_t n) mutable {
                         return timed(n, [&] {
                           const size_t my = size_t(me), peer = 1 - my;
                           char* from = in[my].next(cold);
                           char* to = out[my].next(cold);
                           const auto place = [&](size_t rank, uint64_t s, size_t part) {
                             return stage + ((rank * slots + (s - 1) % slots) * pieces + part) * piece;
                           };
                           const auto fill = [&](size_t f) {
                             const uint64_t s = seq + f + 1;
                             if (s > slots) await_flag(line[4 + peer], s - slots, Wait::kSpin);
                             std::memcpy(place(my, s, 0), from + f * size + (halves ? peer * piece : 0), piece);
                             set_flag(line[my], s, Wait::kSpin);
                           };
                           const auto sum = [&](size_t f) {
                             const uint64_t s = seq + f + 1;
                             const size_t at = f * size + (halves ? my * piece : 0);
                             const auto* a = reinterpret_cast<const double*>(from + at);
                             const auto* b = reinterpret_cast<const double*>(place(peer, s, 0));
                             auto* own = reinterpret_cast<double*>(to + at);
                             await_flag(line[peer], s, Wait::kSpin);
                             if (halves) {
                               add_for_both(own, reinterpret_cast<double*>(place(my, s, 1)), a, b, piece / 8);
                             } else {
                               add_to(own, a, b, piece / 8);
                             }
                             set_flag(line[(halves ? 2 : 4) + my], s, Wait::kSpin);
                           };
                           const auto fetch = [&](size_t f) {
                             const uint64_t s = seq + f + 1;
                             await_flag(line[2 + peer], s, Wait::kSpin);
                             std::memcpy(to + f * size + peer * piece, place(peer, s, 1), piece);
                             set_flag(line[4 + my], s, Wait::kSpin);
                           };
                           fill(0);
                           for (size_t f = 0; f < fragments; ++f) {
                             if (f + 1 < fragments) fill(f + 1);
                             sum(f);
                             if (halves && f > 0) fetch(f - 1);
                           }
                           if (halves) fetch(fragments - 1);
                           seq += fragments;
                         });
                       }});
      }
    }
  }
}

// ---- more processes than processors: the price of waiting ----
void crowded_exchanges(Arena& arena, std::vector<Exchange>& out, int ranks) {
  for (const Wait wait : {Wait::kYield, Wait::kPauseYield, Wait::kFutex, Wait::kPause}) {
    if (wait == Wait::kPause && ranks > 4) continue;  // hopeless: it takes a time slice a round
    const std::string name = kWaitNames[int(wait)];
    Line* line = arena.lines(size_t(ranks));
    out.push_back({"exchange", "warm", "flat-" + name, 0, [=, seq = uint64_t{0}](int me, int64_t n) mutable {
                     return timed(n, [&] {
                       set_flag(line[me], ++seq, wait);
                       for (int peer = 0; peer < ranks; ++peer) await_flag(line[peer], seq, wait);
                     });
                   }});
    // Gathers at rank 0. One flag releases all ranks, so one wake-up serves everybody.
    Line* tree = arena.lines(size_t(ranks));
    out.push_back({"exchange", "warm", "gather-release-" + name, 0, [=, seq = uint64_t{0}](int me, int64_t n) mutable {
                     return timed(n, [&] {
                       ++seq;
                       if (me == 0) {
                         for (int peer = 1; peer < ranks; ++peer) await_flag(tree[peer], seq, wait);
                       }
                       set_flag(tree[me], seq, wait);
                       if (me != 0) await_flag(tree[0], seq, wait);
                     });
                   }});
    // One counter with an atomic add. The last rank to arrive releases all.
    Line* counter = arena.lines(2);
    out.push_back({"exchange", "warm", "counter-" + name, 0, [=, seq = uint64_t{0}](int, int64_t n) mutable {
                     return timed(n, [&] {
                       ++seq;
                       const uint64_t arrived = counter[0].flag.fetch_add(1, std::memory_order_acq_rel) + 1;
                       if (arrived == seq * uint64_t(ranks)) {
                         set_flag(counter[1], seq, wait);
                       } else {
                         await_flag(counter[1], seq, wait);
                       }
                     });
                   }});
    // In a broadcast the root runs ahead as far as its slots allow. In a reduce the leaves do.
    for (const uint64_t slots : {8, 64, 512}) {
      Line* slot = arena.lines(slots);
      Line* done = arena.lines(size_t(ranks));
      out.push_back({"bcast", "warm", "slots" + std::to_string(slots) + "-" + name, 8,
                     [=, seq = uint64_t{0}, value = 0.0](int me, int64_t n) mutable {
                       return timed(n, [&] {
                         Line& next = slot[seq++ % slots];
                         if (me == 0) {
                           if (seq > slots && seq % (slots / 2) == 1) {
                             for (int peer = 1; peer < ranks; ++peer) await_flag(done[peer], seq - slots / 2 - 1, wait);
                           }
                           next.payload.store(double(seq), std::memory_order_relaxed);
                           set_flag(next, seq, wait);
                         } else {
                           await_flag(next, seq, wait);
                           value = next.payload.load(std::memory_order_relaxed);
                           if (seq % (slots / 2) == 0) set_flag(done[me], seq, wait);
                         }
                       });
                     }});
      Line* box = arena.lines(slots * size_t(ranks));
      Line* read = arena.lines(1);
      out.push_back({"reduce", "warm", "slots" + std::to_string(slots) + "-" + name, 8,
                     [=, seq = uint64_t{0}, value = 0.0](int me, int64_t n) mutable {
                       return timed(n, [&] {
                         Line* row = box + seq++ % slots * uint64_t(ranks);
                         if (me == 0) {
                           for (int peer = 1; peer < ranks; ++peer) {
                             await_flag(row[peer], seq, wait);
                             value += row[peer].payload.load(std::memory_order_relaxed);
                           }
                           if (seq % (slots / 2) == 0) set_flag(*read, seq, wait);
                         } else {
                           if (seq > slots && seq % (slots / 2) == 1) await_flag(*read, seq - slots / 2 - 1, wait);
                           row[me].payload.store(double(seq), std::memory_order_relaxed);
                           set_flag(row[me], seq, wait);
                         }
                       });
                     }});
    }
  }
}

size_t l3_bytes() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? size_t(bytes) : size_t{32} << 20;
}

}  // namespace

int main(int argc, char** argv) {
  int batches = 15;
  double batch_seconds = 0.01;
  bool small = false, large = false, sweep = false, crowded = false, against = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "small") {
      small = true;
    } else if (word == "large") {
      large = true;
    } else if (word == "sweep") {
      large = sweep = true;
    } else if (word == "crowded") {
      crowded = true;
    } else if (word == "against") {
      against = true;
    } else if (word == "--batches" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      batches = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr,
                   "copse-hardware: unknown word '%s'\n"
                   "usage: copse-hardware [small] [large] [sweep] [crowded] [against] [--batches N]\n"
                   "  small    barrier and 8-byte exchanges of two processes   (default: small and large)\n"
                   "  large    one copy, one add, direct and by the kernel, 16 KiB to 4 MiB\n"
                   "  sweep    large, and double copies over fragment size and number of slots\n"
                   "  against  small and large with threads, and Copse beside them\n"
                   "  crowded  2 to 16 processes: the price of each way of waiting\n",
                   argv[i]);
      return 2;
    }
  }
  if (!small && !large && !crowded) small = large = true;
  const Members members = against ? Members::kThreads : Members::kProcesses;
  std::printf("operation,bytes,mode,variant,ranks,binding,min_us,median_us,batches\n");

  if (small || large) {
    if (allowed_cpus().size() < 2) {
      std::fprintf(stderr, "copse-hardware: 'small' and 'large' need two processors; this process may use one\n");
      return 1;
    }
    const size_t ring_bytes = 2 * l3_bytes() / 1024 / 1024 * 1024 * 1024;
    Arena rings(large ? 4 * ring_bytes + 65536 : 4096);
    Rings in{}, res{};
    if (large) {
      for (Ring* ring : {&in[0], &in[1], &res[0], &res[1]}) {
        *ring = {rings.take(ring_bytes), 4096, ring_bytes / 4096};
        std::memset(ring->base, 0, ring_bytes);  // so that the pages exist before anything is timed
      }
    }
    if (small) {
      Arena arena(size_t{1} << 20);
      std::vector<Exchange> exchanges;
      small_exchanges(arena, exchanges);
      if (against) copse_small(exchanges);
      run_team(arena, 2, true, exchanges, batches, batch_seconds, nullptr, members);
    }
    for (size_t bytes = 16 << 10; large && bytes <= 4 << 20; bytes *= 4) {
      for (const bool cold : {false, true}) {
        Arena arena(size_t{64} << 20);
        auto* pids = reinterpret_cast<pid_t*>(arena.take(2 * sizeof(pid_t)));
        std::vector<Exchange> exchanges;
        large_exchanges(arena, exchanges, bytes, cold, in, res, pids, sweep);
        if (against && !cold) copse_large(exchanges, bytes, in, res);
        run_team(arena, 2, true, exchanges, batches, batch_seconds, pids, members);
      }
    }
  }
  for (const int ranks : {2, 4, 8, 16}) {
    for (const bool bound : {true, false}) {
      if (!crowded) break;
      Arena arena(size_t{32} << 20);
      std::vector<Exchange> exchanges;
      crowded_exchanges(arena, exchanges, ranks);
      run_team(arena, ranks, bound, exchanges, batches, 2 * batch_seconds);
    }
  }
  return 0;
}
