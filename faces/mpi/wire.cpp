// Messages between nodes: the MPI's isend and irecv, tested as often as the executor asks.
#include "wire.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

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

bool MessageWire::send_any(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) {
  const std::size_t first = std::min(bytes, AnyLength::kFirst);
  auto head = std::make_unique_for_overwrite<std::byte[]>(offsetof(AnyLength::Head, first) + first);
  const std::uint64_t all = bytes;
  std::memcpy(head.get(), &all, sizeof all);
  if (first > 0) std::memcpy(head.get() + offsetof(AnyLength::Head, first), data, first);
  if (!send(head.get(), offsetof(AnyLength::Head, first) + first, peer, tag, ticket)) return false;
  sending_.back().head = std::move(head);
  const auto* const from = static_cast<const std::byte*>(data);
  for (std::size_t sent = first, part = 0; sent < bytes; sent += part) {
    part = std::min(bytes - sent, AnyLength::kPart);
    if (!send(from + sent, part, peer, tag, ticket)) return false;
  }
  return true;
}

bool MessageWire::begin_receive(void* data, std::size_t bytes, Expected& into) {
  return real().Irecv(data, static_cast<int>(bytes), raw_of(MPI_BYTE), there(into.peer), tag_from(into.peer, into.tag),
                      raw_of(comm_), &into.request) == MPI_SUCCESS;
}

bool MessageWire::expect(void* data, std::size_t bytes, int peer, int tag) {
  auto* to = static_cast<char*>(data);
  do {
    const std::size_t now = std::min(bytes, kMessageMax);
    expected_.push_back({peer, tag, now < bytes, MPI_REQUEST_NULL});
    if (!begin_receive(to, now, expected_.back())) {
      expected_.pop_back();
      return false;
    }
    to += now;
    bytes -= now;
  } while (bytes > 0);
  return true;
}

bool MessageWire::expect_any(void* data, std::size_t room, int peer, int tag) {
  auto any = std::make_unique_for_overwrite<AnyLength>();
  any->to = static_cast<std::byte*>(data);
  any->room = room;
  expected_.push_back({peer, tag, false, MPI_REQUEST_NULL, std::move(any)});
  AnyLength::Head& head = expected_.back().any->head;
  if (begin_receive(&head, sizeof head, expected_.back())) return true;
  expected_.pop_back();
  return false;
}

// Takes the part of a message that has come, and begins to receive the next one. The answer is `done` or `truncated` once there is
// none.
Wired MessageWire::go_on_with(Expected& message) {
  AnyLength& any = *message.any;
  const std::byte* from = nullptr;  // where the part lies, if not in its place
  std::size_t part = any.coming;
  if (part == 0) {
    part = std::min<std::size_t>(any.head.bytes, AnyLength::kFirst);
    from = any.head.first;
  } else if (!any.aside.empty()) {
    from = any.aside.data();
  }
  const std::size_t fits = std::min(any.room - std::min(any.room, any.come), part);
  if (from != nullptr && fits > 0) std::memcpy(any.to + any.come, from, fits);
  any.come += part;
  if (any.come == any.head.bytes) return any.come > any.room ? Wired::truncated : Wired::done;
  any.coming = std::min<std::size_t>(any.head.bytes - any.come, AnyLength::kPart);
  if (any.head.bytes > any.room) any.aside.resize(any.coming);
  std::byte* const place = any.aside.empty() ? any.to + any.come : any.aside.data();
  return begin_receive(place, any.coming, message) ? Wired::pending : Wired::failed;
}

Wired MessageWire::ask_for_any(Expected& message) {
  Wired& answer = message.any->answer;
  if (answer != Wired::pending) return answer;
  const Wired part = ask_for_message(message.request);
  if (part != Wired::pending) answer = part == Wired::done ? go_on_with(message) : Wired::failed;
  return answer;
}

Wired MessageWire::receive(int peer, int tag) {
  constexpr std::ptrdiff_t kAhead = 8;  // the rests of so many messages may come meanwhile
  for (;;) {
    const auto part = std::find_if(expected_.begin(), expected_.end(),
                                   [&](const Expected& each) { return each.peer == peer && each.tag == tag; });
    if (part == expected_.end()) return Wired::failed;
    const Wired answer = part->any == nullptr ? ask_for_message(part->request) : ask_for_any(*part);
    if (answer == Wired::pending && part->any != nullptr)
      for (auto next = part + 1; next != expected_.end() && next - part <= kAhead; ++next)
        if (next->any != nullptr) static_cast<void>(ask_for_any(*next));  // what it says, receive() says later
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

// A message whose receive is cancelled while it is on its way still arrives, so the stream is spoiled. What this rank has sent may
// be on its way, too.
void MessageWire::abandon() {
  spoil();
  for (Expected& each : expected_)
    if (each.request != MPI_REQUEST_NULL) real().Cancel(&each.request);  // an MPI frees a request that has failed
  give_up(expected_);
  for (Started& each : sending_) each.leave_to_the_mpi();
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
