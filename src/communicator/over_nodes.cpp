// Gathers over nodes.
#include "communicator/over_nodes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace copse::communicator {

namespace {

// Copies the bytes of the node's first rank to all ranks of the node, a piece at a time.
bool broadcast_on(Bootstrap& on_node, std::vector<std::byte>& bytes) {
  constexpr std::size_t kPiece = 4096;
  std::vector<std::byte> all(static_cast<std::size_t>(on_node.ranks()) * std::min(kPiece, bytes.size()));
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::size_t piece = std::min(kPiece, bytes.size() - at);
    if (!on_node.allgather(bytes.data() + at, all.data(), piece)) return false;
    std::memcpy(bytes.data() + at, all.data(), piece);
  }
  return true;
}

}  // namespace

// The last byte of what the first rank tells its node says whether the exchange between the nodes worked.
Gathered allgather_over_nodes(Bootstrap& on_node, const BetweenNodes& between, int ranks, const void* mine, void* all,
                              std::size_t bytes) {
  std::vector<std::byte> of_node(static_cast<std::size_t>(on_node.ranks()) * bytes);
  const bool gathered = on_node.allgather(mine, of_node.data(), bytes);
  if (!gathered) of_node.clear();
  std::vector<std::byte> known(static_cast<std::size_t>(ranks) * bytes + 1);
  if (between) known.back() = std::byte{between(of_node, known.data(), bytes)};
  const bool told = gathered && broadcast_on(on_node, known);
  if (!told && !between) return {};
  std::memcpy(all, known.data(), known.size() - 1);
  return {known.back() != std::byte{0}, told};
}

bool tell_members(Bootstrap& on_node, Members& members) {
  struct Word {
    std::int32_t ranks, helpers, node;
  };
  const auto here = static_cast<std::size_t>(on_node.ranks());
  const Word mine{members.ranks, members.helpers, members.node};
  std::vector<Word> words(here);
  if (!on_node.allgather(&mine, words.data(), sizeof mine)) return false;
  members.numbers.resize(here);
  std::vector<std::int32_t> numbers(here * here);
  if (!on_node.allgather(members.numbers.data(), numbers.data(), here * sizeof numbers[0])) return false;
  const Word& first = words.front();
  members = {first.ranks, first.helpers, first.node, {numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(here)}};
  return true;
}

OverNodes::OverNodes(std::unique_ptr<Bootstrap> on_node, const Members& members, BetweenNodes between,
                     std::shared_ptr<bool> node_is_told)
    : on_node_(std::move(on_node)), between_(std::move(between)), node_is_told_(std::move(node_is_told)),
      rank_(members.numbers[static_cast<std::size_t>(on_node_->rank())]), ranks_(members.ranks),
      host_(static_cast<std::uint64_t>(members.node) + 1) {}

bool OverNodes::allgather(const void* mine, void* all, std::size_t bytes) {
  if (settled_) return false;
  const Gathered gathered = allgather_over_nodes(*on_node_, between_, ranks_, mine, all, bytes);
  if (!gathered.node_is_told && node_is_told_ != nullptr) *node_is_told_ = false;
  return gathered.all;
}

void OverNodes::settle(std::function<void()> idle, std::function<bool()> all_live) {
  on_node_->settle(std::move(idle), std::move(all_live));
  between_ = nullptr;  // it may refer to what is gone by the next time
  settled_ = true;
}

}  // namespace copse::communicator
