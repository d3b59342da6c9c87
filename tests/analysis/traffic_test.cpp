// Algorithms move what the papers promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "analysis/traffic.hpp"

namespace copse::analysis {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;
using topology::Level;
using topology::Machine;

Variant variant_of(const Algorithm& row, Carrier carrier, const Machine& machine, int layout, int root = 0, int ranks = 0,
                   int helpers = 0) {
  Variant variant;
  variant.row = &row;
  variant.helpers = helpers;
  variant.ranks = ranks > 0 ? ranks : static_cast<int>(machine.cores().size());
  variant.root = root;
  variant.carrier = carrier;
  variant.places = std::make_shared<topology::Placement>(make_placement(layout, machine, 1, variant.ranks));
  variant.placement = std::string(layout_name(layout)) + " on " + machine.name();
  variant.plans = build_plans(variant);
  return variant;
}

double from_to(const Traffic& traffic, int from, int to) {
  const auto flow = std::find_if(traffic.moved.begin(), traffic.moved.end(),
                                 [&](const Flow& each) { return each.from == from && each.to == to; });
  return flow == traffic.moved.end() ? 0 : flow->bytes;
}

// Bytes from one object of a level to another, [from][to]. Objects are numbered as they appear.
struct Links {
  std::vector<std::int32_t> ids;  // of the objects
  std::vector<int> ranks;         // in each
  std::vector<std::vector<double>> bytes;

  Links(const Traffic& traffic, const topology::Placement& places, Level level) {
    std::vector<std::size_t> object;
    for (const auto& place : places) {
      const auto found = std::find(ids.begin(), ids.end(), place.at(level));
      object.push_back(static_cast<std::size_t>(found - ids.begin()));
      if (found == ids.end()) ids.push_back(place.at(level));
    }
    ranks.resize(ids.size());
    bytes.assign(ids.size(), std::vector<double>(ids.size()));
    for (std::size_t from = 0; from < places.size(); ++from) {
      ++ranks[object[from]];
      for (std::size_t to = 0; to < places.size(); ++to)
        bytes[object[from]][object[to]] += from_to(traffic, static_cast<int>(from), static_cast<int>(to));
    }
  }
  double into(std::size_t object) const {
    double sum = 0;
    for (std::size_t from = 0; from < ids.size(); ++from)
      if (from != object) sum += bytes[from][object];
    return sum;
  }
};

constexpr double kTiny = 1e-9;

TEST(Traffic, OfAPlanThatCanBeCountedByHand) {
  // Through slots, a chain of three copies once into the root's slot, and twice at each rank that passes the message
  // on.
  const Machine machine = Machine::from("package:2 core:2 pu:1");
  const Variant chain = variant_of(*algorithms::find(Collective::broadcast, "chain"), Carrier::slot, machine, 0, 0, 3);
  const Traffic traffic = traffic_of(chain);
  EXPECT_EQ(traffic.steps, 2);
  EXPECT_DOUBLE_EQ(traffic.copied, 1 + 2 + 1);
  EXPECT_DOUBLE_EQ(traffic.reduced, 0);
  EXPECT_DOUBLE_EQ(from_to(traffic, 0, 1), 1);
  EXPECT_DOUBLE_EQ(from_to(traffic, 1, 2), 1);
  EXPECT_DOUBLE_EQ(from_to(traffic, 0, 2), 0);
  EXPECT_DOUBLE_EQ(traffic.across(*chain.places, Level::package), 1);
  EXPECT_DOUBLE_EQ(traffic.across(*chain.places, Level::core), 2);
}

TEST(Traffic, OfAReduction) {
  const Machine machine = Machine::from("package:2 core:2 pu:1");
  const Traffic traffic = traffic_of(variant_of(*algorithms::find(Collective::reduce, "flat"), Carrier::get, machine, 0, 1));
  EXPECT_EQ(traffic.steps, 2) << "the addresses, and that the root is done";
  EXPECT_DOUBLE_EQ(traffic.copied, 0);
  EXPECT_DOUBLE_EQ(traffic.reduced, 3);
  for (int rank : {0, 2, 3}) EXPECT_DOUBLE_EQ(from_to(traffic, rank, 1), 1);
}

// Eight callers and four helpers. The helpers exchange twice, and need half as many blocks each time.
TEST(Traffic, OfHelpersIsWhatTheirCallersStillNeed) {
  const Machine machine = Machine::from("package:1 core:12 pu:1");
  const Algorithm& row = *algorithms::find(Collective::reduce_scatter, "served");
  const Traffic traffic = traffic_of(variant_of(row, Carrier::slot, machine, 0, 0, 12, 4));
  EXPECT_DOUBLE_EQ(from_to(traffic, 0, 8), 8) << "a block for each caller";
  EXPECT_DOUBLE_EQ(from_to(traffic, 8, 9), 4);
  EXPECT_DOUBLE_EQ(from_to(traffic, 8, 10), 2);
  EXPECT_DOUBLE_EQ(from_to(traffic, 8, 11), 0);
  EXPECT_DOUBLE_EQ(from_to(traffic, 8, 0), 1);
}

TEST(Traffic, LevelsThatDivideAlikeAreOne) {
  const auto names = [](const char* machine, int ranks) {
    std::string text;
    const topology::Placement places = make_placement(0, Machine::from(machine), 1, ranks);
    for (const Division& division : divisions(places)) text += division.name + ";";
    return text;
  };
  EXPECT_EQ(names("ig", 48), "board;package, numa, l3;l2, core;");
  EXPECT_EQ(names("zoot", 16), "package;l3, l2;core;");
  EXPECT_EQ(names("grace", 1), "");
}

// KNEM IV: linear single-copy collectives. Data is copied only into the buffers where it must go.
class SingleCopy : public testing::TestWithParam<Collective> {};

TEST_P(SingleCopy, MovesEachByteOnce) {
  const auto& traits = algorithms::traits_of(GetParam());
  const Algorithm& row = *algorithms::find(GetParam(), "flat");
  int carriers = 0;
  for (const Carrier carrier : {Carrier::get, Carrier::put}) {
    if (!row.carries(carrier)) continue;
    ++carriers;
    for (const Machine& machine : machines()) {
      const Variant variant = variant_of(row, carrier, machine, 2, static_cast<int>(machine.cores().size()) / 3);
      const Traffic traffic = traffic_of(variant);
      double received = 0, own = 0;
      for (int rank = 0; rank < variant.ranks; ++rank) {
        if (!traits.has_output(rank, variant.root)) continue;
        if (traits.one_buffer && rank == variant.root) continue;
        received += plan::blocks_in(traits.output, variant.ranks);
        own += !traits.one_buffer && traits.has_input(rank, variant.root) ? 1 : 0;
      }
      EXPECT_NEAR(traffic.copied, received, kTiny) << variant.name();
      double between = 0;
      for (const Flow& flow : traffic.moved) between += flow.bytes;
      EXPECT_NEAR(between, received - own, kTiny) << variant.name();
    }
  }
  EXPECT_GT(carriers, 0);
}

INSTANTIATE_TEST_SUITE_P(Flat, SingleCopy,
                         testing::Values(Collective::broadcast, Collective::gather, Collective::scatter, Collective::allgather,
                                         Collective::alltoall),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// KNEM V: each byte crosses each link between sockets once. A hierarchical tree enters each region and each package
// once, from one other. What a rank reads from another region does not cross the link again for its neighbours.
TEST(Hierarchical, BroadcastsCrossEachLinkBetweenSocketsOncePerByte) {
  std::set<std::string_view> rows;
  for (const Algorithm& row : algorithms::all()) {
    if (row.collective != Collective::broadcast || !row.name.starts_with("hierarchical")) continue;
    rows.insert(row.name);
    for (const Machine& machine : machines()) {
      for (int layout = 0; layout < kLayouts; ++layout) {
        for (const Carrier carrier : {Carrier::slot, Carrier::get, Carrier::put}) {
          const int root = static_cast<int>(machine.cores().size()) * 2 / 3;
          const Variant variant = variant_of(row, carrier, machine, layout, root);
          const Traffic traffic = traffic_of(variant);
          for (const Level level : {Level::board, Level::package, Level::numa}) {
            const Links links(traffic, *variant.places, level);
            const std::int32_t home = (*variant.places)[static_cast<std::size_t>(root)].at(level);
            for (std::size_t to = 0; to < links.ids.size(); ++to) {
              const std::string where = variant.name() + ", " + std::string(level_name(level)) + " " + std::to_string(to);
              EXPECT_NEAR(links.into(to), links.ids[to] == home ? 0 : 1, kTiny) << where;
              for (std::size_t from = 0; from < links.ids.size(); ++from) {
                if (from == to) continue;
                EXPECT_LE(links.bytes[from][to], 1 + kTiny) << where;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GE(rows.size(), 3u);
}

TEST(Hierarchical, AFlatBroadcastCrossesThemOftener) {  // otherwise the test above would notice nothing
  const Machine machine = Machine::from("ig");
  const Variant flat = variant_of(*algorithms::find(Collective::broadcast, "flat"), Carrier::get, machine, 0);
  EXPECT_DOUBLE_EQ(Links(traffic_of(flat), *flat.places, Level::package).into(1), 6);
}

// HMPI 2.4. Messages of m bytes, s sockets of q threads. Equation 8: the threads of a socket reduce q chunks each, of
// m/q bytes: q m bytes in all. Equation 9: ceil(log2 s) steps across sockets, of m bytes each. Equation 11 adds a
// broadcast in two stages: m bytes into each socket, and (q-1) m inside it. So the bytes that ranks move may be at most
//     inside a socket    q m  +  (q-1) m
//     into a socket      ceil(log2 s) m  +  m
double formula_inside(int q, bool broadcast) { return q + (broadcast ? q - 1 : 0); }
double formula_into(std::size_t s, bool broadcast) {
  return std::ceil(std::log2(static_cast<double>(s))) + (broadcast && s > 1 ? 1 : 0);
}

TEST(Tiled, HierarchicalReductionsMoveNoMoreThanThePapersFormula) {
  const Algorithm& row = *algorithms::find(Collective::allreduce, "tiled_hierarchical");
  for (const Machine& machine : machines()) {
    for (int layout = 0; layout < kLayouts; ++layout) {
      for (const Carrier carrier : {Carrier::slot, Carrier::get}) {
        const Variant variant = variant_of(row, carrier, machine, layout);
        const Links links(traffic_of(variant), *variant.places, Level::numa);
        for (std::size_t socket = 0; socket < links.ids.size(); ++socket) {
          EXPECT_LE(links.bytes[socket][socket], formula_inside(links.ranks[socket], true) + kTiny) << variant.name();
          EXPECT_LE(links.into(socket), formula_into(links.ids.size(), true) + kTiny) << variant.name();
        }
      }
    }
  }
}

// The naive and the cyclic form treat the machine as one socket (HMPI 3.2). So do reduce and reduce-scatter (HMPI 2.6);
// the former gives the root all tiles but its own.
TEST(Tiled, NaiveReductionsMoveNoMoreThanThePapersFormulaForOneSocket) {
  int rows = 0;
  for (const Algorithm& row : algorithms::all()) {
    const bool naive = row.name == "tiled" || row.name == "tiled_cyclic";
    if (!naive) continue;
    ++rows;
    for (const Machine& machine : machines()) {
      for (int number = 0; number < plan::kCarriers; ++number) {
        const auto carrier = static_cast<Carrier>(number);
        if (!row.carries(carrier)) continue;
        const Variant variant = variant_of(row, carrier, machine, 0);
        const Traffic traffic = traffic_of(variant);
        const int q = variant.ranks;
        const double unit = algorithms::contents_of(row.collective, q).blocks > 0 ? q : 1;  // blocks of a message
        double between = 0;
        for (const Flow& flow : traffic.moved) between += flow.bytes / unit;
        EXPECT_LE(between, formula_inside(q, row.collective == Collective::allreduce) + kTiny) << variant.name();
        EXPECT_NEAR(traffic.reduced / unit, q - 1, kTiny) << variant.name();
      }
    }
  }
  EXPECT_GE(rows, 4);
}

}  // namespace
}  // namespace copse::analysis
