// What the papers calculate and find, by the price on the recorded machines.
#include <gtest/gtest.h>

#include <algorithm>

#include "price/hmpi.hpp"
#include "price/price.hpp"
#include "questions.hpp"

namespace copse::price {
namespace {

using algorithms::Collective;
using plan::Carrier;

// A machine as HMPI's model sees it: signals take no time, nor does what a processor does in its own caches (HMPI 2.1).
Parameters hmpi(const std::string& name) {
  Parameters machine = parameters_of(name);
  machine.steps = {};
  machine.own.one = kUnbounded;
  for (Nearness& each : machine.nearness) {
    each.flag_ns = 0;
    each.write = kUnbounded;
    each.keeps_reads = false;  // equation 4 has every reader on the link
  }
  machine.reduce = {{"", kUnbounded}};
  return machine;
}

double allreduce(const Parameters& machine, std::string_view name, std::size_t bytes) {
  return price(question_of(machine, Collective::allreduce, name, Carrier::get, bytes), machine).ns;
}

TEST(Hmpi, ALineTakesWhatThePaperSays) {
  EXPECT_NEAR(allreduce(hmpi("westmere"), "reduce_broadcast", 64), 306.7, 0.05)
      << "HMPI 3.4: 3 (Rs + 2 Rl) + (Rr + 2 Rl) + (Rr + Rl)";
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
  const auto near = [](double walked, double calculated, double within) {
    EXPECT_NEAR(walked / calculated, 1, within) << walked << " " << calculated;
  };
  // Four of eight threads, then two, then one read at a time, and two of them fill the cache's bandwidth: d = 4.
  near(allreduce(magny_cours, "reduce_broadcast", kBytes), of_magny_cours.reduction(m, 4) + of_magny_cours.one_stage_broadcast(m),
       0.01);
  near(allreduce(magny_cours, "reduce_broadcast_two_stage", kBytes),
       of_magny_cours.reduction(m, 4) + of_magny_cours.two_stage_broadcast(m), 0.01);
  near(allreduce(westmere, "reduce_broadcast", kBytes), of_westmere.reduction(m, 4) + of_westmere.one_stage_broadcast(m), 0.06);
  near(allreduce(westmere, "reduce_broadcast_two_stage", kBytes), of_westmere.reduction(m, 4) + of_westmere.two_stage_broadcast(m),
       0.08);
  near(allreduce(magny_cours, "dissemination", kBytes), of_magny_cours.dissemination(m), 0.01);
  EXPECT_LT(allreduce(westmere, "dissemination", kBytes), of_westmere.dissemination(m))
      << "12 is no power of two: equation 7 is a bound";
  // HMPI's thread reads all q parts of its tile from the socket's cache, ours reads its own part for nothing. With two sockets the
  // finished tile goes down one link, as in equation 4.
  const double own_tiles = of_westmere.B_alpha * m;
  near(allreduce(westmere, "tiled_hierarchical", kBytes),
       of_westmere.tiled_reduction(m) - own_tiles + of_westmere.two_stage_broadcast(m), 0.05);
}

// HMPI 3.1: "On the 12-core Westmere, a one-stage broadcast [...] always gets the best performance for all vector sizes", because
// of its inclusive L3; on the Magny-Cours, "a two-stage broadcast always gets the best performance".
double broadcast(const Parameters& machine, std::string_view name, std::size_t bytes) {
  double best = kTooLong;
  for (const Carrier carrier : {Carrier::line, Carrier::slot, Carrier::get})
    for (const std::size_t fragment : {std::size_t{0}, std::size_t{16384}, std::size_t{32768}}) {
      if (carrier == Carrier::line && bytes > plan::kLinePayloadBytes) continue;
      if (carrier == Carrier::slot && fragment == 0 && bytes > 65536) continue;
      Question question = question_of(machine, Collective::broadcast, name, carrier, bytes);
      question.fragment_bytes = fragment;
      best = std::min(best, price(question, machine).ns);
    }
  return best;
}

TEST(Hmpi, OneStageOfBroadcastWinsOnWestmere) {
  const Parameters westmere = parameters_of("westmere");
  for (std::size_t bytes = 8; bytes <= std::size_t{4} << 20; bytes *= 2)
    EXPECT_LT(broadcast(westmere, "flat", bytes), broadcast(westmere, "hierarchical_pipelined", bytes)) << bytes;
  // It is the inclusive cache that decides. Without it, the link carries the message six times, as in equation 4. With the recorded
  // numbers this equation has two stages win from three lines on. So it does not find what the paper measured, and the walk does.
  Parameters other = westmere;
  for (Nearness& each : other.nearness) each.keeps_reads = false;
  EXPECT_GT(broadcast(other, "flat", 65536), 1.3 * broadcast(other, "hierarchical_pipelined", 65536));
  const Hmpi equations = Hmpi::of(westmere, 6, 2);
  EXPECT_LT(equations.two_stage_broadcast(3), equations.one_stage_broadcast(3));
}

TEST(Hmpi, TwoStagesOfBroadcastWinOnMagnyCours) {
  for (const char* name : {"magny-cours", "magny-cours-hmpi"}) {
    const Parameters machine = parameters_of(name);
    for (std::size_t bytes = 1024; bytes <= std::size_t{4} << 20; bytes *= 2)
      EXPECT_LT(broadcast(machine, "hierarchical_pipelined", bytes), broadcast(machine, "flat", bytes)) << name << " " << bytes;
    // What is short the walk finds faster in one stage. There, 31 readers fetch the same lines, and the walk takes words and first
    // lines to be free of congestion, as HMPI 3.4 does for one line. The paper's measurements are not reached for these sizes.
    EXPECT_LT(broadcast(machine, "flat", 64), broadcast(machine, "hierarchical_pipelined", 64)) << name;
  }
  const Hmpi equations = Hmpi::of(parameters_of("magny-cours-hmpi"), 8, 4);
  for (const double m : {1, 4, 1000})
    EXPECT_LT(equations.two_stage_broadcast(m), equations.one_stage_broadcast(m)) << m << " lines";
}

// HMPI 3.4, figures 24 and 25, from the plans that run: the size from which the tiled reduction and a broadcast win over a tree.
// On the Magny-Cours the paper has 14 KB, and the walk is between 16 and 18 KiB. On the Westmere the paper has 16 KB, and the walk
// is between 1 and 2 KiB: the figure is not reached. The reason is in the plans. HMPI's threads read all q parts of their tile out
// of the socket's cache (2.4). A rank of ours has its own part in its own cache, and so saves B_alpha m. The equations, too, cross
// near 2 KiB when they save it. With the recorded machine that has the Magny-Cours' dies, four threads reduce what eight do in
// HMPI's sockets, so that tiles win earlier there.
TEST(Hmpi, TilesOfThePlansWinFromSomeSizeOn) {
  const auto best = [](const Parameters& machine, std::string_view name, std::size_t bytes) {
    double least = kTooLong;
    for (const std::size_t fragment : {std::size_t{0}, std::size_t{16384}, std::size_t{32768}}) {
      Question question = question_of(machine, Collective::allreduce, name, Carrier::get, bytes);
      question.fragment_bytes = fragment;
      least = std::min(least, price(question, machine).ns);
    }
    return least;
  };
  const auto tiles_win = [&](const Parameters& machine, std::size_t bytes) {
    return best(machine, "tiled_hierarchical", bytes) <
           std::min(best(machine, "reduce_broadcast", bytes), best(machine, "reduce_broadcast_two_stage", bytes));
  };
  const auto switches = [&](const Parameters& machine, std::size_t last_tree, std::size_t first_tiled) {
    for (std::size_t bytes = 64; bytes <= last_tree; bytes *= 2)
      EXPECT_FALSE(tiles_win(machine, bytes)) << machine.name << " " << bytes;
    for (std::size_t bytes = first_tiled; bytes <= std::size_t{1} << 20; bytes *= 2)
      EXPECT_TRUE(tiles_win(machine, bytes)) << machine.name << " " << bytes;
  };
  switches(parameters_of("magny-cours-hmpi"), 16384, 18432);
  switches(parameters_of("magny-cours"), 1024, 8192);
  switches(parameters_of("westmere"), 1024, 2048);
  const Hmpi equations = Hmpi::of(parameters_of("westmere"), 6, 2);
  const auto over = [&](double m) { return equations.tiled_reduction(m) - equations.B_alpha * m - equations.reduction(m, 4); };
  EXPECT_GT(over(1024 / kLine), 0);
  EXPECT_LT(over(2048 / kLine), 0);
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

// KNEM VI.D: the linear gather by the kernel, in which every rank writes into the root's buffer, "tremendously outperforms all
// other components in all cases". These are, by the same plans through slots, the basic linear one and the tuned binomial tree.
TEST(Knem, TheLinearGatherWinsOnIgAndZoot) {
  for (const char* name : {"ig", "zoot"}) {
    const Parameters machine = parameters_of(name);
    for (const std::size_t bytes : {std::size_t{16384}, std::size_t{262144}, std::size_t{1048576}}) {
      const auto time = [&](std::string_view algorithm, Carrier carrier) {
        Question question = question_of(machine, Collective::gather, algorithm, carrier, bytes);
        question.reach = Reach::kernel;
        question.cold = true;
        if (carrier == Carrier::slot) question.fragment_bytes = std::min<std::size_t>(bytes, 16384);
        return price(question, machine).ns;
      };
      const double linear = time("flat", Carrier::put);
      EXPECT_LT(linear, time("flat", Carrier::slot)) << name << " " << bytes;
      EXPECT_LT(linear, time("knomial", Carrier::slot)) << name << " " << bytes;
    }
  }
}

// KNEM VI.B, figure 5: "the difference between all the pipeline size is small and selecting the wrong setting is never
// catastrophic".
TEST(Knem, ThePipelinesSizeMattersLittleOnIg) {
  const Parameters ig = parameters_of("ig");
  double least = kTooLong, most = 0;
  for (const std::size_t fragment : {std::size_t{16384}, std::size_t{65536}, std::size_t{262144}, std::size_t{524288}}) {
    Question question = question_of(ig, Collective::broadcast, "hierarchical_pipelined", Carrier::get, std::size_t{8} << 20);
    question.reach = Reach::kernel;
    question.cold = true;
    question.fragment_bytes = fragment;
    const double ns = price(question, ig).ns;
    least = std::min(least, ns);
    most = std::max(most, ns);
  }
  EXPECT_LT(most, 1.5 * least);
}

}  // namespace
}  // namespace copse::price
