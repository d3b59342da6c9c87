// The wire between nodes: MPI point-to-point messages on a communicator that the program never sees.
#pragma once

#include <vector>

#include "engine/wire/wire.hpp"
#include "real.hpp"

namespace copse::mpi {

class MpiWire final : public engine::Wire {
 public:
  // Collective over `comm`. Makes a communicator of the same ranks. If the MPI has none left, the result is false on
  // all ranks.
  explicit MpiWire(MPI_Comm comm);
  [[nodiscard]] explicit operator bool() const { return comm_ != MPI_COMM_NULL; }
  // Collective, unless the MPI is being finalised. In that case the communicator is left to the MPI.
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

  // Returns how many wires this process has.
  [[nodiscard]] static int live();

 private:
  MpiWire(const MpiWire& first, int first_tag) : comm_(first.comm_), owns_(false), first_tag_(first_tag) {}

  MPI_Comm comm_ = MPI_COMM_NULL;
  bool owns_ = true;
  int first_tag_ = 0;
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
