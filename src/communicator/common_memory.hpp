// Common memory of the ranks of a node. One of them makes it, and the others open it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "communicator/card.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {

// Maps `file`, which process `owner` has open as `owner_fd`. It is mapped once in this process, for all its threads and
// communicators. Returns null, with errno set, if that is refused or if the owner's descriptor is no longer `file`.
[[nodiscard]] std::shared_ptr<engine::Mapping> map_once(pid_t owner, int owner_fd, engine::FileId file, std::size_t bytes,
                                                        engine::Size size);

// Lets the first rank of each node make memory that all ranks of the node map. Collective over the ranks of `bootstrap`.
// `leader` is the card of the first rank of this node, whose number is `leader_rank`. Returns null on all ranks if one of them
// has no such memory, and says why.
[[nodiscard]] std::shared_ptr<engine::Mapping> share_memory(Bootstrap& bootstrap, const Card& leader, int leader_rank,
                                                            std::size_t bytes, std::string& why_not);

class CommonMemory {
 public:
  // `leader` is the card of the first rank of this node, which makes the memory. `leads` says that this rank is the first.
  CommonMemory(const Card& leader, bool leads, std::size_t bytes);

  // Opens what the first rank of this node has made, which is rank `leader`. This is collective. Returns false if the ranks
  // could not be gathered.
  [[nodiscard]] bool meet(Bootstrap& bootstrap, int leader);
  // Returns null if this rank has no such memory. Then error() says why.
  [[nodiscard]] const std::shared_ptr<engine::Mapping>& mapping() const { return mapping_; }
  [[nodiscard]] int error() const { return error_; }
  // Says which rank could not make memory, and why. The text is empty if all could.
  [[nodiscard]] std::string why_not_made() const;

 private:
  struct Offer {
    std::int32_t fd = -1, error = 0;
    engine::FileId file;
  };
  Card leader_;
  std::size_t bytes_;
  engine::Descriptor made_;  // must stay open until all ranks have met once more
  Offer offer_;
  std::vector<Offer> offers_;
  std::shared_ptr<engine::Mapping> mapping_;
  int error_ = 0;
};

}  // namespace copse::communicator
