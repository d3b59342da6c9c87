// The cases of an algorithm, and the checker over them.
#include "analysis/cases.hpp"

#include <algorithm>
#include <numeric>

namespace copse::analysis {

using algorithms::Algorithm;
using algorithms::Collective;
using topology::Level;

namespace {

constexpr std::size_t kFailuresKept = 5;

// splitmix64: placements and samples must be the same everywhere, always.
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

bool rooted(Collective collective) { return algorithms::traits_of(collective).rooted(); }

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

Call call_of(const Variant& variant, int fragments, bool in_place) {
  return {variant.plans, variant.row->collective, variant.root, variant.row->keeps_order,
          in_place,      one_fragment(variant) ? 1 : fragments};
}

// The worst neighbours that the protocol allows. Both give on every area, and trust nothing but their acquires:
// the hasty one reads nothing, so that nobody holds it up; the slow one reads every line and slot of its node
// before it is done. As a collective they are a reduce without a root: no rank expects a result.
std::shared_ptr<const Plans> neighbour(const Variant& variant, int areas, bool slow) {
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
      if (area != plan::kPublishArea) copy(here(Space::line, area, rank), here(Space::input, 0, -1));
      emit(area == plan::kPublishArea ? Kind::publish : Kind::post, area, -1);
    });
    for (int turn = 1; slow && turn < variant.ranks; ++turn) {
      const int peer = (rank + turn) % variant.ranks;
      if (!variant.nodes.empty() &&
          variant.nodes[static_cast<std::size_t>(peer)] != variant.nodes[static_cast<std::size_t>(rank)])
        continue;
      each_area([&](int area) {
        emit(Kind::await, area, peer);
        copy(here(Space::scratch, 0, -1), here(Space::slot, area, peer));
        if (area != plan::kPublishArea) copy(here(Space::scratch, 0, -1), here(Space::line, area, peer));
      });
    }
    emit(Kind::done, 0, -1);
    plan.sections.push_back({false, plan::Turns::all, 0, 0, static_cast<std::uint32_t>(plan.steps.size())});
    plans->push_back(std::move(plan));
  }
  return plans;
}

struct Layout {
  const char* name;
  int nodes, regions;
};
constexpr Layout kLayouts[] = {
    {"block", 1, 1},  {"block", 1, 3},  {"cyclic", 2, 2}, {"random", 1, 4}, {"block", 2, 2},  {"random", 3, 2},
    {"cyclic", 1, 2}, {"cyclic", 3, 1}, {"random", 2, 3}, {"block", 3, 2},  {"random", 1, 2}, {"block", 1, 2},
};
constexpr std::size_t kQuickLayouts = 3;  // beside the first
constexpr int kManyRanks = 32;            // more are sampled more thinly, where a case takes long

}  // namespace

topology::Placement make_placement(const std::string& layout, int ranks, int nodes, int regions) {
  const int all = nodes * regions;
  std::vector<int> region(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto here = static_cast<std::size_t>(rank);
    region[here] = layout == "cyclic" ? rank % all : static_cast<int>(std::int64_t{rank} * all / ranks);
  }
  if (layout == "random") {
    Random random(static_cast<std::uint64_t>(ranks * 100 + all));
    for (std::size_t i = region.size(); i > 1; --i) std::swap(region[i - 1], region[random.below(i)]);
  }
  topology::Placement places(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    auto& id = places[rank].id;
    const auto set = [&](Level level, int value) { id[static_cast<std::size_t>(level)] = value; };
    set(Level::node, region[rank] / regions);
    set(Level::package, region[rank] / std::max(1, (regions + 1) / 2));
    set(Level::numa, region[rank]);
    set(Level::l3, region[rank]);
    set(Level::l2, static_cast<int>(rank));
    set(Level::core, static_cast<int>(rank));
  }
  if (all == 1) return places;
  // A package lies within one node.
  const int packages = (regions + 1) / 2;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    places[rank].id[static_cast<std::size_t>(Level::package)] =
        region[rank] / regions * packages + region[rank] % regions / 2;
  }
  return places;
}

std::string Variant::name() const {
  std::string text{name_of(row->collective)};
  text.append(" ").append(row->name).append(" by ").append(plan::name_of(carrier));
  text.append(", ").append(std::to_string(ranks)).append(" ranks");
  if (rooted(row->collective)) text.append(", root ").append(std::to_string(root));
  return text.append(", radix ").append(std::to_string(radix)).append(", ").append(placement);
}

std::shared_ptr<const Plans> build_plans(const Variant& variant) {
  auto plans = std::make_shared<Plans>();
  algorithms::Request request;
  request.ranks = variant.ranks;
  request.root = variant.root;
  request.carrier = variant.carrier;
  request.radix = variant.radix;
  request.places = variant.places.get();
  for (request.rank = 0; request.rank < variant.ranks; ++request.rank) plans->push_back(variant.row->plan(request));
  return plans;
}

std::vector<Variant> variants(const Algorithm& row, int ranks, Effort effort) {
  std::vector<int> roots{0};
  if (rooted(row.collective)) {
    if (effort == Effort::full && ranks <= 17) {
      roots.resize(static_cast<std::size_t>(ranks));
      std::iota(roots.begin(), roots.end(), 0);
    } else {
      if (effort == Effort::full) roots.insert(roots.end(), {1, ranks / 2});
      roots.push_back(effort == Effort::full || ranks % 2 == 0 ? ranks - 1 : ranks / 2);
      std::sort(roots.begin(), roots.end());
      roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    }
  }
  std::vector<Layout> layouts(std::begin(kLayouts), std::end(kLayouts));
  if (effort == Effort::quick) {
    std::rotate(layouts.begin() + 1, layouts.begin() + 1 + ranks * 3 % (static_cast<int>(layouts.size()) - 1),
                layouts.end());
    layouts.resize(1 + (ranks > kManyRanks ? 1 : kQuickLayouts));
  }
  const std::vector<int> radices = effort == Effort::full ? std::vector{2, 3, 4, 8} : std::vector{2, 3 + ranks % 3};

  std::vector<Variant> result;
  for (const Layout& layout : layouts) {
    if (layout.nodes * layout.regions > ranks && layout.nodes * layout.regions > 1) continue;
    Variant variant;
    variant.row = &row;
    variant.ranks = ranks;
    variant.places =
        std::make_shared<topology::Placement>(make_placement(layout.name, ranks, layout.nodes, layout.regions));
    variant.placement = std::string(layout.name) + " over " + std::to_string(layout.nodes) + " x " +
                        std::to_string(layout.regions) + " regions";
    if (layout.nodes > 1)
      for (const auto& place : *variant.places) variant.nodes.push_back(place.at(Level::node));
    for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
      variant.carrier = static_cast<plan::Carrier>(carrier);
      if (!row.carries(variant.carrier)) continue;
      for (int root : roots) {
        variant.root = root;
        for (int radix : radices) {
          variant.radix = radix;
          variant.plans = build_plans(variant);
          const bool known = std::any_of(result.begin(), result.end(), [&](const Variant& other) {
            return other.carrier == variant.carrier && other.root == root && other.nodes == variant.nodes &&
                   *other.plans == *variant.plans;
          });
          if (!known) result.push_back(variant);
        }
      }
    }
  }
  return result;
}

std::vector<NamedCase> cases(const Variant& variant, Effort effort) {
  const int depth = std::max(2, most_lag(*variant.plans) + 1);
  std::vector<NamedCase> result;
  const auto add = [&](const std::string& name, std::vector<Call> calls, int line_depth, int slot_depth,
                       bool mixed = false) {
    result.push_back({variant.name() + "; " + name,
                      {variant.ranks, variant.nodes, line_depth, slot_depth, std::move(calls), nullptr},
                      mixed});
  };
  const auto& traits = algorithms::traits_of(variant.row->collective);
  const bool may_be_in_place = traits.in_place && !traits.one_buffer;

  // The same plans again and again, until the rings have come round.
  std::vector<int> counts{1};
  if (!one_fragment(variant)) counts = {1, 2, 3, depth + 2};
  if (!one_fragment(variant) && effort == Effort::quick && variant.ranks > kManyRanks) counts = {1, depth + 2};
  for (int fragments : counts) {
    const int calls = std::max(2, (depth + 2 + fragments - 1) / fragments);
    for (int turn = 0; turn < (may_be_in_place && effort == Effort::full ? 2 : 1); ++turn) {
      std::vector<Call> sequence;
      for (int i = 0; i < calls; ++i) sequence.push_back(call_of(variant, fragments, (i + turn + fragments) % 2 == 0));
      add(std::to_string(calls) + " calls of " + std::to_string(fragments) + " fragments", sequence, depth, depth);
      if (effort == Effort::full || (fragments == depth + 2 && variant.ranks <= kManyRanks)) {
        add(std::to_string(calls) + " calls of " + std::to_string(fragments) + " fragments, deeper slots", sequence,
            depth, 2 * depth);
        add(std::to_string(calls) + " calls of " + std::to_string(fragments) + " fragments, deeper lines", sequence,
            2 * depth, depth);
      }
    }
  }

  // The worst neighbours. No line or slot may be taken that the slow one still reads, whichever of the ring's
  // places it used, and the hasty ones give it no time; no rank may be done as long as it reads, for the hasty
  // ones come after too.
  int areas = 1;
  for (const auto& plan : *variant.plans)
    for (const auto& step : plan.steps)
      if (step.area < plan::kPublishArea) areas = std::max(areas, step.area + 1);
  const Call slow{neighbour(variant, areas, true), Collective::reduce, -1, false, false, 1};
  const Call hasty{neighbour(variant, areas, false), Collective::reduce, -1, false, false, 1};
  for (int fragments : counts) {
    for (int place = 0; place < depth; ++place) {
      std::vector<Call> sequence(static_cast<std::size_t>(depth), hasty);
      sequence[static_cast<std::size_t>(place)] = slow;
      sequence.push_back(call_of(variant, fragments, fragments % 2 == 0));
      sequence.insert(sequence.end(), static_cast<std::size_t>(depth) + 1, hasty);
      add(std::to_string(fragments) + " fragments, a slow neighbour " + std::to_string(depth - place) +
              " calls before, hasty ones around",
          std::move(sequence), depth, depth);
    }
  }

  // Another root between.
  if (rooted(variant.row->collective) && variant.ranks > 1) {
    Variant other = variant;
    other.root = (variant.root + 1 + variant.ranks / 3) % variant.ranks;
    if (other.root == variant.root) other.root = (variant.root + 1) % variant.ranks;
    other.plans = build_plans(other);
    for (int fragments : {1, 2}) {
      add(std::to_string(fragments) + " fragments, another root between",
          {call_of(variant, fragments, false), call_of(other, fragments, false), call_of(variant, fragments, true),
           call_of(other, 1, false)},
          depth, depth);
      if (one_fragment(variant)) break;
    }
  }

  // Other algorithms between, on the same lines and slots.
  const auto rows = algorithms::all();
  Random random(static_cast<std::uint64_t>(variant.ranks * 1000 + variant.root * 10 + variant.radix) +
                static_cast<std::uint64_t>(variant.row - rows.data()) * 100000);
  for (int sample = 0; sample < (effort == Effort::full ? 4 : 1); ++sample) {
    std::vector<Call> sequence{call_of(variant, 1 + sample % 3, false)};
    std::string names = "between ";
    int deep = depth;
    for (int i = 0; i < 3; ++i) {
      Variant other = variant;
      other.row = &rows[random.below(rows.size())];
      other.root = static_cast<int>(random.below(static_cast<std::size_t>(variant.ranks)));
      do {
        other.carrier = static_cast<plan::Carrier>(random.below(plan::kCarriers));
      } while (!other.row->carries(other.carrier));
      other.plans = build_plans(other);
      deep = std::max(deep, most_lag(*other.plans) + 1);
      sequence.push_back(call_of(other, 1 + static_cast<int>(random.below(3)), random.below(2) == 0));
      if (i == 1) sequence.push_back(call_of(variant, 2, true));
      if (i > 0) names.append(", ");
      names.append(name_of(other.row->collective)).append(" ").append(other.row->name).append(" by ");
      names.append(plan::name_of(other.carrier)).append(" root ").append(std::to_string(other.root));
    }
    sequence.push_back(call_of(variant, 1, true));
    add(names, std::move(sequence), deep, deep, true);
  }
  return result;
}

Tally& Tally::operator+=(const Tally& other) {
  variants += other.variants;
  plans += other.plans;
  cases += other.cases;
  steps += other.steps;
  accesses += other.accesses;
  failed += other.failed;
  spoiled += other.spoiled;
  for (const Failure& failure : other.failures)
    if (failures.size() < kFailuresKept) failures.push_back(failure);
  return *this;
}

namespace {

// Does the case fail without the variant's own calls?
bool fails_without(const Variant& variant, Case subject) {
  std::erase_if(subject.calls, [&](const Call& call) { return call.plans == variant.plans; });
  std::vector<Call> twice = subject.calls;
  subject.calls.insert(subject.calls.end(), twice.begin(), twice.end());
  return !check(subject, 1).ok();
}

}  // namespace

Tally verify(const Algorithm& row, int ranks, Effort effort) {
  Tally tally;
  for (const Variant& variant : variants(row, ranks, effort)) {
    ++tally.variants;
    tally.plans += variant.plans->size();
    for (const NamedCase& each : cases(variant, effort)) {
      Verdict verdict = check(each.subject);
      ++tally.cases;
      tally.steps += verdict.steps;
      tally.accesses += verdict.accesses;
      if (verdict.ok()) continue;
      if (each.mixed && fails_without(variant, each.subject)) {
        ++tally.spoiled;
        continue;
      }
      ++tally.failed;
      if (tally.failures.size() < kFailuresKept) tally.failures.push_back({each.name, std::move(verdict.findings)});
    }
  }
  return tally;
}

}  // namespace copse::analysis
