// Memory that the ranks of a node have in common: made by one of them, opened by the others.
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

// Memory that others made is mapped once in this process, for all its threads and communicators. Null, with errno set, when
// that is refused, or the owner's descriptor is not `file` any longer.
[[nodiscard]] std::shared_ptr<engine::Mapping> map_once(pid_t owner, int owner_fd, engine::FileId file, std::size_t bytes,
                                                        engine::Size size);

class CommonMemory {
 public:
  // `leader` is the first rank of this node, which makes the memory; `leads`: it is this one.
  CommonMemory(const Card &leader, bool leads, std::size_t bytes);

  // Collective: opens what the first rank of this node, number `leader`, has made. False if the ranks could not be gathered.
  [[nodiscard]] bool meet(Bootstrap &bootstrap, int leader);
  // Null if this rank has none; then error() says why.
  [[nodiscard]] const std::shared_ptr<engine::Mapping> &mapping() const { return mapping_; }
  [[nodiscard]] int error() const { return error_; }
  // The rank that could not make any, in words; empty if all could.
  [[nodiscard]] std::string why_not_made() const;

 private:
  struct Offer {
    std::int32_t fd = -1, error = 0;
    engine::FileId file;
  };
  Card leader_;
  std::size_t bytes_;
  engine::Descriptor made_;  // must live until all ranks have met once more
  Offer offer_;
  std::vector<Offer> offers_;
  std::shared_ptr<engine::Mapping> mapping_;
  int error_ = 0;
};

}  // namespace copse::communicator
