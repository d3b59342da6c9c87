// What this process has under way, as far as those must know who wait: how many calls of Copse's there are, and how a call
// that waits lets all of them go on.
#pragma once

#include <atomic>
#include <memory>

#include "communicator/progress.hpp"
#include "real.hpp"

namespace copse::mpi {

namespace detail {
extern std::atomic<int> pending_requests, known_requests, failed_requests;
extern std::atomic<bool> finishing;
}
// Calls that have been started and not ended: as long as there are none, nothing on requests concerns Copse.
inline bool requests_pending() { return detail::pending_requests.load(std::memory_order_acquire) != 0; }
// Ended with an error that no procedure has told yet (failures.hpp): these count as pending.
inline bool requests_failed() { return detail::failed_requests.load(std::memory_order_acquire) != 0; }
inline bool requests_known() { return detail::known_requests.load(std::memory_order_acquire) != 0; }

// The MPI is being finalised; from now on every call is passed on.
inline bool finishing() { return detail::finishing.load(); }

const std::shared_ptr<communicator::Progress> &progress();

// A request that the program has given away while it was pending: it is freed by those who wait for something else.
class GivenAway {
 public:
  virtual void free_pending() = 0;

 protected:
  ~GivenAway() = default;
};
void give_away(GivenAway *request);
void end_given_away();
[[nodiscard]] bool none_given_away();

// For a call that does not wait: everything that has been started goes on a bit.
void go_on();

// For a call that waits: `done` is asked until it holds, or until nothing of Copse's is pending: then false.
template <class Done>
bool wait_for(Done &&done) {
  bool held = false;
  progress()->until([&] {
    end_given_away();
    held = done();
    return held || !requests_pending();
  });
  return held;
}

// For a request of the MPI's own.
int wait_for_mpi(MPI_Request *request, MPI_Status *status);

// A call of the MPI's own that waits, and has no form that does not.
template <class Call>
int helped(Call &&call) {
  const bool helps = requests_pending() && progress()->ask_for_help();
  const int result = call();
  if (helps) progress()->end_help();
  return result;
}

}  // namespace copse::mpi
