// Users of a walk other than the checker: one whose clock follows marks, and one that decides which rank comes next.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "analysis/cases.hpp"
#include "analysis/checker.hpp"
#include "analysis/timetable.hpp"
#include "analysis/variants.hpp"

namespace copse::analysis {
namespace {

using algorithms::Collective;
using plan::Carrier;
using plan::Kind;

std::shared_ptr<const Plans> plans_of(Collective collective, const char* name, int ranks, Carrier carrier) {
  Variant variant;
  variant.row = algorithms::find(collective, name);
  variant.ranks = ranks;
  variant.carrier = carrier;
  return build_plans(variant);
}

Case calls_of(const std::shared_ptr<const Plans>& plans, int ranks, Collective collective, int fragments = 1) {
  return {ranks, {}, 4, 4, {{plans, collective, 0, true, false, fragments}}, nullptr};
}

// A copy of the message takes 10, a signal 1 to travel.
struct CopiesAndSignals {
  static double step(const Moment& now) { return now.step->kind == Kind::copy ? 10 : 0; }
  static double signal(const Moment&) { return 1; }
};

template <class Reader>
bool walks(const Case& subject, Reader& reader) {
  const Script script(subject);
  return Walk(script, reader).run();
}

TEST(Timetable, GivesEveryStepItsTime) {
  // A chain of four through slots. The root copies into its slot. Each of the next two ranks copies out of one slot and
  // into its own. The last rank copies out.
  const auto plans = plans_of(Collective::broadcast, "chain", 4, Carrier::slot);
  Timetable<CopiesAndSignals> times(4);
  ASSERT_TRUE(walks(calls_of(plans, 4, Collective::broadcast), times));
  EXPECT_EQ(times.end_of(0), 10);
  EXPECT_EQ(times.end_of(1), 10 + 1 + 20);
  EXPECT_EQ(times.end_of(2), 31 + 1 + 20);
  EXPECT_EQ(times.end_of(3), 52 + 1 + 10);
}

TEST(Timetable, OverlapsFragments) {
  const auto plans = plans_of(Collective::broadcast, "chain", 4, Carrier::slot);
  const auto end = [&](int fragments) {
    Timetable<CopiesAndSignals> times(4);
    EXPECT_TRUE(walks(calls_of(plans, 4, Collective::broadcast, fragments), times));
    return times.end();
  };
  EXPECT_EQ(end(2), end(1) + 20) << "a rank in the middle copies each fragment twice, and is never idle";
  EXPECT_EQ(end(3), end(1) + 40);
}

TEST(Timetable, ChainsAreAsLongAsTheCheckerSaysTheyAre) {
  int rows = 0;
  for (const algorithms::Algorithm& row : algorithms::all()) {
    for (int ranks : {3, 8, 13}) {
      for (Variant& variant : variants(row, ranks, 2)) {
        const Case subject{ranks, variant.nodes, 8, 8, {call_of(variant, 1, false)}};
        Timetable<ChainLength> chain(ranks);
        ASSERT_TRUE(walks(subject, chain)) << variant.name();
        EXPECT_EQ(chain.end(), check(subject).depth) << variant.name();
        ++rows;
      }
    }
  }
  EXPECT_GT(rows, 300);
}

// A small simulator. All copies use one bus, one after the other in the order of the requests. A rank that copies, or
// learns of something later than now, pauses until then.
class Bus : public Quiet {
 public:
  using Mark = double;

  void attach(Walk<Bus>& walk) { walk_ = &walk; }
  void hears(const Moment&, double mark) { until_ = std::max(until_, mark); }
  void acts(const Moment&) { until_ = std::max(until_, now_); }
  void moves(const Moment&) { until_ = free_ = std::max(free_, now_) + 10; }
  double gives(const Moment&) const { return now_ + 1; }
  bool pauses(const Moment& moment) {
    const double until = std::exchange(until_, 0);
    if (until <= now_) return false;
    events_.emplace(until, moment.rank);
    return true;
  }
  bool idles() {
    if (events_.empty()) return false;
    const auto next = events_.begin();
    now_ = next->first;
    walk_->wake(next->second);
    events_.erase(next);
    return true;
  }
  [[nodiscard]] double now() const { return now_; }

 private:
  Walk<Bus>* walk_ = nullptr;
  std::multimap<double, int> events_;
  double now_ = 0, until_ = 0, free_ = 0;
};

TEST(Walk, LetsAReaderSayWhoComesNext) {
  const auto plans = plans_of(Collective::broadcast, "flat", 5, Carrier::slot);
  const Case subject = calls_of(plans, 5, Collective::broadcast);
  const Script script(subject);
  Bus bus;
  Walk walk(script, bus);
  bus.attach(walk);
  ASSERT_TRUE(walk.run());
  EXPECT_EQ(bus.now(), 10 + 1 + 4 * 10) << "the root's copy, its signal, and the others' copies one after the other";
  Timetable<CopiesAndSignals> alone(5);
  ASSERT_TRUE(walks(subject, alone));
  EXPECT_EQ(alone.end(), 10 + 1 + 10) << "where nothing is shared";
}

TEST(Walk, SaysWhoWaitsForWhom) {
  Plans plans = *plans_of(Collective::broadcast, "chain", 3, Carrier::slot);
  std::erase_if(plans[0].steps, [](const plan::Step& step) { return step.kind == Kind::post; });
  for (auto& section : plans[0].sections) section.count = static_cast<std::uint32_t>(plans[0].steps.size());
  const Case subject = calls_of(std::make_shared<Plans>(plans), 3, Collective::broadcast);
  const Script script(subject);
  Quiet quiet;
  Walk walk(script, quiet);
  EXPECT_FALSE(walk.run());
  const auto chain = walk.chain();
  ASSERT_EQ(chain.size(), 1u);
  EXPECT_EQ(chain[0].moment.rank, 1);
  EXPECT_EQ(chain[0].waits_for, 0);
  EXPECT_TRUE(walk.has_returned(0));
}

}  // namespace
}  // namespace copse::analysis
