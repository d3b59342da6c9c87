// Plants single-step faults in plans, and explains why those that nobody can notice are harmless (see mutate.hpp).
#include "analysis/mutate.hpp"

#include <algorithm>
#include <stdexcept>

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
  std::vector<Mutant> result;

  // Returns a copy of the plan to be spoilt at `step`.
  Plan& make(Mutation mutation, int step, const std::string& how) {
    Mutant mutant;
    mutant.mutation = mutation;
    mutant.step = step;
    mutant.what = name_of(mutation);
    mutant.what.append(", rank ").append(std::to_string(rank)).append(", '");
    mutant.what.append(plan::to_text(plan, plan.steps[static_cast<std::size_t>(step)])).append("'");
    if (!how.empty()) mutant.what.append(": ").append(how);
    mutant.replacement = {variant.plans.get(), rank, plan, -1, 0};
    return result.emplace_back(std::move(mutant)).replacement.plan;
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

  void operands(int at) {
    const Step& step = plan.steps[static_cast<std::size_t>(at)];
    struct Named {
      const char* name;
      Operand Step::* member;
    };
    constexpr Named kOperands[] = {{"dst", &Step::dst}, {"dst2", &Step::dst2}, {"a", &Step::a}, {"b", &Step::b}};
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

  void all() {
    for (int at = 0; at < static_cast<int>(plan.steps.size()); ++at) {
      const auto index = static_cast<std::size_t>(at);
      const Step& step = plan.steps[index];
      erase_step(make(Mutation::omit, at, ""), at);
      if (is_signal(step.kind)) too_early(Mutation::early_signal, at);
      if (step.kind == Kind::expect && step.dst.space != Space::none) too_early(Mutation::early_expect, at);
      if (is_wait(step.kind)) {
        make(Mutation::late_wait, at, "");
        result.back().replacement.late_step = at;
        result.back().replacement.late_by = 1;
      }
      if (step.when != plan::When::always) {
        const bool rides = step.when == plan::When::rides;
        make(Mutation::wrong_condition, at, "the opposite").steps[index].when = rides ? plan::When::stays : plan::When::rides;
        make(Mutation::wrong_condition, at, "always").steps[index].when = plan::When::always;
        const bool all = step.whose == plan::kEveryone;
        if (plan.ranks > 1)
          make(Mutation::wrong_condition, at, all ? "one giver's" : "another giver's").steps[index].whose =
              (all ? rank : step.whose + 1) % plan.ranks;
      }
      if (step.peer >= 0 && other(step.peer) != step.peer) make(Mutation::wrong_peer, at, "").steps[index].peer = other(step.peer);
      if (step.kind == Kind::post || step.kind == Kind::await) {
        if (step.portion > 0) make(Mutation::wrong_portion, at, "the one before").steps[index].portion -= 1;
        if (has_portions(step.area)) make(Mutation::wrong_portion, at, "the next").steps[index].portion += 1;
      }
      if (step.kind == Kind::acquire && !plan.one_fragment) {
        for (std::uint32_t i = 0; i < step.peers_count; ++i) {
          Plan& spoilt = make(Mutation::lost_reader, at, std::to_string(plan.peers_of(step)[i]));
          spoilt.peers.assign(plan.peers.begin(), plan.peers.end());
          Step& poorer = spoilt.steps[index];
          poorer.peers_first = static_cast<std::uint32_t>(spoilt.peers.size());
          for (std::uint32_t j = 0; j < step.peers_count; ++j)
            if (j != i) spoilt.peers.push_back(plan.peers_of(step)[j]);
          --poorer.peers_count;
        }
      }
      if ((moves_data(step) || step.kind == Kind::expect) && (step.a.space != Space::none || step.dst.space != Space::none))
        operands(at);
      if (step.kind == Kind::reduce) {
        Plan& spoilt = make(Mutation::swapped, at, "");
        std::swap(spoilt.steps[index].a, spoilt.steps[index].b);
      }
      Plan copy = plan;
      if (!plan.one_fragment && section_of(copy, at).loop) {
        for (int change : {-1, 1}) {
          const int lag = step.lag + change;
          if (lag < 0) continue;
          Plan& spoilt = make(Mutation::wrong_lag, at, std::to_string(lag));
          spoilt.steps[index].lag = static_cast<std::uint8_t>(lag);
          auto& section = section_of(spoilt, at);
          section.max_lag = std::max(section.max_lag, static_cast<std::uint8_t>(lag));
        }
      }
    }
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
void expect_right(const Variant& variant, const NamedCase& each, WaitUse* use) {
  const bool begins = each.subject.calls.front().plans == variant.plans;
  if (!check(each.subject, 1, begins ? use : nullptr).ok()) throw std::logic_error(each.name + " fails with nothing spoilt");
}

Excuse excuse_of(const Variant& variant, const Mutant& mutant, const WaitUse& use) {
  const int rank = mutant.replacement.rank;
  const Plan& plan = (*variant.plans)[static_cast<std::size_t>(rank)];
  const Step& step = plan.steps[static_cast<std::size_t>(mutant.step)];
  switch (mutant.mutation) {
    case Mutation::wrong_place: {
      const Step& spoilt = mutant.replacement.plan.steps[static_cast<std::size_t>(mutant.step)];
      const bool one_buffer = algorithms::traits_of(variant.row->collective).one_buffer;
      const auto same = [&](const Operand& a, const Operand& b) {
        const auto kind = [](Space space) {
          if (space == Space::input) return Space::output;
          return space == Space::peer_input ? Space::peer_output : space;
        };
        return kind(a.space) == kind(b.space) && a.rank == b.rank && a.range == b.range;
      };
      if (one_buffer && same(step.dst, spoilt.dst) && same(step.dst2, spoilt.dst2) && same(step.a, spoilt.a) &&
          same(step.b, spoilt.b))
        return Excuse::same_memory;
      return step.dst == spoilt.dst && step.dst2 == spoilt.dst2 ? Excuse::same_value : Excuse::none;
    }
    case Mutation::swapped: return variant.row->keeps_order ? Excuse::none : Excuse::commutative;
    case Mutation::early_signal:
    case Mutation::early_expect: {
      bool harmless = true;
      for (int i = mutant.step - mutant.passed; i < mutant.step; ++i) {
        const Step& passed = plan.steps[static_cast<std::size_t>(i)];
        harmless &= !guards(step, passed, rank);
      }
      return harmless ? Excuse::harmless_move : Excuse::unneeded_order;
    }
    case Mutation::wrong_lag: return Excuse::same_order;
    case Mutation::wrong_condition: {
      const Step& spoilt = mutant.replacement.plan.steps[static_cast<std::size_t>(mutant.step)];
      return is_wait(step.kind) && spoilt.when == plan::When::always ? Excuse::needless_wait : Excuse::none;
    }
    case Mutation::omit:
    case Mutation::late_wait:
    case Mutation::lost_reader:
    case Mutation::wrong_portion:
    case Mutation::wrong_peer: {
      if (is_signal(step.kind)) return Excuse::unneeded_signal;
      const bool drained_later = std::any_of(plan.steps.begin() + mutant.step + 1, plan.steps.end(), [&step](const Step& other) {
        return other.kind == Kind::drain && other.area == step.area;
      });
      if (step.kind == Kind::drain && drained_later) return Excuse::unneeded_order;
      if (!is_wait(step.kind)) return Excuse::none;
      if (mutant.mutation == Mutation::wrong_peer) return Excuse::carried;
      const bool informed = use[static_cast<std::size_t>(rank)][static_cast<std::size_t>(mutant.step)] == 2;
      return informed ? Excuse::unneeded_order : Excuse::implied_wait;
    }
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
    case Mutation::wrong_portion: return "wrong portion";
    case Mutation::lost_reader: return "does not wait for a reader";
    case Mutation::wrong_chunk: return "wrong chunk";
    case Mutation::wrong_place: return "wrong place";
    case Mutation::swapped: return "operands swapped";
    case Mutation::wrong_lag: return "wrong lag";
    case Mutation::wrong_condition: return "wrong condition";
    case Mutation::early_expect: return "expected too early";
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
  Maker maker{variant, rank, (*variant.plans)[static_cast<std::size_t>(rank)], {}};
  maker.all();
  return std::move(maker.result);
}

MutationTally& MutationTally::operator+=(const MutationTally& other) {
  for (int i = 0; i < kMutations; ++i) {
    made[i] += other.made[i];
    caught[i] += other.caught[i];
  }
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
  for (const NamedCase& each : all) expect_right(variant, each, &use);
  for (int rank = 0; rank < variant.ranks; ++rank) {
    for (const Mutant& mutant : mutants(variant, rank)) {
      ++tally.made[static_cast<int>(mutant.mutation)];
      bool caught = caught_by(all, mutant);
      if (!caught) {
        if (more.empty()) {
          more = cases(variant, Effort::full);
          for (const NamedCase& each : more) expect_right(variant, each, nullptr);
        }
        caught = caught_by(more, mutant);
      }
      if (caught) {
        ++tally.caught[static_cast<int>(mutant.mutation)];
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
