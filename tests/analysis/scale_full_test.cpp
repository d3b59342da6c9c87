// The plans of all ranks for trees and hierarchies of 65,536 ranks are built and walked in seconds and in little
// memory.
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "analysis/outline.hpp"

namespace copse::analysis {
namespace {

constexpr int kRanks = 65'536;

class Many : public testing::TestWithParam<const char*> {};

TEST_P(Many, AreBuiltAndWalkedInSeconds) {
  const topology::Machine machine = topology::Machine::from("ig");
  const int cores = static_cast<int>(machine.cores().size()), nodes = (kRanks + cores - 1) / cores;
  int sets = 0;
  for (const algorithms::Algorithm& row : algorithms::all()) {
    if (row.name != GetParam()) continue;
    for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
      Variant variant;
      variant.row = &row;
      variant.ranks = kRanks;
      variant.carrier = static_cast<plan::Carrier>(carrier);
      if (!row.carries(variant.carrier)) continue;
      // In these, every rank deals with every other rank, by signals or by blocks.
      const bool rooted = algorithms::traits_of(row.collective).rooted();
      if (!rooted && (row.name == "flat" || algorithms::contents_of(row.collective, 2).blocks > 0)) continue;
      variant.places = std::make_shared<topology::Placement>(make_placement(0, machine, nodes, kRanks));
      for (const auto& place : *variant.places) variant.nodes.push_back(place.at(topology::Level::node));
      algorithms::Request request;
      request.ranks = kRanks;
      request.carrier = variant.carrier;
      request.places = variant.places.get();
      if (const std::string refusal = row.refusal(request); !refusal.empty()) {  // reduce flat by put: scratches
        EXPECT_NE(refusal.find("its plan needs more scratches than the 65535 there are"), std::string::npos) << refusal;
        continue;
      }
      const std::clock_t begin = std::clock();
      variant.plans = build_plans(variant);
      const Outline outline = outline_of(variant);
      EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 30) << variant.name();
      EXPECT_GE(outline.steps, static_cast<std::uint64_t>(kRanks));
      ++sets;
    }
  }
  EXPECT_GT(sets, 0);
}

INSTANTIATE_TEST_SUITE_P(Rows, Many,
                         testing::Values("flat", "hierarchical", "hierarchical_flat", "hierarchical_pipelined", "knomial", "prop",
                                         "fixed", "tree", "tree_two_stage", "node_allreduce", "reduce_broadcast_two_stage"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace copse::analysis
