// Messages between nodes: the MPI's isend and irecv, tested as often as the executor asks.
#include "wire.hpp"

#include <algorithm>

namespace copse::mpi {
using engine::Wired;

bool MessageWire::send(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) {
  const auto* from = static_cast<const char*>(data);
  do {
    const std::size_t now = std::min(bytes, kMessageMax);
    sending_.push_back({tag, ticket, MPI_REQUEST_NULL});
    if (real().Isend(from, static_cast<int>(now), raw_of(MPI_BYTE), there(peer), tag_to(peer, tag), raw_of(comm_),
                     &sending_.back().request) != MPI_SUCCESS) {
      sending_.pop_back();
      return false;
    }
    from += now;
    bytes -= now;
  } while (bytes > 0);
  return true;
}

bool MessageWire::expect(void* data, std::size_t bytes, int peer, int tag) {
  auto* to = static_cast<char*>(data);
  do {
    const std::size_t now = std::min(bytes, kMessageMax);
    expected_.push_back({peer, tag, now < bytes, MPI_REQUEST_NULL});
    if (real().Irecv(to, static_cast<int>(now), raw_of(MPI_BYTE), there(peer), tag_from(peer, tag), raw_of(comm_),
                     &expected_.back().request) != MPI_SUCCESS) {
      expected_.pop_back();
      return false;
    }
    to += now;
    bytes -= now;
  } while (bytes > 0);
  return true;
}

Wired MessageWire::receive(int peer, int tag) {
  for (;;) {
    const auto part = std::find_if(expected_.begin(), expected_.end(),
                                   [&](const Expected& each) { return each.peer == peer && each.tag == tag; });
    if (part == expected_.end()) return Wired::failed;
    const Wired answer = ask_for_message(part->request);
    const bool more = part->more;
    if (answer == Wired::truncated && more) return Wired::failed;
    if (answer != Wired::done && answer != Wired::truncated) return answer;
    expected_.erase(part);
    if (!more) return answer;
  }
}

Wired MessageWire::drain(int tag, std::uint64_t ticket) {
  return take_ended(sending_,
                    [&](const Started& each) { return each.tag == tag && static_cast<std::int64_t>(each.ticket - ticket) <= 0; });
}

// A message whose receive is cancelled while it is on its way still arrives, so the stream is spoiled.
void MessageWire::abandon() {
  spoil();
  for (Expected& each : expected_)
    if (each.request != MPI_REQUEST_NULL) real().Cancel(&each.request);  // an MPI frees a request that has failed
  give_up(expected_);
}

// A message may still come to a stream that is spoiled. So no other wire gets that stream.
MpiWire::~MpiWire() {
  if (stream_.hidden != nullptr && !spoiled_) stream_.hidden->give_back(stream_.number);
}

std::unique_ptr<engine::Wire> MpiWire::lane(int number) {
  return std::unique_ptr<MpiWire>(new MpiWire(*this, first_tag_ + (number + 1) * kTagsOfLane));
}

bool MpiWire::gather_leaders(std::span<const int> leaders) {
  if (program_ == MPI_COMM_NULL) return false;  // on all ranks
  int rank = 0;
  real().Comm_rank_(program_, &rank);
  leaders_ = std::make_unique<Leaders>(program_, rank, leaders);
  return leaders_->are_ready();
}

bool MpiWire::delegate(const engine::LeadersCall& what, int tag, std::uint64_t ticket) {
  return leaders_ != nullptr && leaders_->start(what, tag, ticket);
}

Wired MpiWire::collect(int tag, std::uint64_t ticket) {
  return leaders_ == nullptr ? Wired::failed : leaders_->collect(tag, ticket);
}

void MpiWire::abandon() {
  MessageWire::abandon();
  if (leaders_ != nullptr) leaders_->abandon();
}

std::size_t MpiWire::lanes_most() const { return static_cast<std::size_t>(stream_.hidden->tags_of_stream() / kTagsOfLane - 1); }

}  // namespace copse::mpi
