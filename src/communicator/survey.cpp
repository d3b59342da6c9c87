// Looks at the machine, and finds ranks in it.
#include "communicator/survey.hpp"

#include <unistd.h>

#include <algorithm>

namespace copse::communicator {
namespace {

std::int32_t online() {
  static const auto number = static_cast<std::int32_t>(sysconf(_SC_NPROCESSORS_ONLN));  // this reads files
  return number;
}

// Returns the machine with all its processors. With one region, it does not matter which processors are near a network card, and
// the look for cards takes milliseconds. The machines are never destroyed, for the same reason as in card.cpp.
const topology::Machine& whole_machine(bool over_nodes) {
  static const bool denied = this_machine().processors().size() < static_cast<std::size_t>(online());
  static const auto& plain = denied ? *new topology::Machine(topology::Machine::discover_whole(false)) : this_machine();
  if (!over_nodes || plain.regions().size() == 1) return plain;
  static const auto& with_network = *new topology::Machine(topology::Machine::discover_whole(true));
  return with_network;
}

topology::CpuSet processors_of(const Card& card) {
  topology::CpuSet cpus;
  for (unsigned cpu = 0; cpu < kCpusMax; ++cpu)
    if ((card.cpus[cpu / 64] >> cpu % 64 & 1) != 0) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

Survey survey(const Census& census, const choose::Settings& settings) try {
  const topology::Machine& machine = whole_machine(census.nodes > 1);
  const topology::CpuSet& allowed = machine.allowed();
  Survey result;
  bool all_allowed = true;  // otherwise each rank may have processors of its own
  const Card* before = nullptr;
  for (const int rank : census.here) {
    const Card& card = census.card(rank);
    if (before == nullptr || card.cpus != before->cpus) {
      const topology::CpuSet cpus = processors_of(card);
      all_allowed = all_allowed && std::includes(allowed.begin(), allowed.end(), cpus.begin(), cpus.end());
      result.places.push_back(machine.place_of(cpus));
    } else {
      result.places.push_back(result.places.back());
    }
    before = &card;
  }
  // hwloc sees only the processors that the container may use.
  const auto usable = all_allowed ? std::min(online(), static_cast<std::int32_t>(allowed.size())) : online();
  result.facts = {usable, last_cache_bytes(machine).value_or(0)};
  return result;
} catch (const topology::Error&) {
  if (settings.topology.empty()) throw;
  return {{online(), 0}, std::vector<topology::Place>(census.here.size())};
}

}  // namespace copse::communicator
