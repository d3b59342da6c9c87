// Waiting while calls of Copse's are pending, and the requests that the program has given away.
#include "progress.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace copse::mpi {

namespace detail {
std::atomic<int> pending_requests{0}, known_requests{0}, failed_requests{0};
std::atomic<bool> finishing{false};
}  // namespace detail

namespace {

std::mutex mutex;  // never held across a call of the MPI
auto& given_away = *new std::vector<GivenAway*>;  // never destroyed (session.hpp)
std::atomic<bool> any_given_away{false};

}  // namespace

const std::shared_ptr<communicator::Progress>& progress() {
  static const auto& all = *new auto(std::make_shared<communicator::Progress>());
  return all;
}

void give_away(GivenAway* request) {
  const std::lock_guard lock(mutex);
  given_away.push_back(request);
  any_given_away.store(true, std::memory_order_release);
}

void end_given_away() {
  if (!any_given_away.load(std::memory_order_acquire)) return;
  std::vector<GivenAway*> waiting;
  {
    const std::lock_guard lock(mutex);
    waiting.swap(given_away);
    any_given_away.store(false, std::memory_order_release);
  }
  for (GivenAway* request : waiting) request->free_pending();
}

bool none_given_away() {
  const std::lock_guard lock(mutex);
  return given_away.empty();
}

void go_on() {
  end_given_away();
  progress()->idle();
}

int wait_for_mpi(MPI_Request* request, MPI_Status* status) {
  int flag = 0, result = MPI_SUCCESS;
  const bool over = wait_for([&] {
    result = real().Test(request, &flag, status);
    return flag != 0 || result != MPI_SUCCESS;
  });
  return over ? result : real().Wait(request, status);
}

}  // namespace copse::mpi
