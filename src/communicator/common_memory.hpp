// Common memory of the ranks of a node. One of them makes it, and the others open it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "communicator/card.hpp"
#include "communicator/survey.hpp"
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
  // What the first rank of a node offers to the others. The offers of other ranks are empty.
  struct Offer {
    std::int32_t fd = -1, error = 0;
    engine::FileId file;
    NodeFacts facts;
  };

  // `leader` is the card of the first rank of this node.
  explicit CommonMemory(const Card& leader) : leader_(leader) {}

  // Makes the memory, on the first rank of the node.
  void make(std::size_t bytes);
  // Lets the first rank tell the others what it has found out. The places of the node's ranks are written into the memory, at
  // byte `at`.
  void tell(const Survey& survey, std::size_t at);

  // Gathers the offers. This is collective. Returns false if the ranks could not be gathered.
  [[nodiscard]] bool meet(Bootstrap& bootstrap);
  // Opens what the first rank of this node, which is rank `leader`, has made of this size.
  void open(int leader, std::size_t bytes);

  // Returns null if this rank has no such memory. Then error() says why.
  [[nodiscard]] const std::shared_ptr<engine::Mapping>& mapping() const { return mapping_; }
  [[nodiscard]] int error() const { return error_; }
  // Returns what the first rank of a node has told.
  [[nodiscard]] const NodeFacts& facts_of(int first) const { return offers_[static_cast<std::size_t>(first)].facts; }
  // Says which rank could not make memory, and why. The text is empty if all could.
  [[nodiscard]] std::string why_not_made() const;

 private:
  Card leader_;
  engine::Descriptor made_;  // must stay open until all ranks have met once more
  Offer offer_;
  std::vector<Offer> offers_;
  std::shared_ptr<engine::Mapping> mapping_;
  int error_ = 0;
};

}  // namespace copse::communicator
