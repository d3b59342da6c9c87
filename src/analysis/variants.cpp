// Makes the combinations of placement, root and radix, in the order in which they are sampled.
#include "analysis/variants.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "topology/layout.hpp"
#include "topology/recorded.hpp"

namespace copse::analysis {

using algorithms::Algorithm;
using topology::Level;
using topology::Machine;

namespace {

constexpr int kRadices[] = {2, 3, 4, 8};
constexpr int kNodes[] = {1, 2, 3, 9};  // 9: what goes from node to node in rounds is passed on several times
constexpr int kAllPermuted = 4;          // ranks of which all permutations are tried
constexpr std::uint64_t kPermutations = 16;  // of more
constexpr std::uint64_t kGraphs = 16;
constexpr std::uint64_t kHelperChoices = 6;  // how many numbers of helpers are tried
constexpr int kRemembered = 64;  // ranks: plans of more take too much memory to be kept for comparison

int helpers_number(std::uint64_t choice, int ranks) {
  const int numbers[kHelperChoices] = {1, 2, 3, ranks / 8, ranks / 2, ranks - 1};
  return std::clamp(numbers[choice], 1, ranks - 1);
}

}  // namespace

const char* layout_name(int layout) {
  constexpr const char* kNames[kLayouts] = {"block", "cyclic", "random"};
  return kNames[layout];
}

topology::Placement make_placement(int layout, const Machine& machine, int nodes, int ranks) {
  if (layout == 0) return place_block(machine, nodes, ranks);
  if (layout == 1) return place_cyclic(machine, nodes, ranks);
  topology::Placement places = place_random(machine, nodes, ranks, static_cast<std::uint64_t>(ranks));
  // The network is next to the last region of each node, so that its leader need not be its first rank.
  const auto last = static_cast<std::int32_t>(machine.regions().size()) - 1,
             stride = static_cast<std::int32_t>(machine.processors().size());
  for (topology::Place& place : places) place.by_network = last > 0 && place.at(Level::numa) % stride == last ? 1 : 0;
  return places;
}

const std::vector<Machine>& machines() {
  static const std::vector<Machine> kMachines = [] {
    std::vector<Machine> all;
    for (const auto& recorded : topology::recorded_machines()) all.push_back(Machine::from(recorded.name));
    return all;
  }();
  return kMachines;
}

std::string Variant::name() const {
  std::string text{name_of(row->collective)};
  text.append(" ").append(row->name).append(" by ").append(plan::name_of(carrier));
  text.append(", ").append(std::to_string(ranks)).append(" ranks");
  if (helpers > 0) text.append(", ").append(std::to_string(helpers)).append(" of them helpers");
  const algorithms::Traits& traits = algorithms::traits_of(row->collective);
  if (traits.rooted()) text.append(", root ").append(std::to_string(root));
  if (traits.permutes) text.append(", permutation ").append(std::to_string(root));
  if (traits.along_edges) text.append(", graph ").append(std::to_string(root));
  if (modes.in == plan::Sync::none) text.append(", in nosync");
  if (modes.out == plan::Sync::none) text.append(", out nosync");
  if (modes.placed) text.append(", buffers placed");
  return text.append(", radix ").append(std::to_string(radix)).append(", ").append(placement);
}

std::uint64_t roots_of(algorithms::Collective collective, int ranks) {
  const algorithms::Traits& traits = algorithms::traits_of(collective);
  if (traits.along_edges) return kGraphs;
  if (!traits.permutes) return traits.rooted() ? static_cast<std::uint64_t>(ranks) : 1;
  std::uint64_t permutations = 1;
  for (int i = 2; i <= ranks && ranks <= kAllPermuted; ++i) permutations *= static_cast<std::uint64_t>(i);
  return ranks <= kAllPermuted ? permutations : kPermutations;
}

std::vector<int> permutation_number(std::uint64_t number, int ranks) {
  std::vector<int> result(at(ranks));
  std::iota(result.rbegin(), result.rend(), 0);
  if (ranks <= kAllPermuted) {
    for (; number > 0; --number) std::prev_permutation(result.begin(), result.end());
    return result;
  }
  number %= kPermutations;
  const auto each = [&](auto&& taker) {
    for (int rank = 0; rank < ranks; ++rank) result[at(rank)] = taker(rank);
    return result;
  };
  switch (number) {
    case 0: return result;
    case 1: return each([](int rank) { return rank; });
    case 2: return each([&](int rank) { return (rank + 1) % ranks; });
    case 3: return each([&](int rank) { return (rank + ranks - 1) % ranks; });
    case 4: return each([&](int rank) { return (rank + ranks / 2) % ranks; });
    case 5: return each([&](int rank) { return (rank ^ 1) < ranks ? rank ^ 1 : rank; });
    default: break;
  }
  // Ranks that move are exchanged with earlier ones that do (Fisher and Yates).
  std::minstd_rand random(static_cast<unsigned>(number) * 1000 + static_cast<unsigned>(ranks));
  each([](int rank) { return rank; });
  std::vector<std::size_t> moved;
  for (std::size_t rank = 0; rank < result.size(); ++rank) {
    if (number % 2 == 0 && random() % 3 == 0) continue;
    moved.push_back(rank);
    std::swap(result[rank], result[moved[random() % moved.size()]]);
  }
  return result;
}

std::vector<int> permutation_of(const Variant& variant) {
  if (!algorithms::traits_of(variant.row->collective).permutes) return {};
  return permutation_number(static_cast<std::uint64_t>(variant.root), variant.ranks);
}

algorithms::Graph graph_number(std::uint64_t number, int ranks) {
  number %= kGraphs;
  std::minstd_rand random(static_cast<unsigned>(number) * 1000 + static_cast<unsigned>(ranks));
  const auto has_edge = [&](int from, int to) {
    const int ahead = (to - from + ranks) % ranks;
    if (ranks <= 2) return (number >> (2 * from + to) & 1) != 0;
    switch (number) {
      case 0: return ahead == 1 || ahead == ranks - 1;
      case 1: return true;
      case 2: return false;
      case 3: return from == 0;
      case 4: return to == 0;
      case 5: return ahead == 1;
      case 6: return ahead == 0;
      case 7: return ahead > 0 && (from ^ to) == 1;
      default: return random() % number < 3;  // the higher the number, the fewer edges
    }
  };
  std::vector<std::vector<int>> takers(at(ranks));
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (has_edge(from, to)) takers[at(from)].push_back(to);
  return algorithms::Graph(std::move(takers));
}

algorithms::Graph graph_of(const Variant& variant) {
  if (!algorithms::traits_of(variant.row->collective).along_edges) return {};
  return graph_number(static_cast<std::uint64_t>(variant.root), variant.ranks);
}

namespace {

// What a request refers to beside placements.
struct Subject {
  explicit Subject(const Variant& variant)
      : shared(variant.ranks, variant.places.get()), permutation(permutation_of(variant)), graph(graph_of(variant)) {}

  const algorithms::Shared shared;
  const std::vector<int> permutation;
  const algorithms::Graph graph;
};

// Returns the request of rank 0.
algorithms::Request request_for(const Variant& variant, const Subject& subject) {
  algorithms::Request request;
  request.shared = &subject.shared;
  request.ranks = variant.ranks;
  request.helpers = variant.helpers;
  request.root = algorithms::traits_of(variant.row->collective).rooted() ? variant.root : 0;
  request.permutation = subject.permutation;
  request.graph = &subject.graph;
  request.carrier = variant.carrier;
  request.radix = variant.radix;
  request.modes = variant.modes;
  request.places = variant.places.get();
  return request;
}

}  // namespace

std::shared_ptr<const Plans> build_plans(const Variant& variant) {
  auto plans = std::make_shared<Plans>();
  plans->reserve(at(variant.ranks));
  const Subject subject(variant);
  algorithms::Request request = request_for(variant, subject);
  for (request.rank = 0; request.rank < variant.ranks; ++request.rank) plans->push_back(variant.row->plan(request));
  return plans;
}

bool differs(const Variant& variant, int other_radix) {
  constexpr int kAllOf = 17;  // up to this many ranks, look at all of them
  const Subject subject(variant);
  algorithms::Request request = request_for(variant, subject);
  for (request.rank = 0; request.rank < variant.ranks; ++request.rank) {
    const bool ends = request.rank < 2 || request.rank + 2 >= variant.ranks;
    const bool near_root = request.rank >= variant.root - 1 && request.rank <= variant.root + 1;
    const bool helps = request.rank >= variant.callers();
    if (variant.ranks > kAllOf && !ends && !near_root && !helps) continue;
    request.radix = variant.radix;
    const plan::Plan mine = variant.row->plan(request);
    request.radix = other_radix;
    if (variant.row->plan(request) != mine) return true;
  }
  return false;
}

Combinations::Combinations(const Algorithm& row, int ranks, const Machine* only)
    : row_(row), ranks_(ranks), only_(only), machines_(only != nullptr ? 1 : machines().size()),
      nodes_(static_cast<std::uint64_t>(std::upper_bound(std::begin(kNodes), std::end(kNodes), ranks) - std::begin(kNodes))),
      roots_(roots_of(row.collective, ranks)),
      others_(nodes_ * machines_ * kLayouts * std::size(kRadices) * (row.served() ? kHelperChoices : 1)), size_(others_ * roots_) {
  // Steps of the golden ratio of the whole cover it evenly (Weyl). A step that has no factor in common with the size comes
  // everywhere.
  stride_ = std::max<std::uint64_t>(1, others_ * 618034 / 1000000);
  while (std::gcd(stride_, others_) != 1) ++stride_;
  const auto which = static_cast<std::uint64_t>(&row - algorithms::all().data());
  first_ = (which * 7919 + static_cast<std::uint64_t>(ranks) * 104729) % size_;
}

std::vector<Variant> Combinations::at(std::uint64_t number) const {
  // Each step advances the root by one. When the root and the rest are both back where they began, the root skips one, so that
  // every root meets every combination of the rest.
  std::uint64_t rest = (first_ + number * stride_) % others_;
  const auto digit = [&rest](std::uint64_t base) {
    const std::uint64_t value = rest % base;
    rest /= base;
    return value;
  };
  Variant variant;
  variant.row = &row_;
  variant.ranks = ranks_;
  variant.root = static_cast<int>((first_ + number + number / std::lcm(others_, roots_)) % roots_);
  if (row_.served()) {
    variant.helpers = helpers_number(digit(kHelperChoices), ranks_);
    variant.root %= variant.callers();
  }
  // What matters most comes last, so that neighbours in the sample differ in it.
  variant.radix = kRadices[digit(std::size(kRadices))];
  const auto layout = static_cast<int>(digit(kLayouts));
  const std::uint64_t which = digit(machines_);
  const Machine& machine = only_ != nullptr ? *only_ : machines()[which];
  const int nodes = kNodes[rest];
  variant.places = std::make_shared<topology::Placement>(make_placement(layout, machine, nodes, ranks_));
  variant.placement = std::string(layout_name(layout)) + " on " + (nodes > 1 ? std::to_string(nodes) + " x " : "") + machine.name();
  if (nodes > 1)
    for (const auto& place : *variant.places) variant.nodes.push_back(place.at(Level::node));
  std::vector<Variant> result;
  for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
    variant.carrier = static_cast<plan::Carrier>(carrier);
    if (row_.carries(variant.carrier)) result.push_back(variant);
  }
  return result;
}

std::vector<Variant> Combinations::with_radix(int radix, int nodes) const {
  const auto fits = [nodes](const Variant& variant) {
    const std::set<std::int32_t> different(variant.nodes.begin(), variant.nodes.end());
    return nodes == 0 || std::max<std::size_t>(1, different.size()) == analysis::at(nodes);
  };
  std::vector<Variant> result;
  for (std::uint64_t number = 0; number < others_ && nodes <= ranks_ && result.empty(); ++number)
    if (std::vector<Variant> next = at(number); fits(next.front())) result = std::move(next);
  for (Variant& variant : result) {
    variant.radix = radix;
    if (row_.served()) variant.helpers = std::max(1, ranks_ / 2);
    variant.root %= variant.callers();
  }
  return result;
}

std::vector<Variant> Combinations::apart(Level level, int radix) const {
  auto places = std::make_shared<topology::Placement>(analysis::at(ranks_));
  for (int rank = 0; rank < ranks_; ++rank)
    for (std::size_t inner = static_cast<std::size_t>(level); inner < topology::kLevels; ++inner)
      (*places)[analysis::at(rank)].id[inner] = rank;
  std::vector<Variant> result = with_radix(radix);
  for (Variant& variant : result) {
    variant.places = places;
    variant.placement = std::string("one rank for each ").append(topology::level_name(level));
    variant.nodes.clear();
    if (level == Level::node)
      for (const auto& place : *places) variant.nodes.push_back(place.at(Level::node));
  }
  return result;
}

std::string Combinations::placements(const Machine* only) {
  std::string text;
  for (int layout = 0; layout < kLayouts; ++layout) text.append(layout > 0 ? ", " : "").append(layout_name(layout));
  text.append(" on ");
  for (const int nodes : kNodes) text.append(nodes > 1 ? ", " : "").append(std::to_string(nodes));
  text.append(" nodes of ");
  if (only != nullptr) return text.append(only->name());
  for (const Machine& machine : machines()) text.append(&machine > machines().data() ? ", " : "").append(machine.name());
  return text;
}

std::string Combinations::radices() {
  std::string text;
  for (const int radix : kRadices) text.append(text.empty() ? "" : ", ").append(std::to_string(radix));
  return text;
}

bool Seen::add(const Variant& variant) {
  if (variant.ranks > kRemembered) return true;
  const bool known = std::any_of(variants_.begin(), variants_.end(), [&](const Variant& other) {
    return other.carrier == variant.carrier && other.root == variant.root && other.nodes == variant.nodes &&
           *other.plans == *variant.plans;
  });
  if (!known) variants_.push_back(variant);
  return !known;
}

std::vector<Variant> variants(const Algorithm& row, int ranks, std::uint64_t combinations) {
  if (ranks < row.least_ranks()) return {};
  const Combinations all(row, ranks);
  std::vector<Variant> result;
  Seen seen;
  for (std::uint64_t number = 0; number < std::min(all.size(), combinations); ++number) {
    for (Variant& variant : all.at(number)) {
      variant.plans = build_plans(variant);
      if (seen.add(variant)) result.push_back(std::move(variant));
    }
  }
  return result;
}

}  // namespace copse::analysis
