// Messages between nodes: isend and irecv of the MPI, waited for with a yield in between.
#include "wire.hpp"

#include <sched.h>

#include <algorithm>

#include "communicators.hpp"

namespace copse::mpi {
namespace {

constexpr std::size_t kMessageMax = std::size_t{1} << 30;  // MPI's counts are int
constexpr int kSpins = 64;                                 // tests before the processor is offered to others

// The MPI's own blocking calls may spin for whole time slices when ranks outnumber processors.
bool finish(MPI_Request &request) {
  for (int tries = 0;; ++tries) {
    int done = 0;
    if (real().Test_(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    if (tries >= kSpins) sched_yield();
  }
}

}  // namespace

MpiWire::MpiWire(MPI_Comm comm) {
  // Not a duplicate: that would call the program's own functions that copy its attributes.
  real().Comm_split_(comm, 0, 0, &comm_);
  real().Comm_set_errhandler_(comm_, MPI_ERRORS_RETURN);
}

MpiWire::~MpiWire() {
  if (!finishing()) real().Comm_free_(&comm_);
}

bool MpiWire::send(const void *data, std::size_t bytes, int peer, int tag) {
  const auto *from = static_cast<const char *>(data);
  do {
    const std::size_t now = std::min(bytes, kMessageMax);
    sending_.push_back({tag, MPI_REQUEST_NULL});
    if (real().Isend_(from, static_cast<int>(now), MPI_BYTE, peer, tag, comm_, &sending_.back().request) != MPI_SUCCESS) {
      sending_.pop_back();
      return false;
    }
    from += now;
    bytes -= now;
  } while (bytes > 0);
  return true;
}

bool MpiWire::receive(void *data, std::size_t bytes, int peer, int tag) {
  auto *to = static_cast<char *>(data);
  do {
    const std::size_t now = std::min(bytes, kMessageMax);
    MPI_Request request;
    if (real().Irecv_(to, static_cast<int>(now), MPI_BYTE, peer, tag, comm_, &request) != MPI_SUCCESS ||
        !finish(request)) {
      return false;
    }
    to += now;
    bytes -= now;
  } while (bytes > 0);
  return true;
}

bool MpiWire::drain(int tag) {
  bool all = true;
  const auto drained = [&](Sending &sending) {
    if (sending.tag != tag) return false;
    all = finish(sending.request) && all;
    return true;
  };
  sending_.erase(std::remove_if(sending_.begin(), sending_.end(), drained), sending_.end());
  return all;
}

}  // namespace copse::mpi
