// Reads a communicator's topology, and makes of it a graph that all ranks know.
#include "neighbors.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "real.hpp"

namespace copse::mpi {
namespace {

constexpr const char* kNoTopology = "a communicator without a topology";
constexpr const char* kTwice = "two ranks that are neighbours more than once";
constexpr const char* kNotAlike = "neighbours that do not know of one another";
constexpr const char* kNotMet = "the ranks could not tell one another who their neighbours are";

Neighbors in_grid(MPI_Comm comm) {
  Neighbors found;
  int dimensions = 0;
  real().Cartdim_get_(comm, &dimensions);
  for (int i = 0; i < dimensions; ++i) {
    int before = MPI_PROC_NULL, behind = MPI_PROC_NULL;
    real().Cart_shift_(comm, i, 1, &before, &behind);
    found.sources.insert(found.sources.end(), {before, behind});
  }
  found.destinations = found.sources;
  return found;
}

Neighbors in_graph(MPI_Comm comm) {
  Neighbors found;
  int rank = 0, count = 0;
  real().Comm_rank_(comm, &rank);
  real().Graph_neighbors_count_(comm, rank, &count);
  found.sources.resize(static_cast<std::size_t>(count));
  real().Graph_neighbors_(comm, rank, count, found.sources.data());
  found.destinations = found.sources;
  return found;
}

Neighbors in_distributed_graph(MPI_Comm comm) {
  Neighbors found;
  int in = 0, out = 0, weighted = 0;
  real().Dist_graph_neighbors_count_(comm, &in, &out, &weighted);
  found.sources.resize(static_cast<std::size_t>(in));
  found.destinations.resize(static_cast<std::size_t>(out));
  // The weights get room, but nobody asks for them.
  std::vector<int> in_weights(found.sources.size() + 1), out_weights(found.destinations.size() + 1);
  real().Dist_graph_neighbors_(comm, in, found.sources.data(), in_weights.data(), out, found.destinations.data(),
                               out_weights.data());
  return found;
}

// Returns the ranks in ascending order, without MPI_PROC_NULL.
std::vector<int> sorted(const int* ranks, int count) {
  std::vector<int> result;
  std::copy_if(ranks, ranks + count, std::back_inserter(result), [](int rank) { return rank != MPI_PROC_NULL; });
  std::sort(result.begin(), result.end());
  return result;
}

bool has_twice(const std::vector<int>& ranks) { return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end(); }

// Tells whether the ranks that give to `rank` by the graph are the same ranks as `sources`.
bool are_sources(const algorithms::Graph& graph, int rank, const std::vector<int>& sources) {
  std::vector<int> givers;
  for (const auto& giver : graph.givers_to(rank)) givers.push_back(giver.rank);
  if (graph.has_edge(rank, rank)) givers.insert(std::upper_bound(givers.begin(), givers.end(), rank), rank);
  return givers == sources;
}

// Gathers the lists of all ranks, whose lengths everybody knows. One rank may have very many neighbours and all others few, so this
// goes in rounds, in which each rank says a few of its neighbours. Returns nothing if that fails.
std::vector<std::vector<int>> gather_lists(const std::vector<int>& mine, const std::vector<std::size_t>& lengths,
                                           communicator::Bootstrap& bootstrap) {
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end()), at_a_time = std::min<std::size_t>(64, longest);
  std::vector<std::vector<int>> lists(lengths.size());
  std::vector<int> part(at_a_time), parts(at_a_time * lengths.size());
  for (std::size_t begin = 0; begin < longest; begin += at_a_time) {
    const auto there = [&](std::size_t length) { return std::min(at_a_time, length - std::min(length, begin)); };
    std::copy_n(mine.begin() + static_cast<std::ptrdiff_t>(std::min(begin, mine.size())), there(mine.size()), part.begin());
    if (!bootstrap.allgather(part.data(), parts.data(), at_a_time * sizeof part[0])) return {};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto from = parts.begin() + static_cast<std::ptrdiff_t>(i * at_a_time);
      lists[i].insert(lists[i].end(), from, from + static_cast<std::ptrdiff_t>(there(lengths[i])));
    }
  }
  return lists;
}

Neighbors neighbors_in(MPI_Comm comm, int kind) {
  if (kind == MPI_CART) return in_grid(comm);
  if (kind == MPI_GRAPH) return in_graph(comm);
  return in_distributed_graph(comm);
}

}  // namespace

std::optional<Neighborhood> meet_neighbors(MPI_Comm comm, communicator::Bootstrap& bootstrap, std::string& why_not) {
  const auto none = [&](const char* why) {
    why_not = why;
    return std::optional<Neighborhood>();
  };
  const int kind = topology_of(comm);
  if (kind == MPI_UNDEFINED) return none(kNoTopology);
  Neighborhood met;
  met.mine = neighbors_in(comm, kind);
  struct Degrees {
    int in, out;
  };
  const Degrees mine{static_cast<int>(met.mine.sources.size()), static_cast<int>(met.mine.destinations.size())};
  std::vector<Degrees> all(static_cast<std::size_t>(bootstrap.ranks()));
  if (!bootstrap.allgather(&mine, all.data(), sizeof mine)) return none(kNotMet);
  std::vector<int> list = met.mine.sources;
  list.insert(list.end(), met.mine.destinations.begin(), met.mine.destinations.end());
  std::vector<std::size_t> lengths;
  for (const Degrees& each : all) lengths.push_back(static_cast<std::size_t>(each.in) + static_cast<std::size_t>(each.out));
  const std::vector<std::vector<int>> lists = gather_lists(list, lengths, bootstrap);
  if (lists.empty()) return none(kNotMet);

  std::vector<std::vector<int>> takers, sources;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int* const of_rank = lists[i].data();
    sources.push_back(sorted(of_rank, all[i].in));
    takers.push_back(sorted(of_rank + all[i].in, all[i].out));
    if (has_twice(takers.back())) return none(kTwice);
    if (!takers.back().empty() && (takers.back().front() < 0 || takers.back().back() >= bootstrap.ranks())) return none(kNotAlike);
  }
  met.graph = algorithms::Graph(std::move(takers));
  for (int rank = 0; rank < bootstrap.ranks(); ++rank)
    if (!are_sources(met.graph, rank, sources[static_cast<std::size_t>(rank)])) return none(kNotAlike);
  return met;
}

Neighborhood between(const TwoGroups& groups) {
  const auto in_a_row = [](int begin, int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), begin);
    return ranks;
  };
  const std::vector<int> own = in_a_row(groups.begin_of_own(), groups.own),
                         others = in_a_row(groups.begin_of_others(), groups.others);
  std::vector<std::vector<int>> takers(own.size() + others.size(), others);
  for (const int rank : others) takers[static_cast<std::size_t>(rank)] = own;
  return {{others, others}, algorithms::Graph(std::move(takers))};
}

}  // namespace copse::mpi
