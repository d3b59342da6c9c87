// The wire between nodes: MPI point-to-point messages on a communicator that the program never sees (hidden.hpp).
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/wire/wire.hpp"
#include "hidden.hpp"
#include "leaders.hpp"
#include "real.hpp"
#include "underway.hpp"

namespace copse::mpi {

// A wire that sends and receives with the MPI. The derived classes say which ranks and tags it uses.
class MessageWire : public engine::Wire {
 public:
  explicit MessageWire(MPI_Comm comm) : comm_(comm) {}
  MessageWire(const MessageWire&) = delete;
  MessageWire& operator=(const MessageWire&) = delete;

  bool send(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) override;
  bool expect(void* data, std::size_t bytes, int peer, int tag) override;
  bool send_any(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) override;
  bool expect_any(void* data, std::size_t room, int peer, int tag) override;
  engine::Wired receive(int peer, int tag) override;
  engine::Wired drain(int tag, std::uint64_t ticket) override;
  void abandon() override;

 protected:
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  // there() returns the rank of a peer in the communicator. tag_to() and tag_from() return the MPI's tag for a tag of the wire.
  [[nodiscard]] virtual int there(int peer) const = 0;
  [[nodiscard]] virtual int tag_to(int peer, int tag) const = 0;
  [[nodiscard]] virtual int tag_from(int peer, int tag) const = 0;

 private:
  // A message of any length comes as a head, which says how long it is, and as the rest if there is one. MPIs differ in what they
  // do with a message that is longer than its place: some write behind it, and some end the program.
  struct AnyLength {
    static constexpr std::size_t kFirst = 4096;  // so many bytes of the message come with the head
    static constexpr std::size_t kPart = std::size_t{16} << 20;  // and so many in each message of the rest
    struct Head {
      std::uint64_t bytes;  // of the whole message
      std::byte first[kFirst];
    };
    Head head;
    std::byte* to;
    std::size_t room;
    std::size_t come = 0, coming = 0;  // bytes of the message; coming: with the receive that is under way, 0 for the head
    std::vector<std::byte> aside;  // where the rest of a message comes that is too long for its place
    engine::Wired answer = engine::Wired::pending;  // of receive()
  };
  struct Expected {  // a message, or a part of one that is too large for the MPI
    int peer, tag;
    bool more;  // the next entry is a part of this message, too
    MPI_Request request;
    std::unique_ptr<AnyLength> any{};  // null: both sides know the length
    void leave_to_the_mpi() { static_cast<void>(any.release()); }
  };
  bool begin_receive(void* data, std::size_t bytes, Expected& into);
  engine::Wired ask_for_any(Expected& message);
  engine::Wired go_on_with(Expected& message);

  MPI_Comm comm_;
  std::vector<Started> sending_;
  std::deque<Expected> expected_;  // in the order of the messages, in which most of them are taken, too
};

class MpiWire final : public MessageWire {
 public:
  // `program` is the program's communicator, whose ranks the stream connects. If `program` is MPI_COMM_NULL, the leaders cannot
  // get a communicator of their own.
  MpiWire(Stream stream, MPI_Comm program)
      : MessageWire(stream.hidden->comm()), stream_(std::move(stream)), first_tag_(stream_.hidden->first_tag(stream_.number)),
        program_(program) {}
  ~MpiWire() override;
  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;

  [[nodiscard]] std::unique_ptr<engine::Wire> lane(int number) override;
  [[nodiscard]] std::size_t lanes_most() const override;
  bool gather_leaders(std::span<const int> leaders) override;
  bool delegate(const engine::LeadersCall& what, int tag, std::uint64_t ticket) override;
  engine::Wired collect(int tag, std::uint64_t ticket) override;
  [[nodiscard]] int lost(Clock::time_point since) override { return stream().hidden->watch().lost(stream().peers, since); }
  void abandon() override;
  void spoil() override { (first_ == nullptr ? *this : *first_).spoiled_ = true; }

 private:
  MpiWire(MpiWire& first, int first_tag) : MessageWire(first.comm()), first_(&first), first_tag_(first_tag) {}
  [[nodiscard]] int there(int peer) const override {
    const std::vector<int>& peers = stream().peers;
    return peers.empty() ? peer : peers[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] int tag_to(int, int tag) const override { return first_tag_ + tag; }
  [[nodiscard]] int tag_from(int, int tag) const override { return first_tag_ + tag; }
  [[nodiscard]] const Stream& stream() const { return (first_ == nullptr ? *this : *first_).stream_; }

  MpiWire* first_ = nullptr;  // in a lane, the wire whose stream the lane uses; otherwise null
  Stream stream_;  // empty in a lane
  int first_tag_;
  std::atomic<bool> spoiled_{false};  // any thread may say so
  MPI_Comm program_ = MPI_COMM_NULL;
  std::unique_ptr<Leaders> leaders_;  // null if no leaders were gathered, as in a lane
};

}  // namespace copse::mpi
