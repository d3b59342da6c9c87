// Faults planted in plans over blocks, and what the checker says about each.
#include <gtest/gtest.h>

#include <set>

#include "planted.hpp"

namespace copse::analysis {
namespace {

using algorithms::Collective;
using plan::Builder;
using plan::Operand;
using plan::Space;

// Returns the steps of a rank that move data, in order.
std::vector<plan::Step*> moves(Plans& plans, std::size_t rank) {
  std::vector<plan::Step*> found;
  for (plan::Step& step : plans[rank].steps)
    if (step.kind == plan::Kind::copy || step.kind == plan::Kind::reduce) found.push_back(&step);
  return found;
}

TEST(Blocks, ThePlansThatTheFaultsArePlantedIn) {
  for (int fragments : {1, 2, 3}) {
    expect_sound(plans_of(Collective::gather, "flat", plan::Carrier::slot, 4), {Collective::gather, fragments});
    expect_sound(plans_of(Collective::alltoall, "flat", plan::Carrier::slot, 4), {Collective::alltoall, fragments});
    expect_sound(plans_of(Collective::scan, "chain", plan::Carrier::get, 4), {Collective::scan, fragments, 3, true});
  }
}

TEST(Blocks, AnotherBlockThanWanted) {
  Plans plans = plans_of(Collective::alltoall, "flat", plan::Carrier::get, 3);
  plan::Step& step = *moves(plans, 1).back();  // from rank 0: its data for rank 2
  step.dst.range.first = step.a.range.first = 0 * 3 + 2;
  expect_found(plans, {Collective::alltoall}, Fault::illegal, {"block 2 does not lie there"});
}

TEST(Blocks, OneBlockIntoThePlaceOfAnother) {
  Plans plans = plans_of(Collective::gather, "flat", plan::Carrier::get, 3);
  moves(plans, 0).back()->dst.range.first = 1;
  expect_found(plans, {Collective::gather}, Fault::illegal, {"operands are different blocks"});
}

TEST(Blocks, PackedFromAnotherBlockOn) {
  Plans plans = plans_of(Collective::scatter, "flat", plan::Carrier::slot, 3);
  moves(plans, 1).back()->a.origin = 2;
  expect_found(plans, {Collective::scatter}, Fault::stale, {"where block 2 lies"});
}

TEST(Blocks, MoreThanASlotHolds) {
  Plans plans = plans_of(Collective::scatter, "flat", plan::Carrier::slot, 3);
  for (plan::Plan& plan : plans) plan.pack = 2;
  expect_found(plans, {Collective::scatter}, Fault::illegal, {"pack"});
}

TEST(Blocks, ABlockThatNobodyHasThere) {
  Plans plans = plans_of(Collective::gather, "flat", plan::Carrier::slot, 3);
  plan::Step& step = *moves(plans, 1).front();
  step.dst.range.first = step.a.range.first = step.dst.origin = 2;
  expect_found(plans, {Collective::gather}, Fault::illegal, {"block 2 does not lie there"});
}

TEST(Blocks, ALateRankInAScan) {
  Plans plans = plans_of(Collective::scan, "chain", plan::Carrier::line, 3);
  std::swap(moves(plans, 2).front()->a, moves(plans, 2).front()->b);
  expect_found(plans, {Collective::scan}, Fault::wrong, {"order of the ranks"});
  plans = plans_of(Collective::scan, "chain", plan::Carrier::line, 3);
  plan::Step& step = *moves(plans, 1).front();  // rank 1 forgets what rank 0 gave it
  step.kind = plan::Kind::copy;
  step.a = step.b;
  step.b = {};
  expect_found(plans, {Collective::scan}, Fault::wrong, {"ranks 0 to 1 exactly once"});
}

TEST(Blocks, AnInputThatIsOverwrittenInPlace) {
  Plans plans = plans_of(Collective::allgather, "flat", plan::Carrier::get, 3);
  std::erase_if(plans[0].steps, [](const plan::Step& step) { return step.kind == plan::Kind::await_done; });
  plans[0].sections.pop_back();
  expect_found(plans, {Collective::allgather, 1, 3, true}, Fault::race, {"back"});
}

// Permute: the plans of one permutation, where another was asked for.
TEST(Permutations, AreJudgedByTheCallsOwn) {
  Variant variant;
  variant.row = algorithms::find(Collective::permute, "direct");
  variant.ranks = 5;
  const auto verdict_for = [&](int asked) {
    Case subject;
    subject.ranks = variant.ranks;
    ScriptedCall call{build_plans(variant), Collective::permute};
    Variant other = variant;
    other.root = asked;
    call.permutation = permutation_of(other);
    subject.calls = {call, call};
    return check(subject);
  };
  EXPECT_TRUE(verdict_for(0).ok());
  const Verdict verdict = verdict_for(2);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.findings[0].fault, Fault::wrong) << to_text(verdict.findings[0]);
  EXPECT_NE(to_text(verdict.findings[0]).find("is not that of rank"), std::string::npos) << to_text(verdict.findings[0]);
}

// All of up to four ranks; of more, each of the kinds that variants.hpp names.
TEST(Permutations, AreOnesAndDiffer) {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 64}) {
    std::set<std::vector<int>> found;
    const std::uint64_t all = roots_of(Collective::permute, ranks);
    int fixed = 0;
    for (std::uint64_t number = 0; number < all; ++number) {
      const auto permutation = permutation_number(number, ranks);
      EXPECT_EQ(algorithms::not_a_permutation(permutation), "") << ranks << " ranks, number " << number;
      found.insert(permutation);
      for (int rank = 0; rank < ranks; ++rank) fixed += number > 5 && number % 2 == 0 && permutation[at(rank)] == rank ? 1 : 0;
      EXPECT_EQ(permutation_number(number + all, ranks), permutation);
    }
    EXPECT_GE(found.size(), all - (ranks == 5 ? 4 : 0)) << ranks << " ranks";  // of five, random ones meet
    if (ranks == 64) {
      EXPECT_GT(fixed, 64);
    }
  }
}

// Calls among neighbours: the plans of one graph, where another was asked for. It may have edges too many or too few.
TEST(Graphs, AreJudgedByTheCallsOwn) {
  for (const char* name : {"flat", "one_way"}) {
    Variant variant;
    variant.row = algorithms::find(Collective::neighbor_alltoall, name);
    variant.ranks = 5;
    variant.carrier = plan::Carrier::get;
    const auto findings_for = [&](int built, int asked) {
      variant.root = built;
      Case subject;
      subject.ranks = variant.ranks;
      ScriptedCall call{build_plans(variant), Collective::neighbor_alltoall};
      variant.root = asked;
      call.graph = graph_of(variant);
      subject.calls = {call, call};
      std::string text;
      for (const Finding& finding : check(subject, 1).findings) text += to_text(finding);
      return text;
    };
    constexpr int kRing = 0, kAll = 1, kNone = 2;
    EXPECT_EQ(findings_for(kRing, kRing), "") << name;
    EXPECT_NE(findings_for(kAll, kRing).find("along an edge that there is not"), std::string::npos) << name;
    EXPECT_NE(findings_for(kRing, kAll).find("is not that of rank"), std::string::npos) << name;
    EXPECT_NE(findings_for(kNone, kRing).find("is not that of rank"), std::string::npos) << name;
  }
}

TEST(Graphs, AreKnownFromBothEnds) {
  const algorithms::Graph graph({{2, 0, 1}, {}, {1}});
  EXPECT_TRUE(graph.has_edge(0, 0) && graph.has_edge(0, 1) && graph.has_edge(0, 2) && graph.has_edge(2, 1));
  EXPECT_FALSE(graph.has_edge(1, 1) || graph.has_edge(1, 0) || graph.has_edge(2, 0));
  EXPECT_EQ(graph.takers_of(0), (std::vector<int>{1, 2}));
  ASSERT_EQ(graph.givers_to(1).size(), 2U);
  EXPECT_EQ(graph.givers_to(1)[0].number, 0);
  EXPECT_EQ(graph.givers_to(1)[1].rank, 2);
  EXPECT_EQ(graph.givers_to(2)[0].number, 1) << "behind rank 1; to itself, a rank gives in another way";
  for (const int ranks : {1, 2, 3, 8})
    for (std::uint64_t number = 0; number < roots_of(Collective::neighbor_alltoall, ranks); ++number)
      EXPECT_EQ(graph_number(number, ranks).ranks(), ranks);
}

}  // namespace
}  // namespace copse::analysis
