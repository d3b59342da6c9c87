// Plants single-step faults in plans, and explains why those that nobody can notice are harmless (see mutate.hpp).
#include "analysis/mutate.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plan/overlap.hpp"

namespace copse::analysis {

using plan::Kind;
using plan::Operand;
using plan::Plan;
using plan::Space;
using plan::Step;

namespace {

bool moves_data(const Step& step) {
  return step.kind == Kind::copy || step.kind == Kind::reduce || step.kind == Kind::send || step.kind == Kind::receive ||
         step.kind == Kind::delegate;
}

bool is_wait(Kind kind) { return kind == Kind::acquire || kind == Kind::await || kind == Kind::await_done; }
bool is_signal(Kind kind) { return kind == Kind::post || kind == Kind::publish || kind == Kind::done; }

// An acquire is none of these: it waits for the readers of all areas alike. A copy has areas in its operands.
bool has_area(Kind kind) {
  switch (kind) {
    case Kind::post:
    case Kind::publish:
    case Kind::await:
    case Kind::send:
    case Kind::expect:
    case Kind::receive:
    case Kind::drain:
    case Kind::delegate:
    case Kind::collect: return true;
    default: return false;
  }
}

// The portion of a send only says which parts make one message.
bool has_portion(const Step& step) {
  return step.kind == Kind::post || step.kind == Kind::await || step.kind == Kind::expect || step.kind == Kind::receive ||
         (step.kind == Kind::send && step.more);
}

// Tells whether the blocks of an operand lie packed, from its origin on.
bool is_packed(const Operand& operand) {
  return operand.space == Space::scratch || operand.space == Space::peer_scratch || operand.space == Space::line ||
         operand.space == Space::slot || operand.space == Space::ride;
}

bool is_of_others(const Operand& operand, int rank) {
  const bool shared = operand.space == Space::line || operand.space == Space::slot || operand.space == Space::ride;
  return operand.space == Space::peer_input || operand.space == Space::peer_output || operand.space == Space::peer_scratch ||
         (shared && operand.rank != rank);
}

// Tells whether a signal guards a step. A post guards what was written before it, as far as others may read it. A done guards
// what was read from others before it. An expect guards its place.
bool guards(const Step& signal, const Step& step, int rank) {
  if (signal.kind == Kind::expect) {
    if (is_wait(step.kind) || step.kind == Kind::drain) return true;
    const auto same = [&](const Operand& operand) { return operand.space != Space::none && plan::overlap(operand, signal.dst); };
    return same(step.dst) || same(step.dst2) || same(step.a) || same(step.b);
  }
  if (signal.kind == Kind::done) return step.kind == Kind::await || is_of_others(step.a, rank) || is_of_others(step.b, rank);
  const auto readable = [](const Operand& operand) { return operand.space != Space::none && operand.space != Space::scratch; };
  return readable(step.dst) || readable(step.dst2);
}

plan::Section& section_of(Plan& plan, int step) {
  return *std::find_if(plan.sections.begin(), plan.sections.end(), [&](const plan::Section& section) {
    return static_cast<std::uint32_t>(step) < section.first + section.count;
  });
}

void erase_step(Plan& plan, int at) {
  plan::Section& section = section_of(plan, at);
  --section.count;
  for (auto& later : plan.sections)
    if (later.first > section.first) --later.first;
  plan.steps.erase(plan.steps.begin() + at);
}

struct Maker {
  const Variant& variant;
  int rank;
  const Plan& plan;
  bool is_cut;  // into fragments
  std::vector<Mutant> result;

  // Returns a copy of the plan to be spoilt. `where` describes the place, which is no step or begins with this one.
  Plan& spoil(Mutation mutation, int step, std::string kind, const std::string& where, const std::string& how) {
    Mutant mutant;
    mutant.mutation = mutation;
    mutant.step = step;
    mutant.kind = std::move(kind);
    mutant.what = name_of(mutation);
    mutant.what.append(", rank ").append(std::to_string(rank)).append(", ").append(where);
    if (!how.empty()) mutant.what.append(": ").append(how);
    mutant.replacement = {variant.plans.get(), rank, plan, -1, 0};
    return result.emplace_back(std::move(mutant)).replacement.plan;
  }
  // Returns a copy of the plan to be spoilt at `step`.
  Plan& make(Mutation mutation, int step, const std::string& how) {
    const Step& right = plan.steps[static_cast<std::size_t>(step)];
    const std::string text = plan::to_text(plan, right);
    return spoil(mutation, step, kind_of(right, text), "'" + text + "'", how);
  }
  [[nodiscard]] std::string kind_of(const Step& step, const std::string& text) const {
    const auto rides = [](const Operand& operand) { return operand.space == Space::ride; };
    const bool announces =
        (step.kind == Kind::publish && gives_ride(plan)) ||
        (step.kind == Kind::await && step.area == plan::kPublishArea && gives_ride((*variant.plans)[analysis::at(step.peer)]));
    const std::string name = text.substr(0, text.find(' '));
    if (announces || rides(step.dst) || rides(step.a)) return "riding " + name;
    return step.when != plan::When::always ? "conditional " + name : name;
  }
  bool has_portions(int area) const {
    return std::any_of(plan.steps.begin(), plan.steps.end(),
                       [area](const Step& step) { return step.area == area && step.portion > 0; });
  }
  int other(int peer) const {
    int next = (peer + 1) % plan.ranks;
    if (next == rank) next = (next + 1) % plan.ranks;
    return next;
  }

  void too_early(Mutation mutation, int at) {
    Plan copy = plan;
    const int first = static_cast<int>(section_of(copy, at).first);
    for (int before = at - 1; before >= first; --before) {
      const Step& passed = plan.steps[static_cast<std::size_t>(before)];
      if (!moves_data(passed) && !is_wait(passed.kind) && passed.kind != Kind::drain) continue;
      Plan& spoilt = make(mutation, at, "before '" + plan::to_text(plan, passed) + "'");
      result.back().passed = at - before;
      Step signal = spoilt.steps[static_cast<std::size_t>(at)];
      signal.lag = passed.lag;  // in the same iteration, or the order of lags would give it away
      spoilt.steps.erase(spoilt.steps.begin() + at);
      spoilt.steps.insert(spoilt.steps.begin() + before, signal);
      if (passed.lag != plan.steps[static_cast<std::size_t>(at)].lag) result.pop_back();  // that is a wrong_lag
    }
  }

  struct Named {
    const char* name;
    Operand Step::* member;
  };
  static constexpr Named kOperands[] = {{"dst", &Step::dst}, {"dst2", &Step::dst2}, {"a", &Step::a}, {"b", &Step::b}};

  void ranges(int at) {
    const Step& step = plan.steps[static_cast<std::size_t>(at)];
    const auto shifted = [](plan::Range range) {
      if (range.of == 1) return plan::Range{0, 1, 2};
      if (range.first + range.count < range.of) ++range.first;
      else if (range.first > 0) --range.first;
      else --range.count;
      return range;
    };
    Plan& everywhere = make(Mutation::wrong_chunk, at, "of all operands");
    for (const Named& operand : kOperands) {
      auto& changed = everywhere.steps[static_cast<std::size_t>(at)].*operand.member;
      if (changed.space != Space::none) changed.range = shifted(changed.range);
    }
    for (const Named& operand : kOperands) {
      const Operand& right = step.*operand.member;
      if (right.space == Space::none) continue;
      make(Mutation::wrong_chunk, at, operand.name).steps[static_cast<std::size_t>(at)].*
          operand.member = {right.space, right.area, right.rank, shifted(right.range), right.origin};
      if (plan.contents.blocks == 0 || right.range.of == 1 || !is_packed(right)) continue;
      Operand& packed = make(Mutation::wrong_origin, at, operand.name).steps[static_cast<std::size_t>(at)].*operand.member;
      packed.origin = (right.origin + 1) % right.range.of;
    }
  }

  void places(int at) {
    const Step& step = plan.steps[static_cast<std::size_t>(at)];
    for (const Named& operand : kOperands) {
      const Operand& right = step.*operand.member;
      if (right.space == Space::none) continue;
      const auto put = [&](Operand wrong, const char* how) {
        make(Mutation::wrong_place, at, std::string(operand.name).append(" is ").append(how)).steps[static_cast<std::size_t>(at)].*
            operand.member = wrong;
      };
      Operand wrong = right;
      if (right.space == Space::input || right.space == Space::output || right.space == Space::scratch) {
        wrong.space = right.space == Space::output ? Space::input : Space::output;
        wrong.area = 0;
        put(wrong, wrong.space == Space::input ? "the input" : "the output");
      } else {
        if (plan.ranks > 2 || right.rank == rank) {
          wrong.rank = right.rank == rank ? other(rank) : other(right.rank);
          put(wrong, "another rank's");
        }
        wrong = right;
        if (right.space == Space::ride) {
          wrong.space = Space::slot;
          put(wrong, "the slot, no matter where it rides");
        } else if (right.space == Space::line || right.space == Space::slot) {
          wrong.area = static_cast<std::uint16_t>((right.area + 1) % std::max<int>(plan.areas, 2));
          put(wrong, "another area");
        } else {
          wrong.space = right.space == Space::peer_input ? Space::peer_output : Space::peer_input;
          put(wrong, "the peer's other buffer");
        }
      }
    }
  }

  void order(int at) {
    const Step& step = plan.steps[static_cast<std::size_t>(at)];
    erase_step(make(Mutation::omit, at, ""), at);
    if (is_signal(step.kind)) too_early(Mutation::early_signal, at);
    if (step.kind == Kind::expect && step.dst.space != Space::none) too_early(Mutation::early_expect, at);
    if (!is_wait(step.kind)) return;
    make(Mutation::late_wait, at, "");
    result.back().replacement.late_step = at;
    result.back().replacement.late_by = 1;
  }

  void condition(int at) {
    const auto index = static_cast<std::size_t>(at);
    const Step& step = plan.steps[index];
    if (step.when == plan::When::always) return;
    const bool rides = step.when == plan::When::rides;
    make(Mutation::wrong_condition, at, "the opposite").steps[index].when = rides ? plan::When::stays : plan::When::rides;
    make(Mutation::wrong_condition, at, "always").steps[index].when = plan::When::always;
    const bool all = step.whose == plan::kEveryone;
    if (plan.ranks > 1)
      make(Mutation::wrong_condition, at, all ? "one giver's" : "another giver's").steps[index].whose =
          (all ? rank : step.whose + 1) % plan.ranks;
  }

  // Which signal or message it is.
  void channel(int at) {
    const auto index = static_cast<std::size_t>(at);
    const Step& step = plan.steps[index];
    if (step.peer >= 0 && other(step.peer) != step.peer) make(Mutation::wrong_peer, at, "").steps[index].peer = other(step.peer);
    if (has_area(step.kind)) {  // an area that the plan has, so that no rule gives it away
      const auto area = static_cast<std::uint8_t>((step.area + 1) % std::max<int>(plan.areas, 2));
      Plan& spoilt = make(Mutation::wrong_area, at, std::to_string(area));
      spoilt.steps[index].area = area;
      spoilt.areas = std::max<std::uint8_t>(plan.areas, area + 1);
    }
    if (has_portion(step)) {
      if (step.portion > 0) make(Mutation::wrong_portion, at, "the one before").steps[index].portion -= 1;
      if (has_portions(step.area)) make(Mutation::wrong_portion, at, "the next").steps[index].portion += 1;
    }
    if (step.kind == Kind::send || step.kind == Kind::receive)
      make(Mutation::wrong_more, at, step.more ? "ends" : "goes on").steps[index].more = !step.more;
  }

  void acquire(int at) {
    const auto index = static_cast<std::size_t>(at);
    const Step& step = plan.steps[index];
    if (step.dst.space == Space::slot || step.dst.space == Space::ride)
      make(Mutation::wrong_place, at, "the line alone").steps[index].dst.space = Space::line;
    for (std::uint32_t i = 0; i < step.peers_count && is_cut; ++i) {
      Plan& spoilt = make(Mutation::lost_reader, at, std::to_string(plan.peers_of(step)[i]));
      spoilt.peers.assign(plan.peers.begin(), plan.peers.end());
      Step& poorer = spoilt.steps[index];
      poorer.peers_first = static_cast<std::uint32_t>(spoilt.peers.size());
      for (std::uint32_t j = 0; j < step.peers_count; ++j)
        if (j != i) spoilt.peers.push_back(plan.peers_of(step)[j]);
      --poorer.peers_count;
    }
  }

  void data(int at) {
    const auto index = static_cast<std::size_t>(at);
    const Step& step = plan.steps[index];
    if ((moves_data(step) || step.kind == Kind::expect) && (step.a.space != Space::none || step.dst.space != Space::none)) {
      ranges(at);
      places(at);
    }
    if (step.kind != Kind::reduce) return;
    Plan& spoilt = make(Mutation::swapped, at, "");
    std::swap(spoilt.steps[index].a, spoilt.steps[index].b);
  }

  void lags(const plan::Section& section) {
    for (std::uint32_t at = section.first; at < section.first + section.count; ++at) {
      for (const int change : {-1, 1}) {
        const int lag = plan.steps[at].lag + change;
        if (lag < 0) continue;
        Plan& spoilt = make(Mutation::wrong_lag, static_cast<int>(at), std::to_string(lag));
        spoilt.steps[at].lag = static_cast<std::uint8_t>(lag);
        auto& deeper = section_of(spoilt, static_cast<int>(at));
        deeper.max_lag = std::max(deeper.max_lag, static_cast<std::uint8_t>(lag));
      }
    }
  }

  void fragments(std::size_t number) {
    using plan::LoopFragments;
    const plan::Section& right = plan.sections[number];
    if (right.count == 0) return;
    const std::string where = "the loop of '" + plan::to_text(plan, plan.steps[right.first]) + "'";
    constexpr std::pair<LoopFragments, const char*> kWrong[] = {
        {LoopFragments::all, "all fragments"}, {LoopFragments::but_last, "all but the last"}, {LoopFragments::last, "the last"}};
    for (const auto& [wrong, name] : kWrong)
      if (wrong != right.fragments)
        spoil(Mutation::wrong_fragments, static_cast<int>(right.first), "loop", where, name).sections[number].fragments = wrong;
  }

  void whole() {
    const auto make_other = [&](const char* what) -> Plan& { return spoil(Mutation::wrong_whole, 0, "plan", "the plan", what); };
    ++make_other("pack").pack;
    make_other("slots").slots = !plan.slots;
    make_other("one fragment").one_fragment = !plan.one_fragment;
    make_other("whole scratch").whole_scratch = !plan.whole_scratch;
    make_other("together").together = !plan.together;
    make_other("placed").placed = !plan.placed;
  }

  void all() {
    for (int at = 0; at < static_cast<int>(plan.steps.size()); ++at) {
      order(at);
      condition(at);
      channel(at);
      if (plan.steps[static_cast<std::size_t>(at)].kind == Kind::acquire) acquire(at);
      data(at);
    }
    for (std::size_t i = 0; i < plan.sections.size(); ++i) {
      if (!is_cut || !plan.sections[i].loop) continue;
      lags(plan.sections[i]);
      fragments(i);
    }
    whole();
  }
};

bool caught_by(std::vector<NamedCase>& all, const Mutant& mutant) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].subject.replacement = &mutant.replacement;
    if (check(all[i].subject, 1).ok()) continue;
    std::swap(all[0], all[i]);  // what caught this mutant will catch the next
    return true;
  }
  return false;
}

// Checks a case before anything is spoilt: a case that fails anyway would catch every mutant. Waits are noted in cases that begin
// with the variant's own plans.
void expect_right(const Variant& variant, const NamedCase& each, WaitUse& use) {
  const bool begins = each.subject.calls.front().plans == variant.plans;
  if (!check(each.subject, 1, begins ? &use : nullptr).ok()) throw std::logic_error(each.name + " fails with nothing spoilt");
}

// Tells whether no step of any plan needs a signal of this rank. The steps of later calls, which need all progress of the node,
// find that a later done has moved it.
bool is_unneeded(const Variant& variant, int rank, const Step& signal) {
  const auto near = [&](int other) { return variant.nodes.empty() || variant.nodes[at(other)] == variant.nodes[at(rank)]; };
  const auto needs = [&](const Plan& plan, const Step& step) {
    if (signal.kind == Kind::done)
      return near(plan.rank) && (step.kind == Kind::acquire || (step.kind == Kind::await_done && step.peer == rank));
    return step.kind == Kind::await && step.peer == rank && step.area == signal.area && step.portion == signal.portion;
  };
  return std::none_of(variant.plans->begin(), variant.plans->end(), [&](const Plan& plan) {
    return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) { return needs(plan, step); });
  });
}

// Returns the excuse for a mutant in which a step is missing, or stands for another one of its kind.
Excuse excuse_of_order(const Variant& variant, const Mutant& mutant, const WaitUse& use) {
  const int rank = mutant.replacement.rank;
  const Plan& plan = (*variant.plans)[at(rank)];
  const Step& step = plan.steps[at(mutant.step)];
  if (is_signal(step.kind)) return is_unneeded(variant, rank, step) ? Excuse::unneeded_signal : Excuse::none;
  if (step.kind == Kind::drain) {
    const bool drained_later = std::any_of(plan.steps.begin() + mutant.step + 1, plan.steps.end(), [&step](const Step& other) {
      return other.kind == Kind::drain && other.area == step.area;
    });
    return drained_later ? Excuse::unneeded_order : Excuse::none;
  }
  const std::uint8_t told = use[at(rank)][at(mutant.step)];
  if (!is_wait(step.kind) || told == 0) return Excuse::none;
  if (mutant.mutation == Mutation::wrong_peer || mutant.mutation == Mutation::wrong_area) return Excuse::carried;
  return told == 2 ? Excuse::unneeded_order : Excuse::implied_wait;
}

Excuse excuse_of_place(const Variant& variant, const Step& step, const Step& spoilt) {
  const bool one_buffer = algorithms::traits_of(variant.row->collective).one_buffer;
  const auto same = [&](const Operand& a, const Operand& b) {
    const auto kind = [](Space space) {
      if (space == Space::input) return Space::output;
      return space == Space::peer_input ? Space::peer_output : space;
    };
    return kind(a.space) == kind(b.space) && a.rank == b.rank && a.range == b.range;
  };
  if (one_buffer && same(step.dst, spoilt.dst) && same(step.dst2, spoilt.dst2) && same(step.a, spoilt.a) && same(step.b, spoilt.b))
    return Excuse::same_memory;
  return step.dst == spoilt.dst && step.dst2 == spoilt.dst2 ? Excuse::same_value : Excuse::none;
}

Excuse excuse_of_fragments(const Plan& plan, const Mutant& mutant) {
  const auto loop = std::find_if(plan.sections.begin(), plan.sections.end(), [&](const plan::Section& section) {
    return section.count > 0 && section.first == static_cast<std::uint32_t>(mutant.step);
  });
  const auto first = plan.steps.begin() + mutant.step, last = first + loop->count;
  if (std::none_of(first, last, moves_data)) return Excuse::unneeded_order;
  const auto number = loop - plan.sections.begin();
  const bool all = mutant.replacement.plan.sections[static_cast<std::size_t>(number)].fragments == plan::LoopFragments::all;
  const bool copies = std::none_of(first, last, [](const Step& step) { return moves_data(step) && step.kind != Kind::copy; });
  return all && copies ? Excuse::same_value : Excuse::none;
}

Excuse excuse_of(const Variant& variant, const Mutant& mutant, const WaitUse& use) {
  const int rank = mutant.replacement.rank;
  const Plan& plan = (*variant.plans)[at(rank)];
  switch (mutant.mutation) {
    case Mutation::wrong_place: {
      const Step& step = plan.steps[at(mutant.step)];
      if (step.kind == Kind::acquire) return excuse_of_order(variant, mutant, use);
      return excuse_of_place(variant, step, mutant.replacement.plan.steps[at(mutant.step)]);
    }
    case Mutation::swapped: return variant.row->keeps_order ? Excuse::none : Excuse::commutative;
    case Mutation::early_signal:
    case Mutation::early_expect: {
      const auto moved = plan.steps.begin() + mutant.step;
      const bool harmless =
          std::none_of(moved - mutant.passed, moved, [&](const Step& passed) { return guards(*moved, passed, rank); });
      return harmless ? Excuse::harmless_move : Excuse::unneeded_order;
    }
    case Mutation::wrong_lag: return Excuse::same_order;
    case Mutation::wrong_fragments: return excuse_of_fragments(plan, mutant);
    case Mutation::wrong_condition: {
      const Step& spoilt = mutant.replacement.plan.steps[at(mutant.step)];
      return is_wait(spoilt.kind) && spoilt.when == plan::When::always ? Excuse::needless_wait : Excuse::none;
    }
    case Mutation::omit:
    case Mutation::late_wait:
    case Mutation::lost_reader:
    case Mutation::wrong_portion:
    case Mutation::wrong_area:
    case Mutation::wrong_peer: return excuse_of_order(variant, mutant, use);
    default: return Excuse::none;
  }
}

}  // namespace

const char* name_of(Mutation mutation) {
  switch (mutation) {
    case Mutation::omit: return "omitted";
    case Mutation::early_signal: return "signal too early";
    case Mutation::late_wait: return "waits for the ticket before";
    case Mutation::wrong_peer: return "wrong peer";
    case Mutation::wrong_area: return "wrong area";
    case Mutation::wrong_portion: return "wrong portion";
    case Mutation::wrong_more: return "wrong end of message";
    case Mutation::lost_reader: return "does not wait for a reader";
    case Mutation::wrong_chunk: return "wrong chunk";
    case Mutation::wrong_place: return "wrong place";
    case Mutation::wrong_origin: return "wrong origin";
    case Mutation::swapped: return "operands swapped";
    case Mutation::wrong_lag: return "wrong lag";
    case Mutation::wrong_fragments: return "wrong fragments";
    case Mutation::wrong_condition: return "wrong condition";
    case Mutation::early_expect: return "expected too early";
    case Mutation::wrong_whole: return "disagrees with the others";
  }
  return "?";
}

const char* name_of(Excuse excuse) {
  switch (excuse) {
    case Excuse::none: return "unexplained";
    case Excuse::same_memory: return "same memory";
    case Excuse::same_value: return "same value";
    case Excuse::commutative: return "commutative";
    case Excuse::harmless_move: return "harmless move";
    case Excuse::same_order: return "same order";
    case Excuse::implied_wait: return "implied wait";
    case Excuse::carried: return "carried";
    case Excuse::unneeded_order: return "unneeded order";
    case Excuse::unneeded_signal: return "unneeded signal";
    case Excuse::needless_wait: return "needless wait";
  }
  return "?";
}

std::vector<Mutant> mutants(const Variant& variant, int rank) {
  Maker maker{variant, rank, (*variant.plans)[at(rank)], call_of(variant, 2, false).fragments > 1, {}};
  maker.all();
  return std::move(maker.result);
}

MutantCount& MutantCount::operator+=(const MutantCount& other) {
  made += other.made;
  caught += other.caught;
  return *this;
}

MutantCount sum_of(const MutationCounts& counts) {
  MutantCount sum;
  for (const MutantCount& count : counts) sum += count;
  return sum;
}

MutationCounts MutationTally::by_mutation() const {
  MutationCounts result{};
  for (const auto& [kind, counts] : by_kind)
    for (std::size_t i = 0; i < counts.size(); ++i) result[i] += counts[i];
  return result;
}

MutationTally& MutationTally::operator+=(const MutationTally& other) {
  for (const auto& [kind, counts] : other.by_kind)
    for (std::size_t i = 0; i < counts.size(); ++i) by_kind[kind][i] += counts[i];
  for (int i = 0; i < kExcuses; ++i) excused[i] += other.excused[i];
  constexpr std::int64_t kKept = 5, kUnexplainedKept = 100;
  for (const Survivor& survivor : other.survivors) {
    const auto alike =
        std::count_if(survivors.begin(), survivors.end(), [&](const Survivor& kept) { return kept.excuse == survivor.excuse; });
    if (alike < (survivor.excuse == Excuse::none ? kUnexplainedKept : kKept)) survivors.push_back(survivor);
  }
  return *this;
}

MutationTally challenge(const Variant& variant) {
  MutationTally tally;
  auto all = cases(variant, Effort::quick);
  std::vector<NamedCase> more;
  WaitUse use;
  for (const NamedCase& each : all) expect_right(variant, each, use);
  for (int rank = 0; rank < variant.ranks; ++rank) {
    for (const Mutant& mutant : mutants(variant, rank)) {
      MutantCount& count = tally.by_kind[mutant.kind][static_cast<std::size_t>(mutant.mutation)];
      ++count.made;
      bool caught = caught_by(all, mutant);
      if (!caught) {
        if (more.empty()) {
          more = cases(variant, Effort::full);
          for (const NamedCase& each : more) expect_right(variant, each, use);
        }
        caught = caught_by(more, mutant);
      }
      if (caught) {
        ++count.caught;
        continue;
      }
      const Excuse excuse = excuse_of(variant, mutant, use);
      ++tally.excused[static_cast<int>(excuse)];
      MutationTally one;
      one.survivors.push_back({variant.name(), mutant.what, excuse});
      tally += one;
    }
  }
  return tally;
}

}  // namespace copse::analysis
