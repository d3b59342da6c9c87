// Requests of the MPI that are under way for a wire.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "engine/wire/wire.hpp"
#include "real.hpp"

namespace copse::mpi {

inline constexpr std::size_t kMessageMax = std::size_t{1} << 30;  // bytes at a time: MPI's counts are int

// Tests a receive. A message that was longer than its place is no failure of the wire. The MPI's own blocking calls may spin for
// whole time slices when there are more ranks than processors.
inline engine::Wired ask_for_message(MPI_Request& request) {
  int done = 0, kind = MPI_SUCCESS;
  const int error = real().Test(&request, &done, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS) return done != 0 ? engine::Wired::done : engine::Wired::pending;
  const bool known = real().Error_class_(error, &kind) == MPI_SUCCESS;
  return known && kind == MPI_ERR_TRUNCATE ? engine::Wired::truncated : engine::Wired::failed;
}

// Tests any other request, which has no place that could be too short.
inline engine::Wired ask(MPI_Request& request) {
  const engine::Wired answer = ask_for_message(request);
  return answer == engine::Wired::truncated ? engine::Wired::failed : answer;
}

struct Started {
  int tag;
  std::uint64_t ticket;
  MPI_Request request;
  std::unique_ptr<std::byte[]> head{};  // what is sent, if it is nobody else's
  void leave_to_the_mpi() { static_cast<void>(head.release()); }
};

// Forgets the requests for which meant() is true, once all of these have ended.
template <class Meant>
engine::Wired take_ended(std::vector<Started>& all, const Meant& meant) {
  for (Started& each : all)
    if (meant(each) && each.request != MPI_REQUEST_NULL)
      if (const engine::Wired answer = ask(each.request); answer != engine::Wired::done) return answer;
  std::erase_if(all, meant);
  return engine::Wired::done;
}

// Waits until all requests have ended, and forgets them. The wait takes a second at most, because a peer may have died. The MPI may
// still use the memory of those that have not ended, so that is never freed.
template <class Requests>
void give_up(Requests& all) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (auto& each : all) {
    engine::Wired answer = engine::Wired::pending;
    while ((answer = ask(each.request)) == engine::Wired::pending && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    if (answer == engine::Wired::pending) each.leave_to_the_mpi();
  }
  all.clear();
}

}  // namespace copse::mpi
