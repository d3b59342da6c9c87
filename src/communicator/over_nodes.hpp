// A bootstrap over several nodes: the ranks of each node gather by a bootstrap of their own, and a function of the caller exchanges
// the data of the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "choose/settings.hpp"
#include "communicator/bootstrap.hpp"
#include "engine/wire/wire.hpp"

namespace copse::communicator {

// Tells the other nodes what the ranks of this node have said, and writes to `all` what all ranks have said, by their numbers.
// `of_node` is empty if this node's ranks could not be gathered. Returns false if some node's ranks could not be.
using BetweenNodes = std::function<bool(std::span<const std::byte> of_node, std::byte* all, std::size_t bytes)>;

// `all` says that this rank knows what all ranks have said. Ranks that have a `between` get the same answer, on all nodes.
// `node_is_told` says that the ranks of this node that have none know it, too.
struct Gathered {
  bool all = false, node_is_told = false;
};
// Gathers from `ranks` ranks, as Bootstrap::allgather does. The node's first rank has `between`. Others may have one, which they
// then take part in.
[[nodiscard]] Gathered allgather_over_nodes(Bootstrap& on_node, const BetweenNodes& between, int ranks, const void* mine, void* all,
                                            std::size_t bytes);

// What a rank must know of the others to meet them.
struct Members {
  std::int32_t ranks = 0, helpers = 0;  // of all nodes
  std::int32_t node = 0;  // this one's number
  std::vector<std::int32_t> numbers;  // of the ranks of this node
};
// The first rank of the node tells the others the members. Collective over the node.
[[nodiscard]] bool tell_members(Bootstrap& on_node, Members& members);

// Gathers until it is settled, and never again.
class OverNodes final : public Bootstrap {
 public:
  // `node_is_told` becomes false once other ranks of this node may lack what this rank knows. It may be null.
  OverNodes(std::unique_ptr<Bootstrap> on_node, const Members& members, BetweenNodes between, std::shared_ptr<bool> node_is_told);
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  bool allgather(const void* mine, void* all, std::size_t bytes) override;
  [[nodiscard]] std::optional<std::uint64_t> host() const override { return host_; }
  void settle(std::function<void()> idle, std::function<bool()> all_live) override;

 private:
  std::unique_ptr<Bootstrap> on_node_;
  BetweenNodes between_;
  std::shared_ptr<bool> node_is_told_;
  int rank_, ranks_;
  std::uint64_t host_;
  bool settled_ = false;
};

// The wire of a rank whose plans send nothing to other nodes.
class NoWire final : public engine::Wire {
 public:
  bool send(const void*, std::size_t, int, int, std::uint64_t) override { return false; }
  bool expect(void*, std::size_t, int, int) override { return false; }
  engine::Wired receive(int, int) override { return engine::Wired::failed; }
  engine::Wired drain(int, std::uint64_t) override { return engine::Wired::failed; }
  void abandon() override {}
  [[nodiscard]] std::unique_ptr<engine::Wire> lane(int) override { return std::make_unique<NoWire>(); }
  [[nodiscard]] std::size_t lanes_most() const override { return choose::kServedStreams - 1; }
};

}  // namespace copse::communicator
