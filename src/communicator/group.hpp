// A group is what the ranks of a communicator have found out about one another and agreed on. All streams of calls among them
// share it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "communicator/bootstrap.hpp"
#include "communicator/communicator.hpp"
#include "communicator/kin.hpp"
#include "communicator/lanes.hpp"
#include "communicator/progress.hpp"
#include "communicator/trace.hpp"
#include "engine/executor.hpp"

namespace copse::communicator {

struct Group {
  int rank = 0, ranks = 1;
  choose::Settings settings;
  std::shared_ptr<Progress> progress;
  std::unique_ptr<Bootstrap> bootstrap;
  std::unique_ptr<engine::Wire> wire;
  std::shared_ptr<Kin> kin;
  Plot plot;          // where the communicator's own stream runs
  std::optional<std::uint64_t> next_ticket;  // of the next call in the plot, once the communicator's own stream has ended well
  Lanes lanes;        // streams beside the communicator's own
  EndedTraces ended;  // traces of lanes that are gone
  algorithms::Graph graph;  // of neighbours; empty if there is none

  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  // has_ended() tells whether the process of a rank has ended, as far as this node can tell. first_ended() returns the first
  // such rank, or -1 if there is none.
  [[nodiscard]] bool has_ended(int other) const;
  [[nodiscard]] int first_ended() const;
  [[nodiscard]] int callers() const { return ranks - settings.helpers; }
  [[nodiscard]] bool is_helper() const { return rank >= callers(); }

  // Makes an executor for calls in memory of their own, over a wire of their own, numbered from `ticket` on (see
  // Executor::begin_at).
  [[nodiscard]] std::unique_ptr<engine::Executor> executor_on(const engine::Segment& where, engine::Wire* over,
                                                              std::uint64_t ticket) const;
};

// A group, and what its own stream of calls runs on.
struct Founded {
  std::shared_ptr<Group> group;
  std::unique_ptr<engine::Executor> executor;
  std::map<std::string, Tally> start;  // the time that each part of the founding took on this rank
};
// Takes part only in the first exchange of found(), to say that this rank has a mistake in its variables. No rank founds a group
// then.
void decline(Bootstrap& bootstrap);
// Founds a group of the bootstrap's ranks, which are its own kin. This is collective, as Communicator::create() is. If they
// cannot be a group, the result is empty, and `why_not` is the reason.
[[nodiscard]] Founded found(std::unique_ptr<Bootstrap> bootstrap, std::unique_ptr<engine::Wire> wire,
                            const choose::Settings& settings, std::string& why_not, std::shared_ptr<Progress> progress);

// Founds a group among kin that all ranks offer. `words` are those of all ranks. This is collective. If the ranks cannot get
// memory, the result is empty, and the caller keeps the bootstrap.
[[nodiscard]] Founded found_among(const KinOffer& offer, std::span<const KinWord> words, std::unique_ptr<Bootstrap>& bootstrap,
                                  const choose::Settings& settings, std::shared_ptr<Progress> progress);

}  // namespace copse::communicator
