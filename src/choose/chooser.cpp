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

Decision default_barrier(const Situation &s) {
  if (one_round(s)) return {row(Collective::barrier, "flat"), Carrier::line};
  return {row(Collective::barrier, s.nodes == 1 && !s.numa ? "dissemination" : "tree"), Carrier::line};
}

// The carrier for a message: in the signal, through a slot, or straight out of the other's buffer.
Carrier carrier_for(const Situation &s, std::size_t bytes, std::size_t direct_from, Carrier one_sided) {
  if (bytes <= plan::kLinePayloadBytes) return Carrier::line;
  if (s.direct && s.addressable && bytes >= direct_from) return one_sided;
  return Carrier::slot;
}

// Pieces of a staged message: small enough to stay in the first caches of both sides and to overlap, large enough
// to be worth a signal.
std::size_t staged_fragment(std::size_t bytes) { return bytes <= 64 * kKiB ? 8 * kKiB : 32 * kKiB; }

Decision default_broadcast(const Situation &s, std::size_t bytes) {
  Decision d;
  d.carrier = carrier_for(s, bytes, 16 * kKiB, Carrier::get);
  d.algorithm = row(Collective::broadcast, one_round(s) || s.ranks <= 8 ? "flat" : "hierarchical_flat");
  if (s.nodes > 1) d.algorithm = row(Collective::broadcast, "hierarchical_flat");
  if (d.carrier == Carrier::slot) d.fragment_bytes = staged_fragment(bytes);
  if (d.carrier == Carrier::get && d.algorithm->name != "flat") d.fragment_bytes = 64 * kKiB;
  return d;
}

Decision default_reduce(const Situation &s, std::size_t bytes, bool ordered) {
  Decision d;
  d.carrier = carrier_for(s, bytes, 16 * kKiB, Carrier::get);
  const bool flat = one_round(s) && (bytes <= 4 * kKiB || s.ranks <= 2);
  d.algorithm = row(Collective::reduce, flat ? "flat" : ordered ? "knomial" : "hierarchical");
  if (d.carrier == Carrier::slot) d.fragment_bytes = staged_fragment(bytes);
  if (d.carrier == Carrier::get) d.fragment_bytes = 32 * kKiB;
  return d;
}

Decision default_allreduce(const Situation &s, std::size_t bytes, bool ordered) {
  Decision d;
  d.carrier = carrier_for(s, bytes, 8 * kKiB, Carrier::put);
  if (d.carrier == Carrier::put && s.nodes > 1) d.carrier = Carrier::get;
  if (bytes <= 2 * kKiB) {
    d.algorithm = row(Collective::allreduce, one_round(s) ? "exchange" : "recursive_doubling");
    if (s.nodes > 1 || (s.numa && !ordered)) d.algorithm = row(Collective::allreduce, "reduce_broadcast");
    if (ordered && d.algorithm->name == "reduce_broadcast")
      d.algorithm = row(Collective::allreduce, "recursive_doubling");
  } else {
    const bool hierarchical = (s.nodes > 1 || s.numa) && !ordered;
    d.algorithm = row(Collective::allreduce, hierarchical ? "tiled_hierarchical" : "tiled");
    if (hierarchical && d.carrier == Carrier::put) d.carrier = Carrier::get;
  }
  if (d.carrier == Carrier::slot) d.fragment_bytes = staged_fragment(bytes);
  // A strip for each rank at a time: what is read from one side is still in the first cache when it is stored.
  if (d.carrier == Carrier::put || d.carrier == Carrier::get)
    d.fragment_bytes = 16 * kKiB * static_cast<std::size_t>(s.ranks);
  return d;
}

}  // namespace

Decision choose(const Settings &settings, const Situation &situation, Collective collective, std::size_t bytes,
                bool ordered) {
  Decision d;
  switch (collective) {
    case Collective::barrier: d = default_barrier(situation); break;
    case Collective::broadcast: d = default_broadcast(situation, bytes); break;
    case Collective::reduce: d = default_reduce(situation, bytes, ordered); break;
    case Collective::allreduce: d = default_allreduce(situation, bytes, ordered); break;
  }
  const Forced *forced = settings.forced_for(collective);
  if (forced != nullptr && (!ordered || forced->algorithm->keeps_order)) {
    d.algorithm = forced->algorithm;
    d.radix = forced->radix.value_or(2);
    if (forced->carrier) d.carrier = *forced->carrier;
  }
  // What cannot be is replaced by what always works: slots, for messages too long for a line; lines for signals.
  const bool one_sided = d.carrier == Carrier::get || d.carrier == Carrier::put;
  const bool too_long = d.carrier == Carrier::line && bytes > plan::kLinePayloadBytes;
  if (too_long || (one_sided && !situation.addressable) || !d.algorithm->carries(d.carrier))
    d.carrier = d.algorithm->carries(Carrier::slot) ? Carrier::slot : Carrier::line;
  if (!d.algorithm->fragments || d.carrier == Carrier::line) d.fragment_bytes = 0;

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
