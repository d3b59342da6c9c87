// Makes the cases of an algorithm, and runs the checker on them.
#include "analysis/cases.hpp"

#include <algorithm>
#include <numeric>

namespace copse::analysis {

using algorithms::Algorithm;
using algorithms::Collective;

namespace {

constexpr std::size_t kFailuresKept = 5;
constexpr int kManyRanks = 32;  // above this, a case takes long, and samples are smaller; above twice this, smaller still
constexpr int kFewRanks = 8;    // up to this, all cases

// splitmix64, because placements and samples must always be the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t bound) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % bound);
  }

 private:
  std::uint64_t state_;
};

constexpr plan::Sync kMine = plan::Sync::mine, kNone = plan::Sync::none;
constexpr plan::Modes kNosync{kNone, kNone, true},
    kAllModes[] = {{}, {kMine, kMine, true}, {kMine, kNone, true}, {kNone, kMine, true}, kNosync};

int most_lag(const Plans& plans) {
  int lag = 0;
  for (const auto& plan : plans)
    for (const auto& section : plan.sections) lag = std::max<int>(lag, section.max_lag);
  return lag;
}

bool one_fragment(const Variant& variant) {
  return !variant.row->fragments || variant.carrier == plan::Carrier::line ||
         std::any_of(variant.plans->begin(), variant.plans->end(), [](auto& plan) { return plan.one_fragment; });
}

bool rides(const Plans& plans) {
  const auto conditional = [](const plan::Step& step) { return step.when != plan::When::always; };
  return std::any_of(plans.begin(), plans.end(),
                     [&](const plan::Plan& plan) { return std::any_of(plan.steps.begin(), plan.steps.end(), conditional); });
}

constexpr Ride kRides[] = {Ride::stays, Ride::line, Ride::slot};
constexpr std::size_t kRideKinds = std::size(kRides);

// What the ranks choose in one call after the other. Either all choose alike, or each chooses for itself: in every other call
// a different choice than its neighbour's, and as if at random in the rest. Then three patterns together let a rank meet each
// choice in each call. For few ranks there are as many patterns as combinations of choices.
struct RidePattern {
  enum class Kind : std::uint8_t { alike, mixed, combined };

  std::string name;
  std::size_t number;
  Kind kind;

  [[nodiscard]] std::vector<Ride> of(int ranks, std::size_t call) const {
    std::vector<Ride> result(at(ranks), kRides[number % kRideKinds]);
    std::size_t shift = number;
    for (std::size_t rank = 0; kind != Kind::alike && rank < result.size(); ++rank) {
      const std::size_t first = call % 2 == 0 ? rank : Random(call * 1000 + rank).below(kRideKinds);
      result[rank] = kRides[(first + shift) % kRideKinds];
      if (kind == Kind::combined) shift /= kRideKinds;
    }
    return result;
  }
};

std::vector<RidePattern> ride_patterns(int ranks, bool all) {
  using Kind = RidePattern::Kind;
  constexpr int kRanksOfAll = 4;
  const bool combined = all && ranks <= kRanksOfAll;
  std::vector<RidePattern> result{
      {"nothing rides", 0, Kind::alike}, {"all ride in lines", 1, Kind::alike}, {"all ride in slots", 2, Kind::alike}};
  std::size_t patterns = kRideKinds;
  for (int rank = 1; combined && rank < ranks; ++rank) patterns *= kRideKinds;
  for (std::size_t number = 0; number < patterns; ++number)
    result.push_back({"rides " + std::to_string(number), number, combined ? Kind::combined : Kind::mixed});
  return result;
}

// The worst neighbours that the protocol allows. Both kinds give on every area and trust nothing but their acquires. The
// hasty one reads nothing, so nobody holds it up. The slow one reads every line and slot of its node before it is done (of
// many ranks, those at distances that are powers of two). As a collective they are a reduce without a root, so no rank
// expects a result.
std::shared_ptr<const Plans> neighbour(const Variant& variant, int areas, bool slow, bool riding) {
  using plan::Kind;
  using plan::Space;
  auto plans = std::make_shared<Plans>();
  for (int rank = 0; rank < variant.ranks; ++rank) {
    plan::Plan plan;
    plan.rank = rank;
    plan.ranks = variant.ranks;
    plan.areas = plan::kPublishArea + 1;
    plan.scratches = 1;
    plan.one_fragment = true;
    const auto emit = [&](Kind kind, int area, int peer) -> plan::Step& {
      plan::Step step;
      step.kind = kind;
      step.area = static_cast<std::uint8_t>(area);
      step.peer = peer;
      return plan.steps.emplace_back(step);
    };
    const auto copy = [&](plan::Operand dst, plan::Operand a) {
      plan::Step& step = emit(Kind::copy, 0, -1);
      step.dst = dst;
      step.a = a;
    };
    const auto here = [&](Space space, int area, int owner) {
      return plan::Operand{space, static_cast<std::uint8_t>(area), owner, {}};
    };
    const auto each_area = [&](auto&& visit) {
      for (int area = 0; area < areas; ++area) visit(area);
      visit(plan::kPublishArea);
    };
    each_area([&](int area) {
      emit(Kind::acquire, area, -1).dst = here(Space::slot, area, rank);
      copy(here(Space::slot, area, rank), here(Space::input, 0, -1));
      if (riding || area != plan::kPublishArea) copy(here(Space::line, area, rank), here(Space::input, 0, -1));
      emit(area == plan::kPublishArea ? Kind::publish : Kind::post, area, -1);
    });
    for (int turn = 1; slow && turn<variant.ranks; turn += variant.ranks> kManyRanks ? turn : 1) {
      const int peer = (rank + turn) % variant.ranks;
      if (!variant.nodes.empty() && variant.nodes[static_cast<std::size_t>(peer)] != variant.nodes[static_cast<std::size_t>(rank)])
        continue;
      each_area([&](int area) {
        emit(Kind::await, area, peer);
        copy(here(Space::scratch, 0, -1), here(Space::slot, area, peer));
        if (riding || area != plan::kPublishArea) copy(here(Space::scratch, 0, -1), here(Space::line, area, peer));
      });
    }
    emit(Kind::done, 0, -1);
    plan.sections.push_back({false, plan::LoopFragments::all, 0, 0, static_cast<std::uint32_t>(plan.steps.size())});
    plans->push_back(std::move(plan));
  }
  return plans;
}

}  // namespace

ScriptedCall call_of(const Variant& variant, int fragments, bool in_place) {
  return {variant.plans,
          variant.row->collective,
          variant.root,
          variant.row->keeps_order,
          in_place,
          one_fragment(variant) ? 1 : fragments,
          {},
          permutation_of(variant),
          graph_of(variant),
          variant.helpers,
          variant.modes};
}

namespace {

// Makes the cases of a variant.
class Maker {
 public:
  Maker(const Variant& variant, Effort effort)
      : variant_(variant), depth_(std::max(2, most_lag(*variant.plans) + 1)),
        all_(effort == Effort::full && variant.ranks <= kFewRanks) {
    if (rides(*variant.plans)) patterns_ = ride_patterns(variant.ranks, effort == Effort::full);
  }

  // The same plans run again and again, until the rings have wrapped around.
  void repeat() {
    const auto& traits = algorithms::traits_of(variant_.row->collective);
    const bool may_be_in_place = traits.in_place && !traits.one_buffer;
    const std::vector<int> counts = fragment_counts();
    std::vector<std::vector<int>> sequences;  // for each sequence of calls: their fragments
    for (const int fragments : counts)
      sequences.emplace_back(static_cast<std::size_t>(std::max(2, (depth_ + 2 + fragments - 1) / fragments)), fragments);
    if (variant_.ranks > 2 * kManyRanks && counts.size() > 1) sequences = {counts};
    for (const std::vector<int>& sequence : sequences) {
      std::string name = std::to_string(sequence.size()) + " calls of " + std::to_string(sequence.front());
      if (sequence.back() != sequence.front()) name.append(" to ").append(std::to_string(sequence.back()));
      name += " fragments";
      for (int turn = 0; turn < (may_be_in_place && all_ ? 2 : 1); ++turn) {
        std::vector<ScriptedCall> calls;
        bool in_place = (turn + sequence.front()) % 2 == 0;
        for (const int fragments : sequence) {
          calls.push_back(call_of(variant_, fragments, in_place));
          in_place = !in_place;
        }
        add(name, calls, depth_, depth_);
        if (all_ || (sequence.front() == depth_ + 2 && variant_.ranks <= kManyRanks)) {
          add(name + ", deeper slots", calls, depth_, 2 * depth_);
          add(name + ", deeper lines", calls, 2 * depth_, depth_);
        }
      }
    }
  }

  // The worst neighbours. No rank may take a line or slot that the slow one still reads, whichever place of the ring it
  // used, and the hasty ones leave no time. No rank may be done while it still reads, because hasty ones come afterwards,
  // too.
  void put_between_neighbours() {
    int areas = 1;
    for (const auto& plan : *variant_.plans)
      for (const auto& step : plan.steps)
        if (step.area < plan::kPublishArea) areas = std::max(areas, step.area + 1);
    const bool riding = !patterns_.empty();
    const ScriptedCall slow{neighbour(variant_, areas, true, riding), Collective::reduce, -1, false, false, 1};
    const ScriptedCall hasty{neighbour(variant_, areas, false, riding), Collective::reduce, -1, false, false, 1};
    const bool few = variant_.ranks > kManyRanks;
    std::vector<int> counts = fragment_counts();
    if (few && counts.size() > 1) counts.erase(counts.begin() + 1, counts.end() - (variant_.ranks > 2 * kManyRanks ? 0 : 1));
    for (int fragments : counts) {
      for (int place = few ? (variant_.ranks + fragments) % depth_ : 0; place < depth_; place += few ? depth_ : 1) {
        std::vector<ScriptedCall> sequence(static_cast<std::size_t>(depth_), hasty);
        sequence[static_cast<std::size_t>(place)] = slow;
        sequence.push_back(call_of(variant_, fragments, fragments % 2 == 0));
        sequence.insert(sequence.end(), static_cast<std::size_t>(depth_) + 1, hasty);
        add(std::to_string(fragments) + " fragments, a slow neighbour " + std::to_string(depth_ - place) +
                " calls before, hasty ones around",
            std::move(sequence), depth_, depth_);
      }
    }
  }

  // Another root, permutation or graph in between.
  void change_root() {
    const auto& traits = algorithms::traits_of(variant_.row->collective);
    if (!(traits.rooted() || traits.permutes || traits.along_edges) || variant_.ranks == 1) return;
    Variant other = variant_;
    const int roots = variant_.callers();
    other.root = (variant_.root + 1 + roots / 3) % roots;
    if (other.root == variant_.root) other.root = (variant_.root + 1) % roots;
    other.plans = build_plans(other);
    const int deep = std::max(depth_, most_lag(*other.plans) + 1);
    for (int fragments : {1, 2}) {
      add(std::to_string(fragments) + (traits.permutes      ? " fragments, another permutation between"
                                       : traits.along_edges ? " fragments, another graph between"
                                                            : " fragments, another root between"),
          {call_of(variant_, fragments, false), call_of(other, fragments, false), call_of(variant_, fragments, true),
           call_of(other, 1, false)},
          deep, deep);
      if (one_fragment(variant_)) break;
    }
  }

  // Fences calls with barriers, as ALLSYNC does, and makes calls of MYSYNC between them. What a barrier makes needless is left out.
  void fence() {
    if (variant_.modes != kNosync || variant_.ranks > kManyRanks || variant_.helpers > 0) return;
    Variant barrier = variant_, plain = variant_;
    barrier.row = algorithms::find(Collective::barrier, "dissemination");
    barrier.carrier = plan::Carrier::line;
    barrier.modes = {};
    plain.modes = {kMine, kMine, true};
    barrier.plans = build_plans(barrier);
    plain.plans = build_plans(plain);
    for (const int fragments : {1, depth_ + 2}) {
      std::vector<ScriptedCall> calls;
      for (int turn = 0; turn < 2; ++turn) {
        calls.push_back(call_of(barrier, 1, false));
        calls.push_back(call_of(variant_, fragments, false));
        calls.back().fenced_in = calls.back().fenced_out = true;
        calls.push_back(call_of(barrier, 1, false));
        calls.push_back(call_of(plain, fragments, false));
      }
      add(std::to_string(fragments) + " fragments, allsync and mysync", std::move(calls), depth_, depth_);
      if (one_fragment(variant_)) break;
    }
  }

  // Other algorithms in between, on the same lines and slots.
  void change_algorithms() {
    const auto rows = algorithms::all();
    Random random(static_cast<std::uint64_t>(variant_.ranks * 1000 + variant_.root * 10 + variant_.radix) +
                  static_cast<std::uint64_t>(variant_.row - rows.data()) * 100000);
    for (int sample = 0; sample < (all_ ? 4 : 1); ++sample) {
      std::vector<ScriptedCall> sequence{call_of(variant_, 1 + sample % 3, false)};
      std::string names = "between ";
      int deep = depth_;
      const int others = variant_.ranks > 2 * kManyRanks ? 1 : 3;
      for (int i = 0; i < others; ++i) {
        const Variant other = any_algorithm(random);
        deep = std::max(deep, most_lag(*other.plans) + 1);
        sequence.push_back(call_of(other, 1 + static_cast<int>(random.below(3)), random.below(2) == 0));
        if (i == 1) sequence.push_back(call_of(variant_, 2, true));
        if (i > 0) names.append(", ");
        names.append(name_of(other.row->collective)).append(" ").append(other.row->name).append(" by ");
        names.append(plan::name_of(other.carrier)).append(" root ").append(std::to_string(other.root));
      }
      sequence.push_back(call_of(variant_, 1, true));
      add(names, std::move(sequence), deep, deep, true);
    }
  }

  [[nodiscard]] std::vector<NamedCase> take() { return std::move(result_); }

 private:
  [[nodiscard]] std::vector<int> fragment_counts() const {
    if (one_fragment(variant_)) return {1};
    return {1, 2, 3, depth_ + 2};
  }

  [[nodiscard]] Variant any_algorithm(Random& random) const {
    const auto rows = variant_.helpers > 0 ? algorithms::every().subspan(algorithms::all().size()) : algorithms::all();
    Variant other = variant_;
    do {  // the blocks of pairs of very many ranks, in scratches of several fragments, take more memory than there is
      other.row = &rows[random.below(rows.size())];
    } while (variant_.ranks > 2 * kManyRanks && algorithms::traits_of(other.row->collective).pairs());
    other.root = static_cast<int>(random.below(static_cast<std::size_t>(variant_.callers())));
    do {
      other.carrier = static_cast<plan::Carrier>(random.below(plan::kCarriers));
    } while (!other.row->carries(other.carrier));
    if (variant_.modes != plan::Modes{}) other.modes = kAllModes[random.below(std::size(kAllModes))];
    other.plans = build_plans(other);
    return other;
  }

  // Adds a case, or one for each pattern of rides.
  void add(const std::string& name, std::vector<ScriptedCall> calls, int line_depth, int slot_depth, bool mixed = false) {
    const auto add_one = [&](const std::string& full_name) {
      result_.push_back(
          {variant_.name() + "; " + full_name, {variant_.ranks, variant_.nodes, line_depth, slot_depth, calls, nullptr}, mixed});
    };
    if (patterns_.empty()) return add_one(name);
    for (const RidePattern& pattern : patterns_) {
      for (std::size_t call = 0; call < calls.size(); ++call) calls[call].rides = pattern.of(variant_.ranks, call);
      add_one(name + "; " + pattern.name);
    }
  }

  const Variant& variant_;
  int depth_;
  bool all_;
  std::vector<RidePattern> patterns_;  // none if nothing rides
  std::vector<NamedCase> result_;
};

}  // namespace

std::vector<NamedCase> cases(const Variant& variant, Effort effort) {
  Maker maker(variant, effort);
  maker.repeat();
  maker.put_between_neighbours();
  maker.change_root();
  maker.fence();
  maker.change_algorithms();
  return maker.take();
}

std::vector<int> full_ranks() {
  std::vector<int> ranks(65);
  std::iota(ranks.begin(), ranks.end(), 1);
  ranks.insert(ranks.end(), {96, 128, 257});
  return ranks;
}

Tally& Tally::operator+=(const Tally& other) {
  combinations += other.combinations;
  possible += other.possible;
  variants += other.variants;
  plans += other.plans;
  cases += other.cases;
  steps += other.steps;
  accesses += other.accesses;
  failed += other.failed;
  spoiled += other.spoiled;
  radices.insert(other.radices.begin(), other.radices.end());
  for (const Failure& failure : other.failures)
    if (failures.size() < kFailuresKept) failures.push_back(failure);
  return *this;
}

namespace {

// How many of the combinations are checked: at least `least`, and more until `work` is done.
struct Amount {
  std::uint64_t least, work;  // in steps, accesses and steps built
};
constexpr std::uint64_t kWorkToBuild = 2;

Amount amount_of(Effort effort, int ranks, std::uint64_t roots) {
  if (effort == Effort::quick) return {1, 100'000};
  return {ranks <= kEveryRoot ? std::max<std::uint64_t>(2, roots) : 1, 800'000};
}

// Tells whether the case fails without the variant's own calls.
bool fails_without(const Variant& variant, Case subject) {
  std::erase_if(subject.calls, [&](const ScriptedCall& call) { return call.plans == variant.plans; });
  std::vector<ScriptedCall> twice = subject.calls;
  subject.calls.insert(subject.calls.end(), twice.begin(), twice.end());
  return !check(subject, 1).ok();
}

// Checks the cases of a variant that has its plans. Returns the work.
std::uint64_t prove(const Variant& variant, Effort effort, Tally& tally) {
  std::uint64_t work = 0;
  ++tally.variants;
  tally.plans += variant.plans->size();
  for (const NamedCase& each : cases(variant, effort)) {
    Verdict verdict = check(each.subject);
    ++tally.cases;
    tally.steps += verdict.steps;
    tally.accesses += verdict.accesses;
    work += verdict.steps + verdict.accesses;
    if (verdict.ok()) continue;
    if (each.mixed && fails_without(variant, each.subject)) {
      ++tally.spoiled;
      continue;
    }
    ++tally.failed;
    if (tally.failures.size() < kFailuresKept) tally.failures.push_back({each.name, std::move(verdict.findings)});
  }
  return work;
}

// Proves every radix that makes plans of its own, on the placement and root of `variant`. If the radix makes no difference there,
// the combinations are enough.
void prove_radices(Variant variant, Seen& seen, Tally& tally) {
  std::vector<int> own{2};
  for (variant.radix = 3; variant.radix <= kMostRadix; ++variant.radix)
    if (differs(variant, variant.radix - 1)) own.push_back(variant.radix);
  if (own.size() == 1) return;
  for (const int radix : own) {
    variant.radix = radix;
    variant.plans = build_plans(variant);
    if (!seen.add(variant)) continue;
    prove(variant, Effort::quick, tally);
    tally.radices.insert(variant.radix);
  }
}

}  // namespace

Tally verify(const Algorithm& row, int ranks, Effort effort, const topology::Machine* only, plan::Modes modes) {
  if (ranks < row.least_ranks()) return {};
  const Combinations all(row, ranks, only);
  const Amount amount = amount_of(effort, ranks, all.roots());
  Tally tally;
  tally.possible = all.size();
  Seen seen;
  std::uint64_t work = 0;
  if (ranks <= every_radix(effort)) {
    const auto prove_on = [&](std::vector<Variant> first) {
      for (Variant& variant : first) {
        variant.modes = modes;
        prove_radices(variant, seen, tally);
      }
    };
    if (ranks > 2 * kManyRanks) {
      for (const int nodes : {1, 2}) prove_on(all.with_radix(2, nodes));
    } else {
      prove_on(all.with_radix(2));
      for (const topology::Level level : topology::kAllLevels)
        if (only == nullptr && (effort == Effort::full || level == topology::Level::node)) prove_on(all.apart(level, 2));
    }
  }
  for (; tally.combinations < all.size(); ++tally.combinations) {
    if (tally.combinations >= amount.least && work >= amount.work) break;
    for (Variant& variant : all.at(tally.combinations)) {
      variant.modes = modes;
      variant.plans = build_plans(variant);
      for (const auto& plan : *variant.plans) work += kWorkToBuild * plan.steps.size();
      if (seen.add(variant)) work += prove(variant, effort, tally);
    }
  }
  return tally;
}

}  // namespace copse::analysis
