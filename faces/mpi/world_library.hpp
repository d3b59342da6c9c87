// The library that stands before Copse's and the MPI, for programs that do not have all ranks of MPI_COMM_WORLD
// (docs/decisions/out-of-world.md). Where the program names MPI_COMM_WORLD, the MPI gets the communicator that stands for it.
#pragma once

#include <atomic>
#include "world_view.hpp"

namespace copse::mpi {

// Returns null if Copse's library does not stand behind this one. Then every call goes on as it is.
[[nodiscard]] const WorldView* world_view();

// See WorldCaller.
extern thread_local const void* last_caller;

// A function behind this library: Copse's, another tool's, or the MPI's. It is looked up when it is first needed.
class Behind {
 public:
  explicit constexpr Behind(const char* name) : name_(name) {}
  // Returns null if there is no such function, and says so. `caller` is an address in the object that calls it.
  [[nodiscard]] void* at(const void* caller) {
    void* const found = found_.load(std::memory_order_relaxed);
    return found != nullptr ? found : look(caller);
  }

 private:
  void* look(const void* caller);

  const char* name_;
  std::atomic<void*> found_{nullptr};
};

// Returns what the MPI gets where `caller` gives this communicator.
[[nodiscard]] inline Raw for_mpi(Raw comm, const void* caller) {
  const WorldView* const view = world_view();
  const Raw stands_in = view == nullptr ? 0 : view->stands_in.load(std::memory_order_relaxed);
  const bool is_world = stands_in != 0 && handle<MPI_Comm>(comm) == handle<MPI_Comm>(view->mpis);
  return is_world && !view->is_in_mpi(caller) ? stands_in : comm;
}

// Calls the function with these arguments as they are.
template <class... Arguments>
int call(Behind& behind, const void* caller, Arguments... arguments) {
  void* const function = behind.at(caller);
  return function == nullptr ? MPI_ERR_OTHER : reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

// Defines MPI_Name and PMPI_Name with one body; `name` is what stands behind `MPI`. mpi.h declares the same symbols with the handle
// types of one MPI. In the body, `behind` is the function of the same name behind this library, and `caller` an address in the
// object that has called.
#define COPSE_STANDS_BEFORE(name, parameters, ...)                              \
  COPSE_STANDS_BEFORE_ONE("MPI" #name, exported##name, parameters, __VA_ARGS__) \
  COPSE_STANDS_BEFORE_ONE("PMPI" #name, exported_P##name, parameters, __VA_ARGS__)
#define COPSE_STANDS_BEFORE_ONE(symbol, function, parameters, ...)            \
  int function parameters asm(symbol) __attribute__((visibility("default"))); \
  int function parameters {                                                   \
    static constinit Behind behind(symbol);                                   \
    const void* const caller = last_caller = __builtin_return_address(0);     \
    __VA_ARGS__                                                               \
  }

}  // namespace copse::mpi
