// Messages between nodes: the MPI's isend and irecv, tested as often as the executor asks.
#include "wire.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "engine/segment.hpp"
#include "progress.hpp"

namespace copse::mpi {
namespace {

using engine::Wired;

constexpr int kTagsOfLane = static_cast<int>(engine::Geometry{}.areas);  // the communicator's own stream has as many
constexpr std::size_t kMessageMax = std::size_t{1} << 30;  // MPI's counts are int

std::atomic<int> live_wires{0};

// Tests a request. The MPI's own blocking calls may spin for whole time slices when there are more ranks than
// processors.
Wired ask(MPI_Request& request) {
  int done = 0;
  if (real().Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return Wired::failed;
  return done != 0 ? Wired::done : Wired::pending;
}

}  // namespace

MpiWire::MpiWire(MPI_Comm comm) {
  // A duplicate would call the program's own functions that copy its attributes.
  helped([&] { return real().Comm_split_(comm, 0, 0, &comm_); });
  if (!*this) return;
  real().Comm_set_errhandler_(comm_, MPI_ERRORS_RETURN);
  live_wires.fetch_add(1);
}

MpiWire::~MpiWire() {
  if (!owns_ || !*this) return;
  live_wires.fetch_sub(1);
  if (!finishing()) real().Comm_free_(&comm_);
}

int MpiWire::live() { return live_wires.load(); }

bool MpiWire::send(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) {
  const auto* from = static_cast<const char*>(data);
  do {
    const std::size_t now = std::min(bytes, kMessageMax);
    sending_.push_back({tag, ticket, MPI_REQUEST_NULL});
    if (real().Isend(from, static_cast<int>(now), raw_of(MPI_BYTE), peer, first_tag_ + tag, raw_of(comm_),
                     &sending_.back().request) != MPI_SUCCESS) {
      sending_.pop_back();
      return false;
    }
    from += now;
    bytes -= now;
  } while (bytes > 0);
  return true;
}

bool MpiWire::expect(void* data, std::size_t bytes, int peer, int tag) {
  auto* to = static_cast<char*>(data);
  do {
    const std::size_t now = std::min(bytes, kMessageMax);
    expected_.push_back({peer, tag, now < bytes, MPI_REQUEST_NULL});
    if (real().Irecv(to, static_cast<int>(now), raw_of(MPI_BYTE), peer, first_tag_ + tag, raw_of(comm_),
                     &expected_.back().request) != MPI_SUCCESS) {
      expected_.pop_back();
      return false;
    }
    to += now;
    bytes -= now;
  } while (bytes > 0);
  return true;
}

Wired MpiWire::receive(int peer, int tag) {
  for (;;) {
    const auto part = std::find_if(expected_.begin(), expected_.end(),
                                   [&](const Expected& each) { return each.peer == peer && each.tag == tag; });
    if (part == expected_.end()) return Wired::failed;
    if (const Wired answer = ask(part->request); answer != Wired::done) return answer;
    const bool more = part->more;
    expected_.erase(part);
    if (!more) return Wired::done;
  }
}

Wired MpiWire::drain(int tag, std::uint64_t ticket) {
  const auto meant = [&](const Sending& sending) { return sending.tag == tag && sending.ticket <= ticket; };
  for (Sending& sending : sending_)
    if (meant(sending))
      if (const Wired answer = ask(sending.request); answer != Wired::done) return answer;
  std::erase_if(sending_, meant);
  return Wired::done;
}

// A message that was on its way when its receive was cancelled still comes. The peer may have died, so this does not wait for ever.
void MpiWire::abandon() {
  for (Expected& each : expected_) real().Cancel(&each.request);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (Expected& each : expected_)
    while (ask(each.request) == Wired::pending && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  expected_.clear();
}

std::unique_ptr<engine::Wire> MpiWire::lane(int number) {
  return std::unique_ptr<MpiWire>(new MpiWire(*this, (number + 1) * kTagsOfLane));
}

std::size_t MpiWire::lanes_most() const {
  void* most = nullptr;
  int flag = 0;
  if (real().Comm_get_attr_(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag) != MPI_SUCCESS || flag == 0) return 0;
  return static_cast<std::size_t>(*static_cast<const int*>(most) / kTagsOfLane - 1);
}

}  // namespace copse::mpi
