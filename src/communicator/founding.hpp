// Makes groups.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "communicator/group.hpp"
#include "communicator/kin_offer.hpp"

namespace copse::communicator {

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
