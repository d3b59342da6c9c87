// Runs UPC threads in tests: threads of this process, processes, or threads in several processes. If an MPI has started the test,
// they are threads of its processes, and maybe on several nodes.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "copse/upc.h"

namespace copse::test {

enum class Kind { threads, processes, mixed, launched };
inline const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"threads", "processes", "mixed", "launched"};
  return kNames[static_cast<int>(kind)];
}
// The number of processes that an MPI has started; 0: none has (tests/mpi/test_upc.py).
inline int launched() {
  const char* const ranks = std::getenv("TEST_LAUNCHED");
  return ranks == nullptr ? 0 : std::atoi(ranks);
}
inline std::vector<Kind> kinds() {
  if (launched() > 0) return {Kind::launched};
  return {Kind::threads, Kind::processes, Kind::mixed};
}

struct Variable {  // it is set while this object lives
  const char* name;
  Variable(const char* variable, const std::string& value) : name(variable) { setenv(variable, value.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name); }
};

inline std::function<std::string()> upc_body;

// Runs `body` on every UPC thread. Returns 0 if no thread complains; a complaint goes to stderr and gives 1.
inline int run_upc(Kind kind, int threads, const std::function<std::string()>& body, const char* heap = "8M") {
  if (threads < launched()) return 0;  // each process has a thread
  const int processes = kind == Kind::processes ? threads : kind == Kind::mixed ? (threads + 1) / 2 : 1;
  const Variable number("COPSE_UPC_THREADS", std::to_string(threads)), divided("COPSE_UPC_PROCESSES", std::to_string(processes)),
      bytes("COPSE_UPC_HEAP", heap);
  upc_body = body;
  return copse_upc_run(0, nullptr, [](int, char**) {
    const std::string wrong = upc_body();
    if (wrong.empty()) return 0;
    std::fprintf(stderr, "UPC thread %d of %d: %s\n", MYTHREAD, THREADS, wrong.c_str());
    return 1;
  });
}

// Expects that `body` finds nothing wrong on many threads. Without TEST_SWEEP=full, one number of them must do.
inline void expect_right_on_many_threads(Kind kind, const std::function<std::string()>& body) {
#if defined(__SANITIZE_THREAD__)
  constexpr int kMany = 10;  // more take minutes
#else
  constexpr int kMany = 16;
#endif
  const int most = std::getenv("TEST_SWEEP") != nullptr ? 2 * kMany : kMany;
  for (int threads = kMany; threads <= most; threads *= 2) EXPECT_EQ(run_upc(kind, threads, body), 0) << threads << " threads";
}

// Returns the thread that is so many steps behind this one.
inline int after(int thread, int steps = 1) { return (thread + steps) % THREADS; }

// An object in the memory of any thread.
template <class T>
class Shared {
 public:
  explicit Shared(upc_shared at) : at_(at) {}
  operator T() const {  // NOLINT: it stands for the object
    T value;
    upc_memget(&value, at_, sizeof value);
    return value;
  }
  const Shared& operator=(const T& value) const {
    upc_memput(at_, &value, sizeof value);
    return *this;
  }

 private:
  upc_shared at_;
};

template <class T>
Shared<T> at(int thread, std::size_t address) {
  return Shared<T>(upc_shared{address, 0, thread});
}
template <class T>
Shared<T> element_of(upc_shared array, std::ptrdiff_t i, std::size_t block = 1) {
  return Shared<T>(upc_add(array, i, sizeof(T), block));
}
inline std::vector<unsigned char> bytes_at(int thread, std::size_t address, std::size_t bytes) {
  std::vector<unsigned char> result(bytes);
  upc_memget(result.data(), upc_shared{address, 0, thread}, bytes);
  return result;
}
inline void fill(int thread, std::size_t address, unsigned char byte, std::size_t bytes) {
  upc_memset(upc_shared{address, 0, thread}, byte, bytes);
}

// What a synchronisation mode allows, and no more (UPC 1.3). With ALLSYNC, a thread writes another's data before a call and
// reads another's results after it, without a barrier. With MYSYNC it does so with its own. With NOSYNC there are barriers.
constexpr upc_flag_t kModes[] = {0,
                                 UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC,
                                 UPC_IN_ALLSYNC | UPC_OUT_MYSYNC,
                                 UPC_IN_ALLSYNC | UPC_OUT_NOSYNC,
                                 UPC_IN_MYSYNC | UPC_OUT_ALLSYNC,
                                 UPC_IN_MYSYNC | UPC_OUT_MYSYNC,
                                 UPC_IN_MYSYNC | UPC_OUT_NOSYNC,
                                 UPC_IN_NOSYNC | UPC_OUT_ALLSYNC,
                                 UPC_IN_NOSYNC | UPC_OUT_MYSYNC,
                                 UPC_IN_NOSYNC | UPC_OUT_NOSYNC,
                                 UPC_IN_MYSYNC,
                                 UPC_OUT_NOSYNC};
// Returns the thread whose data this one writes before a call with these flags, or reads after it.
inline int written_by_me(upc_flag_t flags) { return (flags & UPC_IN_MYSYNC) != 0 ? MYTHREAD : after(MYTHREAD); }
inline int read_by_me(upc_flag_t flags) { return (flags & UPC_OUT_MYSYNC) != 0 ? MYTHREAD : after(MYTHREAD, THREADS - 1); }
inline void enter(upc_flag_t flags) {
  if ((flags & UPC_IN_NOSYNC) != 0) upc_barrier();
}
inline void leave(upc_flag_t flags) {
  if ((flags & UPC_OUT_NOSYNC) != 0) upc_barrier();
}

}  // namespace copse::test
