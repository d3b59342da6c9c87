// The defaults, and how the user's word changes them.
#include "choose/chooser.hpp"

#include <algorithm>

namespace copse::choose {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;

constexpr std::size_t kKiB = 1024;

const Algorithm *row(Collective collective, const char *name) { return algorithms::find(collective, name); }

// Few ranks that share a cache, or ranks that take turns on too few processors: what counts is the number of
// dependent rounds. Otherwise trees (HMPI 2.2, NUMACol 3).
bool one_round(const Situation &s) { return s.nodes == 1 && (s.oversubscribed ? s.ranks <= 64 : s.ranks <= 4); }

// Ranks that take turns: rank 0 leaves first, so that what it gives next is there when the others get their turn.
Decision default_barrier(const Situation &s) {
  if (one_round(s) && s.oversubscribed) return {row(Collective::barrier, "central"), Carrier::line};
  if (one_round(s)) return {row(Collective::barrier, "flat"), Carrier::line};
  return {row(Collective::barrier, s.nodes == 1 && !s.numa ? "dissemination" : "tree"), Carrier::line};
}

// The carrier for a message: in the signal, through a slot, or straight out of the other's buffer. The last needs one
// more dependent round, which is a turn of every rank where they share processors.
Carrier carrier_for(const Situation &s, std::size_t bytes, std::size_t direct_from, Carrier one_sided) {
  if (bytes <= plan::kLinePayloadBytes) return Carrier::line;
  if (s.direct && s.addressable && bytes >= direct_from) return one_sided;
  return Carrier::slot;
}

// Pieces of a staged message: small enough to stay in the second cache of both sides and to overlap, large enough to
// be worth a signal; and, where ranks take turns on their processors, worth a turn.
std::size_t staged_fragment(const Situation &s) { return (s.oversubscribed || s.ranks == 2 ? 64 : 32) * kKiB; }

// Without loads and stores into the other's buffer, the kernel's single copy beats two copies from here on, when both
// sides share it out.
constexpr std::size_t kKernelFrom = 48 * kKiB;

// Costs are measured once, and change with where the host puts its processors; slots follow (engine/slot_stores.hpp), the
// kernel's copy cannot: it is taken where it is clearly cheaper. `by_slots`: what slots cost for each byte that it would
// copy, in the unit of s.costs.
bool kernel_is_cheaper(const Situation &s, float by_slots) { return s.costs.kernel <= 0.75F * by_slots; }

bool kernel_pays(const Situation &s, std::size_t bytes, std::size_t from, float by_slots) {
  return s.addressable && !s.direct && !s.oversubscribed && s.nodes == 1 && bytes >= from &&
         kernel_is_cheaper(s, by_slots);
}

Decision default_broadcast(const Situation &s, std::size_t bytes) {
  Decision d;
  d.carrier = carrier_for(s, bytes, s.oversubscribed ? 96 * kKiB : 4 * kKiB + 1, Carrier::get);
  d.algorithm = row(Collective::broadcast, one_round(s) || s.ranks <= 8 ? "flat" : "hierarchical_flat");
  if (s.nodes > 1) d.algorithm = row(Collective::broadcast, "hierarchical_flat");
  const float through = std::max(s.costs.write, s.costs.read);  // one side writes while the other reads
  if (kernel_pays(s, bytes, kKernelFrom, 2 * through)) d.carrier = Carrier::get;
  // The root's share of the work shrinks with the number of ranks.
  if (d.carrier == Carrier::get && s.nodes == 1 && s.ranks <= 4 && bytes >= 8 * kKiB)
    d.algorithm = row(Collective::broadcast, "shared");
  if (d.carrier == Carrier::slot) d.fragment_bytes = staged_fragment(s);
  if (d.carrier == Carrier::get && d.algorithm->name == "hierarchical_flat") d.fragment_bytes = 64 * kKiB;
  return d;
}

Decision default_reduce(const Situation &s, std::size_t bytes, bool ordered) {
  Decision d;
  const std::size_t direct_from = s.oversubscribed ? 96 * kKiB : 4 * kKiB + 1;
  d.carrier = carrier_for(s, bytes, direct_from, bytes >= 8 * kKiB ? Carrier::put : Carrier::get);
  // Every rank reads its part out of all buffers: what many ranks on few processors gain by that in the caches, they lose
  // several times over on buffers whose pages they have not met, or that the page tables of all together do not keep.
  if (s.oversubscribed && s.ranks > 8 && d.carrier == Carrier::put) d.carrier = Carrier::slot;
  const bool flat = one_round(s) && (bytes <= 4 * kKiB || s.ranks <= 2);
  d.algorithm = row(Collective::reduce, flat ? "flat" : ordered ? "knomial" : "hierarchical");
  if (d.carrier == Carrier::put && s.nodes == 1) d.algorithm = row(Collective::reduce, "tiled");
  if (d.carrier == Carrier::put && s.nodes > 1) d.carrier = Carrier::get;
  if (d.carrier == Carrier::slot || d.carrier == Carrier::get) d.fragment_bytes = staged_fragment(s);
  if (d.carrier == Carrier::put) d.fragment_bytes = 16 * kKiB * static_cast<std::size_t>(s.ranks);
  return d;
}

Decision default_allreduce(const Situation &s, std::size_t bytes, bool ordered) {
  Decision d;
  const std::size_t direct_from = s.oversubscribed ? (s.ranks > 8 ? 128 : 24) * kKiB : kKiB + 1;
  d.carrier = carrier_for(s, bytes, direct_from, Carrier::put);
  // It saves a copy in each of two stages. Among more ranks the sums' order depends on how a message is cut, and bits must
  // not depend on what was measured.
  if (s.ranks == 2 && kernel_pays(s, bytes, kKernelFrom / 2, s.costs.write / 2 + s.costs.read)) d.carrier = Carrier::put;
  if (d.carrier == Carrier::put && s.nodes > 1) d.carrier = Carrier::get;
  const bool hierarchical = s.nodes > 1 || s.numa;
  // Two ranks exchange as many bytes as they tile, and in one stage, which counts more the further apart they are. Both add
  // all of it: nothing beside the copies, unless they take turns.
  const bool pair = s.ranks == 2 && !s.oversubscribed;
  const std::size_t exchanged = pair ? 1024 * kKiB : 32 * kKiB / static_cast<std::size_t>(s.ranks);
  if (d.carrier == Carrier::line || (d.carrier == Carrier::slot && bytes <= exchanged)) {
    d.algorithm = row(Collective::allreduce, one_round(s) ? "exchange" : "recursive_doubling");
    if (hierarchical && !ordered) d.algorithm = row(Collective::allreduce, "reduce_broadcast");
  } else if (d.carrier == Carrier::slot && s.nodes == 1 && s.oversubscribed && s.ranks >= 8 && !ordered) {
    d.algorithm = row(Collective::allreduce, "reduce_broadcast");  // a tile is smaller than a turn is worth
  } else {
    d.algorithm = row(Collective::allreduce, hierarchical && !ordered ? "tiled_hierarchical" : "tiled");
    if (hierarchical && !ordered && d.carrier == Carrier::put) d.carrier = Carrier::get;
  }
  if (d.carrier == Carrier::slot) d.fragment_bytes = staged_fragment(s);
  // A strip for each rank at a time: what is read from one side is still in the first cache when it is stored. The
  // kernel is asked for as much as there is: it does not keep to the cache anyhow.
  if (s.direct && (d.carrier == Carrier::put || d.carrier == Carrier::get))
    d.fragment_bytes = 16 * kKiB * static_cast<std::size_t>(s.ranks);
  return d;
}

Decision default_scan(const Situation &s, Collective collective, std::size_t bytes) {
  Decision d;
  // A chain is a pipeline, and ranks that take turns run through it in theirs; many ranks at once prefer few rounds.
  const bool rounds = !s.oversubscribed && s.ranks > 4 && bytes <= 4 * kKiB;
  d.algorithm = row(collective, rounds ? "recursive_doubling" : "chain");
  d.carrier = bytes <= plan::kLinePayloadBytes ? Carrier::line : Carrier::slot;
  if (d.carrier == Carrier::slot) d.fragment_bytes = staged_fragment(s);
  // By loads from where the rank before has it; taking turns, or with a kernel's copy at each rank, slots are no slower.
  if (!rounds && s.direct && s.addressable && !s.oversubscribed && s.nodes == 1 && bytes >= 4 * kKiB) {
    d.carrier = Carrier::get;
    d.fragment_bytes = 64 * kKiB;
  }
  return d;
}

// From which size of a block on buffers are read or written where they lie: by loads and stores, or else by the kernel.
// That costs one more dependent round, and saves one of two copies; the more ranks share a processor, the dearer the
// round, and the more blocks go the same way at once, the cheaper.
struct Onesided {
  std::size_t direct, kernel;
};
Onesided onesided_from(const Situation &s, Collective collective) {
  constexpr std::size_t kNever = ~std::size_t{0};
  const bool pairs = collective == Collective::alltoall || collective == Collective::reduce_scatter;
  if (!s.oversubscribed) return {pairs || collective == Collective::allgather ? 257 : kKiB + 1, 16 * kKiB + 1};
  if (collective == Collective::reduce_scatter) return {513, kNever};  // the blocks' sum is a pass over slots anyhow
  if (pairs) return {513, 64 * kKiB + 1};
  if (collective == Collective::allgather) return {4 * kKiB + 1, kNever};  // staged, what all read is copied once
  return {(collective == Collective::gather ? 4 : 8) * kKiB + 1, 32 * kKiB + 1};
}

bool rooted(Collective collective) { return collective == Collective::gather || collective == Collective::scatter; }

// In a gather or scatter one side writes slots while the other reads them; elsewhere each rank does both.
float by_slots(const Situation &s, Collective collective) {
  return rooted(collective) ? std::max(s.costs.write, s.costs.read) : s.costs.write + s.costs.read;
}

// `bytes`: of a block.
Decision default_blocks(const Situation &s, Collective collective, std::size_t bytes, bool wide) {
  Decision d;
  const Onesided from = onesided_from(s, collective);
  const bool reach = s.addressable && (s.direct ? bytes >= from.direct
                                                : bytes >= from.kernel && kernel_is_cheaper(s, by_slots(s, collective)));
  d.carrier = bytes <= plan::kLinePayloadBytes ? Carrier::line : reach ? Carrier::get : Carrier::slot;
  // Large blocks for all ranks at once would take slots beyond the second cache. Sums go the same way by the kernel too:
  // their order must not depend on what was measured.
  const bool large = bytes >= 64 * kKiB;
  if (collective == Collective::reduce_scatter) {
    d.algorithm = row(collective, wide || (large && !s.direct) ? "pairwise" : "tiled");
  } else {
    const bool paired = collective == Collective::alltoall && large && d.carrier == Carrier::slot;
    d.algorithm = row(collective, wide || paired ? "pairwise" : "flat");
  }
  if (d.carrier == Carrier::get && collective == Collective::gather) d.carrier = Carrier::put;  // all processors copy
  // Between nodes, and for short blocks of many ranks, a tree's few messages beat many.
  if (!one_round(s) && (s.nodes > 1 || (s.ranks > 16 && bytes <= kKiB))) {
    if (rooted(collective)) d.algorithm = row(collective, "hierarchical_flat");
    if (collective == Collective::allgather) d.algorithm = row(collective, s.nodes > 1 ? "hierarchical" : "bruck");
  }
  if (d.carrier == Carrier::slot) d.fragment_bytes = staged_fragment(s);
  return d;
}

// Of a gather or scatter, values of up to so many bytes ride with a signal; of a scatter, all blocks ride together.
std::size_t longest_ride(const Situation &s, Collective collective) {
  const Onesided from = onesided_from(s, collective);
  std::size_t one_sided = s.direct ? from.direct : from.kernel;
  // Longer messages cannot ride: they have to go by the kernel even where that is dearer.
  if (!s.direct && !s.oversubscribed && !kernel_is_cheaper(s, by_slots(s, collective))) one_sided = 64 * kKiB + 1;
  return (one_sided - 1) * (collective == Collective::scatter ? static_cast<std::size_t>(s.ranks) : 1);
}

Decision default_for(const Situation &situation, Collective collective, std::size_t bytes, Needs needs) {
  const bool ordered = needs.strict;
  switch (collective) {
    case Collective::barrier: return default_barrier(situation);
    case Collective::broadcast: return default_broadcast(situation, bytes);
    case Collective::reduce: return default_reduce(situation, bytes, ordered);
    case Collective::allreduce: return default_allreduce(situation, bytes, ordered);
    case Collective::scan:
    case Collective::exscan: return default_scan(situation, collective, bytes);
    case Collective::gather:
    case Collective::scatter:
    case Collective::allgather:
    case Collective::alltoall:
    case Collective::reduce_scatter: return default_blocks(situation, collective, bytes, needs.wide);
  }
  return {};
}

}  // namespace

std::optional<Decision> one_way(const Settings &settings, const Situation &s, Collective collective) {
  if (!rooted(collective) || s.nodes > 1 || !s.anywhere || settings.forced_for(collective) != nullptr) return std::nullopt;
  Decision d;
  d.algorithm = row(collective, "one_way");
  d.carrier = collective == Collective::gather ? Carrier::put : Carrier::get;
  d.ride_bytes = longest_ride(s, collective);
  return d;
}

Decision choose(const Settings &settings, const Situation &situation, Collective collective, std::size_t bytes,
                Needs needs, std::size_t pack) {
  const Decision standard = default_for(situation, collective, bytes, needs);
  Decision d = standard;
  const Forced *forced = settings.forced_for(collective);
  if (forced != nullptr && !needs.wide && (!needs.strict || forced->algorithm->strict())) {
    d.algorithm = forced->algorithm;
    d.radix = forced->radix.value_or(2);
    if (forced->carrier) d.carrier = *forced->carrier;
  }
  const auto possible = [&](Carrier carrier) {
    if (!d.algorithm->carries(carrier)) return false;
    if (carrier == Carrier::line) return pack * bytes <= plan::kLinePayloadBytes;
    return carrier == Carrier::slot || situation.addressable;
  };
  // The carrier wanted, else one that the algorithm has; without any, the forced algorithm cannot run this message.
  if (!possible(d.carrier)) {
    const Carrier others[] = {Carrier::slot, Carrier::get, Carrier::put, Carrier::line};
    const auto *const other = std::find_if(std::begin(others), std::end(others), possible);
    if (other != std::end(others)) {
      d.carrier = *other;
    } else {
      d = standard;
    }
  }
  if (!d.algorithm->fragments || d.carrier == Carrier::line) d.fragment_bytes = 0;
  if (d.algorithm->rides()) d.ride_bytes = longest_ride(situation, collective);

  if (d.algorithm->fragments && d.carrier != Carrier::line) {
    switch (settings.fragment.mode) {
      case Fragmentation::Mode::chosen: break;
      case Fragmentation::Mode::none: d.fragment_bytes = 0; break;
      case Fragmentation::Mode::fixed: d.fragment_bytes = settings.fragment.bytes; break;
      case Fragmentation::Mode::halves: d.halves = true; break;
    }
  }
  return d;
}

}  // namespace copse::choose
