// Lays the foundation of a group: a census that is complete, and memory that the ranks of a node share.
#include "communicator/foundation.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

#include "choose/cutting.hpp"
#include "communicator/survey.hpp"
#include "topology/error.hpp"

namespace copse::communicator {
namespace {

bool is_crowded(const Census& census, const choose::Settings& settings) {
  if (settings.waiting != choose::Waiting::chosen) return settings.waiting == choose::Waiting::yielding;
  return oversubscribed(census.cards);
}

}  // namespace

Foundation::Foundation(Census& census, const choose::Settings& settings)
    : census_(census), settings_(settings), memory_(census.card(census.leader())) {
  if (census.leader() != census.rank) return;
  Survey found;
  try {
    found = survey(census, settings);
  } catch (const topology::Error& error) {
    trouble_ = error.what();
  }
  for (const int rank : census.here) census.cards[static_cast<std::size_t>(rank)].online = found.facts.online;
  memory_.make(bytes());
  memory_.tell(found, places_at());
}

std::string Foundation::meet(Bootstrap& bootstrap) {
  if (settings_.waiting != choose::Waiting::spinning) bootstrap.give_way(census_.crowding());
  if (!memory_.meet(bootstrap)) return kNotGathered;
  std::map<std::uint64_t, int> firsts;  // the first rank of each host
  for (int rank = 0; rank < bootstrap.ranks(); ++rank) {
    Card& card = census_.cards[static_cast<std::size_t>(rank)];
    const int first = firsts.try_emplace(card.place.host, rank).first->second;
    card.online = memory_.facts_of(first).online;
    if (card.online < 1)
      return "rank " + std::to_string(first) + " cannot look at its machine" + (first == census_.rank ? ": " + trouble_ : "");
  }
  census_.last_cache_bytes = memory_.facts_of(census_.leader()).last_cache_bytes;
  census_.crowded = is_crowded(census_, settings_);
  memory_.open(census_.leader(), bytes());
  return {};
}

topology::Place Foundation::place_of(int local) const {
  topology::Place place;
  if (memory_.mapping())
    std::memcpy(&place, memory_.mapping()->base() + places_at() + static_cast<std::size_t>(local) * sizeof place, sizeof place);
  return place;
}

engine::Geometry Foundation::geometry_for(bool crowded) const {
  engine::Geometry geometry{choose::rings_for(crowded, static_cast<int>(census_.cards.size()))};
  geometry.helpers = static_cast<std::uint32_t>(settings_.helpers);
  return geometry;
}

std::size_t Foundation::places_at() const {
  const auto here = static_cast<int>(census_.here.size());
  const auto end = [&](bool crowded) { return engine::Segment::bytes(geometry_for(crowded), here); };
  return census_.nodes > 1 ? std::max(end(false), end(true)) : end(is_crowded(census_, settings_));
}

}  // namespace copse::communicator
