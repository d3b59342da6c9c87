// What Copse knows about an MPI communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"
#include "communicator/early.hpp"
#include "communicator/served_streams.hpp"
#include "groups.hpp"
#include "neighbors.hpp"
#include "real.hpp"
#include "sides.hpp"

namespace copse::mpi {

// Calls under way keep this alive after the MPI's communicator is gone. Many fields: every wrapped call begins here, with one look.
struct CommState : std::enable_shared_from_this<CommState> {
  MPI_Comm comm{};
  bool freed = false;  // the program has freed the MPI's communicator
  bool attached = true;  // the MPI tells when it frees the communicator; if not, only the wrapped calls do (Freeing)
  int rank = 0, ranks = 1;  // counted through both groups of an intercommunicator
  TwoGroups groups;
  bool special = false;  // Copse looks at each call before it makes it (Site::why_not_with)
  bool devices = false;  // some rank may give device memory (devices.hpp)
  std::unique_ptr<communicator::Communicator> copse;  // null: calls are passed on
  std::string why_not;  // the reason why `copse` is null
  std::unique_ptr<communicator::ServedStreams> served;  // the same ranks with helpers, for started calls; null: there are none
  std::vector<std::uint64_t> hosts;  // of each rank, the same number on one node; empty if there are no helpers
  std::vector<std::weak_ptr<communicator::Communicator>> served_lanes;  // the same ranks with helpers, each for one persistent call
  std::vector<int> members;  // ranks of the world; empty: nobody has asked yet
  communicator::Early early;  // counts calls that are passed on because Copse has not begun
  // The MPI has made started reductions whose bits depend on who makes them. All ranks say the same once Copse serves the
  // communicator.
  bool rounds_by_mpi = false;
  std::unique_ptr<const Neighbors> neighbors;  // null: calls among neighbours are passed on
  std::string no_neighbors;  // the reason why `neighbors` is null
  std::optional<bool> strict_order;  // whether all ranks start persistent calls in one order; known after the first
  std::shared_ptr<communicator::Communicator> strict_lane;  // the lane of all persistent calls, if `strict_order` is true
  SidesMemory memory;

  // The numbers of a call that this rank does not make here. A started call may be made on the communicator, or with helpers in a
  // stream of theirs.
  struct Passed {
    std::uint64_t number = 0, served = 0;
    communicator::Communicator* stream = nullptr;  // null: there are no helpers
  };
  [[nodiscard]] Passed pass(bool started, algorithms::Collective collective) const {
    Passed passed{copse->pass(!started)};
    if (started) passed.stream = next_stream(collective);
    if (passed.stream != nullptr) passed.served = passed.stream->pass(false);
    return passed;
  }
  // Tells whether helpers make some started calls of this collective. All ranks get the same answer.
  [[nodiscard]] bool may_serve(algorithms::Collective collective) const {
    return served && communicator::Communicator::can_serve_some(collective);
  }
  // Returns the stream that a started call of this collective takes, wherever it is made. The result is null if helpers make no
  // such calls. All ranks ask for the same calls.
  [[nodiscard]] communicator::Communicator* next_stream(algorithms::Collective collective) const {
    return may_serve(collective) ? &served->next() : nullptr;
  }
  // Says that this rank does not make the call that `passed` numbers, although the other ranks may make it.
  void refuse(const Passed& passed) const {
    copse->refuse(passed.number);
    if (passed.stream != nullptr) passed.stream->refuse(passed.served);
  }
};

}  // namespace copse::mpi
