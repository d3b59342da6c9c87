// From an MPI communicator to Copse's: made at the first collective call on it, found again in a few nanoseconds,
// dropped when the MPI drops it.
#pragma once

#include <atomic>
#include <cstdint>

#include "choose/settings.hpp"
#include "state.hpp"

namespace copse::mpi {

// While the MPI frees a communicator, this thread's calls on it are passed on: the program's functions that delete
// attributes may call on it still, when Copse's state is gone on some ranks, and on others is not.
class Freeing {
 public:
  explicit Freeing(MPI_Comm comm);
  ~Freeing();
  Freeing(const Freeing &) = delete;
  Freeing &operator=(const Freeing &) = delete;
  // The MPI has freed it.
  void done();

 private:
  Raw before_;
  CommState *unattached_ = nullptr;
};

// Before MPI_Comm_disconnect, which returns when all communication on the communicator is over (MPI-4.1 11.10.4): waits for
// what this rank has started there. Others may rely on its part, and this rank may make no further call of MPI.
void wait_for_started(MPI_Comm comm);

// Once, after MPI_Init. `settings` must live on; `agreed`: all ranks of the world know them.
void prepare_communicators(const choose::Settings &settings, bool agreed);

namespace detail {
struct Remembered {
  Raw comm = 0;
  std::uint64_t generation = 0;
  CommState *state = nullptr;
};
inline constexpr unsigned kRememberedBits = 4;
extern thread_local Remembered remembered[1u << kRememberedBits];
extern std::atomic<std::uint64_t> generation;  // grows whenever a state dies: what threads remember is void then
CommState &find_or_make(MPI_Comm comm, Remembered &slot, bool may_make);
}  // namespace detail

// Collective over the communicator at its first call; or, if it may not make a state (`may_make`), passing on until another
// call has made one. A handle that is no communicator gives a state that passes on.
inline CommState &state_of(Raw raw, bool may_make = true) {
  const auto comm = handle<MPI_Comm>(raw);
  const Raw key = raw_of(comm);
  detail::Remembered &slot = detail::remembered[key * 0x9e3779b97f4a7c15u >> (64 - detail::kRememberedBits)];
  if (slot.comm == key && slot.generation == detail::generation.load(std::memory_order_acquire)) [[likely]]
    return *slot.state;
  return detail::find_or_make(comm, slot, may_make);
}

// At MPI_Finalize: all states are dropped. Nothing of the MPI is touched.
void finish_communicators();

}  // namespace copse::mpi
