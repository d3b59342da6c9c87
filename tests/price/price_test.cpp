// Prices: what the papers calculate and find, what taking turns costs, and that every algorithm has a price.
#include "price/price.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "price/hmpi.hpp"

namespace copse::price {
namespace {

using algorithms::Collective;
using plan::Carrier;

Question question_of(const Parameters &machine, Collective collective, std::string_view name, Carrier carrier, std::size_t bytes,
                     int ranks = 0, int nodes = 1) {
  Question question;
  analysis::Variant &variant = question.variant;
  variant.row = algorithms::find(collective, name);
  variant.carrier = carrier;
  variant.ranks = ranks == 0 ? static_cast<int>(machine.machine.cores().size()) : ranks;
  variant.places = std::make_shared<topology::Placement>(analysis::make_placement(0, machine.machine, nodes, variant.ranks));
  if (nodes > 1)
    for (const topology::Place &place : *variant.places) variant.nodes.push_back(place.at(topology::Level::node));
  variant.plans = analysis::build_plans(variant);
  question.bytes = bytes;
  return question;
}

// A machine as HMPI's model sees it: signals take no time, nor does what a processor does in its own caches (HMPI 2.1).
Parameters hmpi(const std::string &name) {
  Parameters machine = parameters_of(name);
  machine.steps = {};
  machine.own.one = kUnbounded;
  for (Nearness &each : machine.nearness) {
    each.flag_ns = 0;
    each.write = kUnbounded;
  }
  machine.reduce = {{"", kUnbounded}};
  return machine;
}

double allreduce(const Parameters &machine, std::string_view name, std::size_t bytes) {
  return price(question_of(machine, Collective::allreduce, name, Carrier::get, bytes), machine).ns;
}

TEST(Hmpi, ALineTakesWhatThePaperSays) {
  EXPECT_NEAR(allreduce(hmpi("westmere"), "reduce_broadcast", 64), 306.7, 0.05) << "HMPI 3.4: 3 (Rs + 2 Rl) + (Rr + 2 Rl) + (Rr + Rl)";
  EXPECT_NEAR(allreduce(hmpi("magny-cours-hmpi"), "reduce_broadcast_two_stage", 64), 608.4, 0.05)
      << "HMPI 3.4: 3 (Rs + 2 Rl) + 2 (Rr + 2 Rl) + (Rd + Rl) + (Rs + Rl)";
}

TEST(Hmpi, TilesWinFromWhereThePaperSays) {
  // The paper unfolds equation 5 with d = 4.
  EXPECT_NEAR(Hmpi::of(parameters_of("westmere"), 6, 2).crosspoint(4) * kLine, 16384, 200) << "HMPI 3.4, figure 24";
  EXPECT_NEAR(Hmpi::of(parameters_of("magny-cours-hmpi"), 8, 4).crosspoint(4) * kLine, 14336, 200) << "HMPI 3.4, figure 25";
}

TEST(Hmpi, EquationOneCountsUncongestedThreads) {
  const auto left = [](double b_over_B, int q) {
    Hmpi machine;
    machine.b_alpha = b_over_B;
    machine.B_alpha = 1;
    machine.q = q;
    return machine.uncongested();
  };
  EXPECT_EQ(left(1, 8), 3) << "one reader fills the cache's bandwidth: 2^(1 + 0) + 1";
  EXPECT_EQ(left(2.9, 8), 6) << "2^(1 + 1) + 2";
  EXPECT_EQ(left(4, 8), 8) << "2^(1 + 2) + 4, but there are only eight";
}

// Equations and walk, for messages of many lines: latencies do not matter then.
TEST(Hmpi, TheWalkFollowsTheEquations) {
  constexpr std::size_t kBytes = 65536;
  constexpr double m = kBytes / kLine;
  const Parameters magny_cours = hmpi("magny-cours-hmpi"), westmere = hmpi("westmere");
  const Hmpi of_magny_cours = Hmpi::of(magny_cours, 8, 4), of_westmere = Hmpi::of(westmere, 6, 2);
  const auto near = [](double walked, double calculated, double within) { EXPECT_NEAR(walked / calculated, 1, within) << walked << " " << calculated; };
  // Four of eight threads, then two, then one read at a time, and two of them fill the cache's bandwidth: d = 4.
  near(allreduce(magny_cours, "reduce_broadcast", kBytes), of_magny_cours.reduction(m, 4) + of_magny_cours.one_stage_broadcast(m), 0.01);
  near(allreduce(magny_cours, "reduce_broadcast_two_stage", kBytes), of_magny_cours.reduction(m, 4) + of_magny_cours.two_stage_broadcast(m), 0.01);
  near(allreduce(westmere, "reduce_broadcast", kBytes), of_westmere.reduction(m, 4) + of_westmere.one_stage_broadcast(m), 0.06);
  near(allreduce(westmere, "reduce_broadcast_two_stage", kBytes), of_westmere.reduction(m, 4) + of_westmere.two_stage_broadcast(m), 0.08);
  near(allreduce(magny_cours, "dissemination", kBytes), of_magny_cours.dissemination(m), 0.01);
  EXPECT_LT(allreduce(westmere, "dissemination", kBytes), of_westmere.dissemination(m)) << "12 is no power of two: equation 7 is a bound";
  // HMPI's thread reads all q parts of its tile from the socket's cache, ours reads its own part for nothing. With two sockets the
  // finished tile goes down one link, as in equation 4.
  const double own_tiles = of_westmere.B_alpha * m;
  near(allreduce(westmere, "tiled_hierarchical", kBytes), of_westmere.tiled_reduction(m) - own_tiles + of_westmere.two_stage_broadcast(m), 0.05);
}

// KNEM VI.C, broadcast with buffers in no cache, by the kernel's copy.
TEST(Knem, ThePipelinedHierarchyWinsOnIg) {
  const Parameters ig = parameters_of("ig");
  for (const std::size_t bytes : {std::size_t{32768}, std::size_t{262144}, std::size_t{4194304}}) {
    const auto time = [&](std::string_view name, Carrier carrier) {
      Question question = question_of(ig, Collective::broadcast, name, carrier, bytes);
      question.reach = Reach::kernel;
      question.cold = true;
      question.fragment_bytes = std::min<std::size_t>(bytes, 16384);
      return price(question, ig).ns;
    };
    const double pipelined = time("hierarchical_pipelined", Carrier::get);
    EXPECT_LT(5 * pipelined, time("flat", Carrier::get)) << bytes << ": one link between the boards carries 24 readers";
    EXPECT_LT(pipelined, time("hierarchical_pipelined", Carrier::slot)) << bytes << ": two copies instead of one";
    EXPECT_LT(pipelined, time("knomial", Carrier::slot)) << bytes;
  }
}

TEST(Knem, OneStageIsAsGoodOnZoot) {
  const Parameters zoot = parameters_of("zoot");
  for (const std::size_t bytes : {std::size_t{32768}, std::size_t{262144}, std::size_t{4194304}}) {
    const auto time = [&](std::string_view name, Carrier carrier) {
      Question question = question_of(zoot, Collective::broadcast, name, carrier, bytes);
      question.reach = Reach::kernel;
      question.cold = true;
      if (carrier == Carrier::slot) question.fragment_bytes = std::min<std::size_t>(bytes, 16384);
      return price(question, zoot).ns;
    };
    const double linear = time("flat", Carrier::get);
    EXPECT_LT(linear, 1.03 * time("hierarchical_pipelined", Carrier::get)) << bytes << ": there is one memory";
    EXPECT_LT(linear, time("flat", Carrier::slot)) << bytes;
    EXPECT_LT(linear, time("knomial", Carrier::slot)) << bytes;
  }
}

TEST(Price, PartsAddUpToTheWhole) {
  const Parameters epyc = parameters_of("epyc");
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{65536}}) {
    const Price found = price(question_of(epyc, Collective::allreduce, "tiled_hierarchical", Carrier::get, bytes, 24), epyc);
    double sum = 0;
    for (const auto &share : found.shares()) sum += share.ns;
    EXPECT_NEAR(sum, found.ns, 1e-6 * found.ns);
    ASSERT_FALSE(found.path.empty());
    for (std::size_t i = 1; i < found.path.size(); ++i) EXPECT_NEAR(found.path[i].from, found.path[i - 1].to, 1e-6) << i;
  }
}

TEST(Price, CallsOverlap) {
  const Parameters grace = parameters_of("grace");
  Question question = question_of(grace, Collective::broadcast, "chain", Carrier::slot, 4096, 16);
  const double alone = price(question, grace).ns;
  question.calls = 20;
  EXPECT_LT(price(question, grace).ns, alone / 4) << "the root of a chain has begun the next call long before the last rank has the message";
}

TEST(Price, RanksThatShareAProcessorTakeTurns) {
  Parameters machine = parameters_of("grace");
  machine.machine = topology::Machine::from("core:2 pu:1");
  machine.steps.turn_ns = 1000;
  const auto barrier = [&](int ranks) { return price(question_of(machine, Collective::barrier, "dissemination", Carrier::line, 0, ranks), machine).ns; };
  EXPECT_LT(barrier(2), 500) << "everybody has a processor";
  EXPECT_GT(barrier(8), 3000) << "on each processor four ranks have a turn at least, one after the other";
  EXPECT_LT(barrier(8), 20000);
}

TEST(Price, EveryAlgorithmHasOne) {
  for (const char *name : {"westmere", "epyc"}) {
    const Parameters machine = parameters_of(name);
    for (const algorithms::Algorithm &row : algorithms::all()) {
      for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
        if (!row.carries(static_cast<Carrier>(carrier))) continue;
        for (const int nodes : {1, 2}) {
          Question question = question_of(machine, row.collective, row.name, static_cast<Carrier>(carrier), 64, 12, nodes);
          question.reach = Reach::kernel;
          question.calls = 2;
          const double ns = price(question, machine).ns;
          EXPECT_TRUE(std::isfinite(ns) && ns > 0) << question.variant.name() << ": " << ns;
        }
      }
    }
  }
}

TEST(Price, SaysWhatTheMachineLacks) {
  Parameters machine = parameters_of("epyc");
  machine.network.reset();
  const Question apart = question_of(machine, Collective::broadcast, "flat", Carrier::slot, 64, 8, 2);
  EXPECT_THROW(static_cast<void>(price(apart, machine)), std::invalid_argument);
  machine.kernel.reset();
  Question far = question_of(machine, Collective::broadcast, "flat", Carrier::get, 64, 8);
  far.reach = Reach::kernel;
  EXPECT_THROW(static_cast<void>(price(far, machine)), std::invalid_argument);
}

}  // namespace
}  // namespace copse::price
