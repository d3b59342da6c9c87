// From an MPI communicator to Copse's: made at the first collective call on it, found again in a few nanoseconds,
// dropped when the MPI drops it.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include "communicator/communicator.hpp"
#include "real.hpp"

namespace copse::mpi {

// Bytes that live as long as a communicator's state, so that packing small messages allocates nothing.
class Scratch {
 public:
  void *reserve(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();
      bytes_ = (bytes + kAlign - 1) / kAlign * kAlign;
      memory_.reset(std::aligned_alloc(kAlign, bytes_));
    }
    return memory_.get();
  }
  void trim() {
    if (bytes_ > kKept) {
      memory_.reset();
      bytes_ = 0;
    }
  }

 private:
  static constexpr std::size_t kAlign = 64, kKept = std::size_t{1} << 20;
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t bytes_ = 0;
};

struct CommState {
  MPI_Comm comm{};
  int rank = 0, ranks = 1;
  std::unique_ptr<communicator::Communicator> copse;  // null: calls are passed on
  std::string why_not;                                // then
  Scratch input, output;
};

// Once, after MPI_Init. `settings` must live on.
void prepare_communicators(const choose::Settings &settings);

// The MPI is being finalised; from now on every call is passed on.
bool finishing();

namespace detail {
struct Remembered {
  Raw comm = 0;
  std::uint64_t generation = 0;
  CommState *state = nullptr;
};
inline constexpr unsigned kRememberedBits = 4;
extern thread_local Remembered remembered[1u << kRememberedBits];
extern std::atomic<std::uint64_t> generation;  // grows whenever a state dies: what threads remember is void then
CommState &find_or_make(MPI_Comm comm, Remembered &slot);
}  // namespace detail

// Collective over the communicator at its first call. A handle that is no communicator gives a state that passes on.
inline CommState &state_of(Raw raw) {
  const auto comm = handle<MPI_Comm>(raw);
  const Raw key = raw_of(comm);
  detail::Remembered &slot = detail::remembered[key * 0x9e3779b97f4a7c15u >> (64 - detail::kRememberedBits)];
  if (slot.comm == key && slot.generation == detail::generation.load(std::memory_order_acquire)) [[likely]]
    return *slot.state;
  return detail::find_or_make(comm, slot);
}

// At MPI_Finalize: `visit` sees every living state, then all are dropped. Nothing of the MPI is touched.
void finish_communicators(void (*visit)(const CommState &));

}  // namespace copse::mpi
