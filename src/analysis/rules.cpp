// What a step may name and do at all.
#include "analysis/rules.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "plan/rings.hpp"

namespace copse::analysis {
namespace {

using plan::Kind;
using plan::Operand;
using plan::Space;

struct Rules {
  const Case& subject;
  int call, rank;
  const plan::Plan& plan;
  std::vector<Finding>& findings;
  const plan::Section* section = nullptr;
  std::set<int> published = {};  // whose publications the rank has awaited so far
  const plan::Step* step = nullptr;
  std::map<int, std::uint32_t> blocks_of_scratches = {};  // by rank

  const ScriptedCall& job() const { return subject.calls[static_cast<std::size_t>(call)]; }

  void illegal(std::string why) {
    findings.push_back({Fault::illegal, rank, step != nullptr ? plan::to_text(plan, *step) : "plan", call, 0, std::move(why)});
  }
  const algorithms::Traits& traits() const { return algorithms::traits_of(job().collective); }
  bool is_rank(int peer) const { return peer >= 0 && peer < subject.ranks; }
  bool near(int peer) const {
    return subject.nodes.empty() || subject.nodes[static_cast<std::size_t>(peer)] == subject.nodes[static_cast<std::size_t>(rank)];
  }

  static bool is_peers(const Operand& operand) {
    return operand.space == Space::peer_input || operand.space == Space::peer_output || operand.space == Space::peer_scratch;
  }

  void peer(int peer, bool shares_memory) {
    if (!is_rank(peer)) return illegal("no such rank: " + std::to_string(peer));
    if (peer == rank) return illegal("a rank neither waits for itself nor sends to itself");
    if (shares_memory && !near(peer)) illegal("rank " + std::to_string(peer) + " is on another node");
    if (!shares_memory && near(peer))
      illegal("rank " + std::to_string(peer) + " is on this node; the wire is only for other nodes");
  }

  void range(const plan::Range& range) {
    const bool around = plan.contents.blocks > 0 && range.of == plan.contents.blocks && range.first < range.of;
    if (range.of == 0 || range.count == 0 || range.count > range.of ||
        (std::uint64_t{range.first} + range.count > range.of && !around))
      illegal("range out of bounds: first " + std::to_string(range.first) + ", count " + std::to_string(range.count) + " of " +
              std::to_string(range.of));
  }

  void line_or_slot(const Operand& operand, bool written) {
    if (!is_rank(operand.rank)) return illegal("line or slot of no rank: " + std::to_string(operand.rank));
    if (!near(operand.rank)) illegal("line or slot of a rank on another node");
    if (written && operand.rank != rank) illegal("writes another rank's line or slot");
    if (operand.area >= plan.areas) illegal("area beyond the plan's " + std::to_string(plan.areas));
    if (operand.range.of > 0 && plan.contents.blocks > 0 &&
        (operand.range.first + operand.range.of - operand.origin) % operand.range.of + operand.range.count > plan.pack)
      illegal("more blocks than the plan's pack, " + std::to_string(plan.pack));
    if (!section->loop && job().fragments > 1) illegal("a whole message of several fragments does not fit a line or slot");
  }

  void ride(const Operand& operand, bool written) {
    if (!is_rank(operand.rank)) return illegal("ride with no rank: " + std::to_string(operand.rank));
    if (!near(operand.rank)) illegal("ride with a rank on another node");
    if (written && operand.rank != rank) illegal("writes another rank's ride");
    if (plan.contents.blocks == 0) illegal("a ride must be made of blocks");
    if (!plan.one_fragment) illegal("a ride must be a whole message");
    if (operand.area != plan::kPublishArea) illegal("a ride must be on the area of publications");
    if (step->kind != Kind::copy) illegal("a ride must be copied");
  }

  void peers_buffer(const Operand& operand, bool written) {
    if (!is_rank(operand.rank)) return illegal("buffer of no rank: " + std::to_string(operand.rank));
    if (!near(operand.rank)) illegal("buffer of a rank on another node");
    if (operand.rank == rank) illegal("the rank's own buffer, used as if it were a peer's");
    if (written && operand.space == Space::peer_input) illegal("writes a peer's input");
    if (operand.space == Space::peer_output && !job().has_output_buffer(operand.rank)) illegal("that rank has no output");
    if (operand.space == Space::peer_input && !job().has_input_buffer(operand.rank)) illegal("that rank has no input");
    if (operand.space != Space::peer_scratch) return;
    if (!plan.whole_scratch) illegal("a peer's scratch that does not hold whole messages");
    const plan::Plan& owner = (*job().plans)[static_cast<std::size_t>(operand.rank)];
    if (operand.area >= owner.scratches) illegal("scratch beyond those of that rank");
    if (plan.contents.blocks == 0 || operand.range.of == 0) return;
    const auto [room, fresh] = blocks_of_scratches.try_emplace(operand.rank, 0);
    if (fresh) room->second = most_blocks(owner);
    if (blocks_of_scratch(operand) > room->second) illegal("more blocks than any scratch of that rank holds");
  }

  // The engine gives scratches room for the blocks that their owner's own steps name.
  static std::uint32_t blocks_of_scratch(const Operand& operand) {
    return (operand.range.first + operand.range.of - operand.origin) % operand.range.of + operand.range.count;
  }
  static std::uint32_t most_blocks(const plan::Plan& owner) {
    std::uint32_t most = 0;
    for (const plan::Step& step : owner.steps)
      for (const Operand* each : {&step.dst, &step.dst2, &step.a, &step.b})
        if (each->space == Space::scratch && each->range.of > 0) most = std::max(most, blocks_of_scratch(*each));
    return most;
  }

  void operand(const Operand& operand, bool written) {
    if (operand.space == Space::none) return;
    range(operand.range);
    switch (operand.space) {
      case Space::none: break;
      case Space::input:
        if (written) illegal("writes the input");
        if (!job().has_input_buffer(rank)) illegal("this rank has no input");
        break;
      case Space::output:
        if (!job().has_output_buffer(rank)) illegal("this rank has no output");
        break;
      case Space::scratch:
        if (operand.area >= plan.scratches) illegal("scratch beyond the plan's " + std::to_string(plan.scratches));
        break;
      case Space::line:
      case Space::slot: return line_or_slot(operand, written);
      case Space::ride: return ride(operand, written);
      case Space::peer_input:
      case Space::peer_output:
      case Space::peer_scratch: return peers_buffer(operand, written);
    }
  }

  // All ranks that delegate, or none, know the same members.
  void delegation() {
    const auto members = plan.peers_of(*step);
    if (members.size() < 2 || !std::is_sorted(members.begin(), members.end()))
      return illegal("the members are not several ranks in ascending order");
    if (std::find(members.begin(), members.end(), rank) == members.end()) return illegal("the rank is none of the members");
    for (const int member : members)
      if (member != rank) peer(member, false);
    if (!is_rank(members.front()) || !is_rank(members.back())) return;
    if (step->peer >= 0 && std::find(members.begin(), members.end(), step->peer) == members.end())
      illegal("the root is none of the members");
    const plan::Plan& first = (*job().plans)[static_cast<std::size_t>(members.front())];
    const bool known = std::any_of(first.steps.begin(), first.steps.end(), [&](const plan::Step& theirs) {
      const auto others = first.peers_of(theirs);
      return theirs.kind == Kind::delegate && std::equal(others.begin(), others.end(), members.begin(), members.end());
    });
    if (!known) illegal("rank " + std::to_string(members.front()) + " knows of no such members");
    const bool gives = step->a.space != Space::none, takes = step->dst.space != Space::none;
    if (step->peer < 0 ? gives != takes : !gives && !takes) illegal("an operand is missing");
    if (plan.contents.blocks > 0) illegal("a message made of blocks is not delegated");
    for (const Operand* operand : {&step->dst, &step->a})
      if (is_peers(*operand) || (operand->rank >= 0 && operand->rank != rank)) illegal("the wire reaches this rank's memory only");
  }

  void condition() {
    if (step->when == plan::When::always) return;
    if (step->whose == plan::kEveryone) return condition_on_all();
    if (!is_rank(step->whose)) return illegal("a condition on the value of no rank: " + std::to_string(step->whose));
    if (step->whose != rank && !published.contains(step->whose))
      illegal("whether the value of rank " + std::to_string(step->whose) + " rides is not known before its publication");
    if (!gives_ride((*job().plans)[static_cast<std::size_t>(step->whose)]))
      illegal("a condition on rank " + std::to_string(step->whose) + ", which gives nothing that may ride");
  }

  void condition_on_all() {
    for (int giver = 0; giver < subject.ranks; ++giver) {
      if (giver != rank && !published.contains(giver))
        illegal("whether all ride is not known before the publication of rank " + std::to_string(giver));
      if (!gives_ride((*job().plans)[static_cast<std::size_t>(giver)]))
        illegal("a condition on all ranks, but rank " + std::to_string(giver) + " gives nothing that may ride");
    }
  }

  void one_step() {
    condition();
    if (step->kind == Kind::await && step->area == plan::kPublishArea && step->when == plan::When::always)
      published.insert(step->peer);
    if (step->lag > section->max_lag) illegal("lag beyond the section's " + std::to_string(section->max_lag));
    if (step->area >= std::max<int>(plan.areas, 1)) illegal("area beyond the plan's " + std::to_string(plan.areas));
    switch (step->kind) {
      case Kind::acquire:
        for (int reader : plan.peers_of(*step)) peer(reader, true);
        break;
      case Kind::await_done:
        if (section->loop) illegal("means the whole call, so it must be in a once-section");
        [[fallthrough]];
      case Kind::await: peer(step->peer, true); break;
      case Kind::send:
        peer(step->peer, false);
        if (is_peers(step->a)) illegal("the wire cannot read a peer's buffer");
        break;
      case Kind::expect:
        if (step->more) illegal("what is expected is a message as a whole");
        [[fallthrough]];
      case Kind::receive:
        peer(step->peer, false);
        if (is_peers(step->dst)) illegal("the wire cannot write a peer's buffer");
        break;
      case Kind::delegate:
      case Kind::collect: delegation(); break;
      case Kind::copy:
      case Kind::reduce:
        if (step->kind == Kind::copy && is_peers(step->dst) && is_peers(step->a)) illegal("moves data between two other ranks");
        if (step->dst.space == Space::none || step->a.space == Space::none ||
            (step->kind == Kind::reduce && step->b.space == Space::none))
          illegal("an operand is missing");
        if (plan.contents.blocks > 0)
          for (const Operand* other : {&step->dst2, &step->a, &step->b})
            if (other->space != Space::none && !(other->range == step->dst.range)) illegal("the operands are different blocks");
        break;
      default: break;
    }
    if (step->kind != Kind::acquire) operand(step->dst, true);
    operand(step->dst2, true);
    operand(step->a, false);
    operand(step->b, false);
  }

  void whole() {
    if (plan.rank != rank || plan.ranks != subject.ranks) illegal("made for another rank or number of ranks");
    if (plan.one_fragment && job().fragments > 1) illegal("works with one fragment only");
    if (plan.areas > plan::kAreas) illegal("more areas than the " + std::to_string(plan::kAreas) + " there are");
    if (plan.whole_scratch && plan.scratch_depth > 1) illegal("scratches that hold whole messages lie in no ring");
    if (plan.placed && !job().modes.placed) illegal("relies on a caller that says where buffers lie");
    const plan::Plan& first = job().plans->front();
    if (plan.pack != first.pack || plan.slots != first.slots || plan.one_fragment != first.one_fragment ||
        plan.whole_scratch != first.whole_scratch || plan.together != first.together || plan.placed != first.placed)
      illegal("does not cut messages in the same way as rank 0");
    for (const plan::Section& each : plan.sections) {
      section = &each;
      if (!each.loop && each.max_lag > 0) illegal("a once-section has no lag");
      if (each.max_lag >= plan::kLeastDepth) illegal("lag " + std::to_string(each.max_lag) + " needs deeper rings than there are");
      if (each.max_lag >= std::min(subject.slot_depth, subject.line_depth))
        illegal("lag " + std::to_string(each.max_lag) + " needs deeper rings of lines and slots");
      std::uint8_t lag = 0;
      std::map<std::tuple<Kind, int, int>, const plan::Step*> unfinished;  // messages, by area and peer
      for (std::uint32_t i = 0; i < each.count; ++i) {
        step = &plan.steps[each.first + i];
        if (step->lag < lag) illegal("a smaller lag than the step before: with one fragment the order would differ");
        lag = step->lag;
        one_step();
        if (step->kind != Kind::send && step->kind != Kind::receive) continue;
        const plan::Step*& before = unfinished[{step->kind, step->area, step->peer}];
        if (before != nullptr && before->portion != step->portion) illegal("begins before another message has ended");
        before = step->more ? step : nullptr;
      }
      for (const auto& [where, part] : unfinished) {
        step = part;
        if (part != nullptr) illegal("the rest of this message is missing");
      }
      step = nullptr;
    }
    for (int giver = 0; plan.together && giver < subject.ranks; ++giver)
      if (giver != rank && !published.contains(giver))
        illegal("does not learn whether what rank " + std::to_string(giver) + " gives rides");
  }
};

}  // namespace

void check_rules(const Case& subject, int call, int rank, const plan::Plan& plan, std::vector<Finding>& findings) {
  Rules{subject, call, rank, plan, findings}.whole();
}

}  // namespace copse::analysis
