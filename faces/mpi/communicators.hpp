// From an MPI communicator to Copse's. The state is made at the first collective call on the communicator, found again
// in a few nanoseconds, and dropped when the MPI frees the communicator. Joining (joining.hpp) fills it in.
#pragma once

#include <atomic>
#include <cstdint>

#include "state.hpp"

namespace copse::mpi {

// While the MPI frees a communicator, this thread's calls on it are passed on. The program's delete functions for
// attributes may still call on it, when Copse's state is already gone on some ranks and still there on others.
class Freeing {
 public:
  explicit Freeing(MPI_Comm comm);
  ~Freeing();
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;
  // Call this when the MPI has freed the communicator.
  void done();

 private:
  Raw before_;
  CommState* unattached_ = nullptr;
};

// Waits for the calls that this rank has started on the communicator. It runs before MPI_Comm_disconnect, which returns
// when all communication on the communicator is over (MPI-4.1 11.10.4). Other ranks may rely on this rank's part, and
// this rank may make no further call of MPI.
void wait_for_started(MPI_Comm comm);

// Call this once, after MPI_Init.
void prepare_communicators();

namespace detail {
struct Remembered {
  Raw comm = 0;
  std::uint64_t generation = 0;
  CommState* state = nullptr;
};
inline constexpr unsigned kRememberedBits = 4;
extern constinit thread_local Remembered remembered[1u << kRememberedBits];
extern std::atomic<std::uint64_t> generation;  // grows whenever a state dies; that voids what threads remember
CommState& find_or_make(MPI_Comm comm, Remembered& slot);

// The last communicator of one rank on which this thread made a call. Its handle and the generation are all that a thread
// remembers of such a communicator.
struct Alone {
  Raw comm = 0;
  std::uint64_t generation = 0;
};
extern constinit thread_local Alone alone;
}  // namespace detail

// Tells whether a call is passed on because its communicator has one rank. Such calls are as short as a look at the state.
inline bool is_alone(Raw comm) {
  return raw_of(handle<MPI_Comm>(comm)) == detail::alone.comm &&
         detail::alone.generation == detail::generation.load(std::memory_order_acquire);
}

// Finds or makes the communicator's state. No other rank takes part. The result for a handle that is not a communicator
// is a state that passes calls on.
inline CommState& state_of(Raw raw) {
  const auto comm = handle<MPI_Comm>(raw);
  const Raw key = raw_of(comm);
  detail::Remembered& slot = detail::remembered[key * 0x9e3779b97f4a7c15u >> (64 - detail::kRememberedBits)];
  if (slot.comm == key && slot.generation == detail::generation.load(std::memory_order_acquire)) [[likely]]
    return *slot.state;
  return detail::find_or_make(comm, slot);
}

// Call this in MPI_Finalize. It drops all states and does not touch the MPI.
void finish_communicators();

}  // namespace copse::mpi
