// Runs UPC threads in tests: threads of this process, processes, or threads in several processes.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "copse/upc.h"

namespace copse::test {

enum class Kind { threads, processes, mixed };
inline const char *name_of(Kind kind) {
  return kind == Kind::threads ? "threads" : kind == Kind::processes ? "processes" : "mixed";
}

struct Variable {  // it is set while this object lives
  const char *name;
  Variable(const char *variable, const std::string &value) : name(variable) { setenv(variable, value.c_str(), 1); }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;
  ~Variable() { unsetenv(name); }
};

inline std::function<std::string()> upc_body;

// Runs `body` on every UPC thread. Returns 0 if no thread complains; a complaint goes to stderr and gives 1.
inline int run_upc(Kind kind, int threads, const std::function<std::string()> &body, const char *heap = "8M") {
  const int processes = kind == Kind::threads ? 1 : kind == Kind::processes ? threads : (threads + 1) / 2;
  const Variable number("COPSE_UPC_THREADS", std::to_string(threads)), divided("COPSE_UPC_PROCESSES", std::to_string(processes)),
      bytes("COPSE_UPC_HEAP", heap);
  upc_body = body;
  return copse_upc_run(0, nullptr, [](int, char **) {
    const std::string wrong = upc_body();
    if (wrong.empty()) return 0;
    std::fprintf(stderr, "UPC thread %d of %d: %s\n", MYTHREAD, THREADS, wrong.c_str());
    return 1;
  });
}

// Returns the next thread, which looks after the data of this one in tests: so that a call must wait for others' accesses.
inline int after(int thread, int steps = 1) { return (thread + steps) % THREADS; }

template <class T>
T &at(int thread, std::size_t address) {
  return *static_cast<T *>(upc_cast(upc_shared{address, 0, thread}));
}

}  // namespace copse::test
