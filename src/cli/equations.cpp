// Finds the shape that HMPI's equations need, and prints them.
#include "cli/equations.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/output.hpp"
#include "price/hmpi.hpp"

namespace copse::cli {
namespace {

std::optional<price::Hmpi> hmpi_of(const price::Parameters& machine, const topology::Placement& places) {
  std::map<std::int32_t, int> sockets;  // ranks in each
  for (const topology::Place& place : places) {
    if (place.at(topology::Level::node) != places.front().at(topology::Level::node)) return std::nullopt;
    ++sockets[place.at(machine.nearness.front().level)];
  }
  const topology::Level outermost = machine.nearness.back().level;
  const bool spanned = std::any_of(places.begin() + 1, places.end(), [&](const topology::Place& place) {
    return machine.between(places.front(), place).level == outermost;
  });
  const int ranks = sockets.begin()->second;
  const bool alike = std::all_of(sockets.begin(), sockets.end(), [&](const auto& socket) { return socket.second == ranks; });
  if (!spanned || !alike) return std::nullopt;
  return price::Hmpi::of(machine, ranks, static_cast<int>(sockets.size()));
}

}  // namespace

void print_equations(const price::Parameters& machine, const topology::Placement& places, std::size_t bytes,
                     const std::vector<Priced>& rows) {
  const std::optional<price::Hmpi> hmpi = hmpi_of(machine, places);
  if (!hmpi) return;
  const double lines = std::max(1.0, std::ceil(static_cast<double>(bytes) / price::kLine));
  std::vector<std::vector<std::string>> table{{"equation", "shape", "by HMPI", "price", "of"}};
  const auto add = [&](const char* equation, const char* shape, double ns, std::string_view plans) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const Priced& each) { return each.decision.algorithm->name.starts_with(plans); });
    const bool priced = row != rows.end();
    table.push_back(
        {equation, shape, time_text(ns), priced ? time_text(row->price.ns) : "-", priced ? name_of(row->decision) : "-"});
  };
  add("5", "reduce, then broadcast", hmpi->reduce_broadcast(lines, hmpi->unfolded()), "reduce_broadcast");
  add("6, 7", "dissemination", hmpi->dissemination(lines), "dissemination");
  add("11", "tiles, then broadcast", hmpi->tiled_reduce_broadcast(lines), "tiled_hierarchical");
  std::printf(
      "\nHMPI's equations for %d sockets (%s) of %d ranks. They leave out signals, and what a rank keeps in its own caches.\n",
      hmpi->s, std::string(topology::level_name(machine.nearness.front().level)).c_str(), hmpi->q);
  print_table(table);
}

}  // namespace copse::cli
