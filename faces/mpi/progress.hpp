// What this process has under way. A procedure that waits must know how many calls of Copse's are pending, and must let
// all of them make progress.
#pragma once

#include <atomic>
#include <memory>

#include "communicator/progress.hpp"
#include "real.hpp"

namespace copse::mpi {

namespace detail {
extern std::atomic<int> pending_requests, known_requests, failed_requests;
extern std::atomic<bool> finishing;
}  // namespace detail
// Returns whether any call is pending: started, and not yet ended. While none is, Copse ignores all calls on requests.
inline bool requests_pending() { return detail::pending_requests.load(std::memory_order_acquire) != 0; }
// Returns whether any call has ended with an error that no procedure has reported yet (failures.hpp). Such a call
// counts as pending.
inline bool requests_failed() { return detail::failed_requests.load(std::memory_order_acquire) != 0; }
inline bool requests_known() { return detail::known_requests.load(std::memory_order_acquire) != 0; }

// Returns whether the MPI is being finalised. If so, every call is passed on.
inline bool finishing() { return detail::finishing.load(); }

const std::shared_ptr<communicator::Progress>& progress();

// A request that the program has freed while it was pending. Whoever waits for something else ends it.
class GivenAway {
 public:
  virtual void free_pending() = 0;

 protected:
  ~GivenAway() = default;
};
void give_away(GivenAway* request);
void end_given_away();
[[nodiscard]] bool none_given_away();

// Moves everything that has been started a little further. For procedures that do not wait.
void go_on();

// For procedures that wait. Calls `done` until it returns true, or until no call of Copse's is pending. Returns what
// `done` said last.
template <class Done>
bool wait_for(Done&& done) {
  bool held = false;
  progress()->until([&] {
    end_given_away();
    held = done();
    return held || !requests_pending();
  });
  return held;
}

// Waits for a request of the MPI's own.
int wait_for_mpi(MPI_Request* request, MPI_Status* status);

// Makes a waiting call of the MPI's that has no nonblocking form. Copse's helper thread moves pending calls on
// meanwhile.
template <class Function>
int helped(Function&& call) {
  const bool helps = requests_pending() && progress()->ask_for_help();
  const int result = call();
  if (helps) progress()->end_help();
  return result;
}

}  // namespace copse::mpi
