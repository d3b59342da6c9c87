// MPI communicators that the program never sees. The wires between nodes send on them. Wires share one, each with tags of its own:
// making a communicator takes time, and an MPI may have only 2048 of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "communicator/node_watch.hpp"
#include "engine/segment.hpp"
#include "real.hpp"

namespace copse::mpi {

// Tags of the calls of a wire, or of one of its lanes: one for each area.
inline constexpr int kTagsOfLane = static_cast<int>(engine::Geometry{}.areas);

// Returns the highest tag that the MPI allows.
[[nodiscard]] int highest_tag();

class Hidden {
 public:
  static constexpr int kStreams = 256;  // wires that may share a communicator at a time
  using Streams = std::array<std::uint64_t, kStreams / 64>;  // a set of them

  // Collective over `comm`, whose ranks are `members` of the world. `id` is the same on all ranks, and used once. `watch` watches
  // the nodes of the members.
  Hidden(MPI_Comm comm, std::vector<int> members, std::uint64_t id, std::unique_ptr<communicator::NodeWatch> watch);
  // Collective, unless the MPI is being finalised. In that case the communicator is left to the MPI.
  ~Hidden();
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] int first_tag(int stream) const { return stream * tags_of_stream_; }
  [[nodiscard]] int tags_of_stream() const { return tags_of_stream_; }
  // Returns the ranks that these members have in this communicator. `members` are ranks of the world. The result is empty if each
  // rank has the same number here as in `members`.
  [[nodiscard]] std::vector<int> ranks_of(const std::vector<int>& members) const;
  // Tells whether this communicator consists of just these ranks of the world, in whatever order.
  [[nodiscard]] bool is_of(const std::vector<int>& members) const;

  [[nodiscard]] communicator::NodeWatch& watch() const { return *watch_; }

  // Takes all streams that are free. A wire keeps one and gives the others back.
  [[nodiscard]] Streams take_all();
  void give_back(const Streams& streams);
  void give_back(int stream);

  // Returns the number of hidden communicators that this process has.
  [[nodiscard]] static int live();

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  const std::vector<int> members_, sorted_;
  const std::uint64_t id_;
  int tags_of_stream_ = 0;
  Streams free_{};
  const std::unique_ptr<communicator::NodeWatch> watch_;
};

// A place for the messages of one wire.
struct Stream {
  std::shared_ptr<Hidden> hidden;  // null if there is none
  int number = 0;
  std::vector<int> peers;  // the hidden communicator's rank for each rank; empty if they are the same
};

// Collective over the ranks of `comm`. Gets a stream of a hidden communicator that all of them share already. If there is none,
// makes such a communicator, unless `may_make` is false. `may_make` is the same on all ranks. If there is no stream, all ranks get
// the reason.
[[nodiscard]] Stream open_stream(MPI_Comm comm, communicator::Bootstrap& bootstrap, bool may_make, std::string& why_not);

}  // namespace copse::mpi
