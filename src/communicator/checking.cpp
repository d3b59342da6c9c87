// For COPSE_CHECK, compares what the ranks are about to call.
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "communicator/handshake.hpp"
#include "communicator/state.hpp"

namespace copse::communicator {

using algorithms::Collective;

namespace {

constexpr const char* kEnded = "the ranks could not be compared: one has ended, or calls nothing at all";

struct Announcement {
  std::int32_t collective = 0;
  std::int32_t root = 0;
  std::uint64_t count = 0, element_bytes = 0;
  std::uint64_t ragged = 0, alike = 0;
  std::uint64_t refused = 0;         // 1: this rank's call was refused
  std::array<char, 160> operation{};  // operator and type; what blocks along edges are for; or why the call was refused

  // The sizes of ragged calls differ from rank to rank. They are compared by their tables, not here.
  [[nodiscard]] bool agrees_with(const Announcement& other) const {
    return collective == other.collective && root == other.root && ragged == other.ragged && alike == other.alike &&
           element_bytes == other.element_bytes && operation == other.operation && (ragged != 0 || count == other.count);
  }
  [[nodiscard]] std::string text() const {
    if (collective < 0 || collective >= algorithms::kCollectives) return "something that this rank does not know";
    const auto kind = static_cast<Collective>(collective);
    const algorithms::Traits& traits = algorithms::traits_of(kind);
    std::string result =
        traits.along_edges && operation[0] != 0 ? printable(operation.data()) : std::string(algorithms::name_of(kind));
    if (!traits.moves_data) return result;
    if (ragged != 0) result += alike != 0 ? " (blocks of one size)" : " (blocks of different sizes)";
    if (!traits.reduces) {
      if (ragged == 0) result += " of " + std::to_string(count) + " bytes";
    } else {
      if (ragged == 0) result += " of " + std::to_string(count) + " elements of " + std::to_string(element_bytes) + " bytes";
      if (operation[0] != 0) result += ", " + printable(operation.data());
    }
    if (traits.rooted()) result += ", root " + std::to_string(root);
    return result;
  }
};

// Says which two ranks are the first to see a block differently. The text is empty if there are none. `tables` has two rows for
// each rank: what it gives to each rank, and what it gets from each. An entry is kUnknown if the rank does not say it.
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
std::string first_difference(const std::vector<std::uint64_t>& tables, std::size_t ranks, bool all_alike, const std::string& unit) {
  const auto entry = [&](std::size_t rank, std::size_t way, std::size_t other) { return tables[(rank * 2 + way) * ranks + other]; };
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      const std::uint64_t given = entry(from, 0, to), taken = entry(to, 1, from);
      if (all_alike && taken != entry(0, 1, from))
        return "block " + std::to_string(from) + " has " + std::to_string(entry(0, 1, from)) + unit + " for rank 0, but " +
               std::to_string(taken) + " for rank " + std::to_string(to);
      if (given == kUnknown || taken == kUnknown || given == taken) continue;
      return "rank " + std::to_string(from) + " gives " + std::to_string(given) + unit + " to rank " + std::to_string(to) +
             ", which expects " + std::to_string(taken);
    }
  }
  return {};
}

// Says which two blocks are the first to differ in size where MPI wants all blocks to be alike. `given` is what one rank has for
// another.
template <class Given>
std::string first_unlike(const algorithms::Graph& graph, int ranks, Given&& given) {
  const auto text = [&](int from, int to) {
    return "rank " + std::to_string(from) + " gives " + std::to_string(given(from, to)) + " bytes to rank " + std::to_string(to);
  };
  std::pair<int, int> first{-1, -1};
  for (int from = 0; from < ranks; ++from) {
    for (const int to : graph.takers_of(from)) {
      if (first.first < 0) first = {from, to};
      if (given(from, to) != given(first.first, first.second)) return text(first.first, first.second) + ", but " + text(from, to);
    }
  }
  return {};
}

// Compares the tables of all ranks. `call` says what they call.
std::string compare_blocks(const Group& group, const Arguments& arguments, const std::string& call) {
  const auto ranks = static_cast<std::size_t>(group.ranks), me = static_cast<std::size_t>(group.rank);
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  std::vector<std::uint64_t> table(2 * ranks, kUnknown), tables(2 * ranks * ranks);
  const bool known = traits.sizes_known(), combined = known && traits.reduces, gathered = known && !combined;
  for (std::size_t other = 0; other < ranks; ++other) {
    if (traits.has_input(group.rank, arguments.root) && arguments.input_blocks != nullptr && !combined)
      table[other] = arguments.input_blocks[other].count;
    if (traits.has_output(group.rank, arguments.root) && arguments.output_blocks != nullptr)
      table[ranks + other] = arguments.output_blocks[other].count;
    if (combined) table[ranks + other] = arguments.input_blocks[other].count;
    if (gathered) table[other] = arguments.output_blocks[me].count;
  }
  // In a rooted call, every rank says how long its own block is, which goes to the root or comes from the root.
  const auto root = static_cast<std::size_t>(arguments.root);
  if (traits.output_at_root) table[root] = arguments.count;
  if (traits.input_at_root) table[ranks + root] = arguments.count;
  if (!group.bootstrap->allgather(table.data(), tables.data(), table.size() * sizeof table[0])) return kEnded;
  std::string difference = first_difference(tables, ranks, known, combined ? " elements" : " bytes");
  const auto given = [&](int from, int to) {
    return tables[2 * static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to)];
  };
  if (difference.empty() && group.have_one_size(arguments.alike)) difference = first_unlike(group.graph, group.ranks, given);
  return difference.empty() ? difference : "the ranks do not agree on the blocks of " + call + ": " + difference;
}

}  // namespace

std::string Communicator::compare(const Arguments& arguments, const char* operation) {
  const auto ranks = static_cast<std::size_t>(state_->ranks);
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  Announcement mine;
  mine.collective = static_cast<std::int32_t>(arguments.collective);
  mine.root = arguments.root;
  mine.ragged = arguments.ragged ? 1 : 0;
  mine.alike = arguments.alike ? 1 : 0;
  mine.count = traits.reduces ? arguments.count : arguments.count * arguments.element_bytes;
  mine.element_bytes = traits.reduces ? arguments.element_bytes : 1;
  if (operation != nullptr) std::snprintf(mine.operation.data(), mine.operation.size(), "%s", operation);
  std::vector<Announcement> all(ranks);
  if (!state_->group->bootstrap->allgather(&mine, all.data(), sizeof mine)) return kEnded;
  for (Announcement& one : all) one.operation.back() = 0;
  for (std::size_t other = 0; other < all.size(); ++other)
    if (all[other].refused != 0)
      return "this rank calls " + mine.text() + ", but the call of rank " + std::to_string(other) +
             " was refused: " + printable(all[other].operation.data());
  for (std::size_t other = 1; other < all.size(); ++other)
    if (!all[other].agrees_with(all[0]))
      return "the ranks do not call the same: rank 0 calls " + all[0].text() + ", but rank " + std::to_string(other) + " calls " +
             all[other].text();
  if (traits.permutes) {
    std::vector<int> entries(ranks * ranks);
    if (!state_->group->bootstrap->allgather(arguments.permutation, entries.data(), ranks * sizeof entries[0])) return kEnded;
    for (std::size_t i = ranks; i < entries.size(); ++i) {
      if (entries[i] == entries[i % ranks]) continue;
      const std::string entry = "permutation[" + std::to_string(i % ranks) + "] is ";
      return "the ranks do not agree on the permutation of " + all[0].text() + ": " + entry + std::to_string(entries[i % ranks]) +
             " on rank 0, but " + std::to_string(entries[i]) + " on rank " + std::to_string(i / ranks);
    }
  }
  return arguments.ragged ? compare_blocks(*state_->group, arguments, all[0].text()) : std::string();
}

bool Communicator::compare_refused(const char* why) {
  Announcement mine;
  mine.refused = 1;
  std::snprintf(mine.operation.data(), mine.operation.size(), "%s", why);
  std::vector<Announcement> all(static_cast<std::size_t>(state_->ranks));
  return state_->group->bootstrap->allgather(&mine, all.data(), sizeof mine) &&
         std::all_of(all.begin(), all.end(), [](const Announcement& one) { return one.refused != 0; });
}

}  // namespace copse::communicator
