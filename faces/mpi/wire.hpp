// The wire between nodes: MPI point-to-point messages on a communicator that the program never sees (hidden.hpp).
#pragma once

#include <utility>
#include <vector>

#include "engine/wire/wire.hpp"
#include "hidden.hpp"
#include "real.hpp"

namespace copse::mpi {

class MpiWire final : public engine::Wire {
 public:
  explicit MpiWire(Stream stream)
      : stream_(std::move(stream)), comm_(stream_.hidden->comm()), first_tag_(stream_.hidden->first_tag(stream_.number)) {}
  ~MpiWire() override;
  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;

  bool send(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) override;
  bool expect(void* data, std::size_t bytes, int peer, int tag) override;
  engine::Wired receive(int peer, int tag) override;
  engine::Wired drain(int tag, std::uint64_t ticket) override;
  void abandon() override;
  [[nodiscard]] std::unique_ptr<engine::Wire> lane(int number) override;
  [[nodiscard]] std::size_t lanes_most() const override;

 private:
  MpiWire(MpiWire& first, int first_tag) : first_(&first), comm_(first.comm_), first_tag_(first_tag) {}
  [[nodiscard]] int there(int peer) const {
    const std::vector<int>& peers = (first_ == nullptr ? *this : *first_).stream_.peers;
    return peers.empty() ? peer : peers[static_cast<std::size_t>(peer)];
  }

  MpiWire* first_ = nullptr;  // of a lane: the wire whose stream it uses
  Stream stream_;             // of a lane: none
  MPI_Comm comm_;
  int first_tag_;
  bool abandoned_ = false;
  struct Sending {
    int tag;
    std::uint64_t ticket;
    MPI_Request request;
  };
  struct Expected {  // a message, or a part of one that is too large for the MPI
    int peer, tag;
    bool more;  // the next one is of the same message
    MPI_Request request;
  };
  std::vector<Sending> sending_;
  std::vector<Expected> expected_;  // in their order
};

}  // namespace copse::mpi
