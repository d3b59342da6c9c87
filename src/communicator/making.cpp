// Makes communicators, and lanes beside them.
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "choose/cutting.hpp"
#include "communicator/card.hpp"
#include "communicator/founding.hpp"
#include "communicator/state.hpp"
#include "text/json.hpp"

namespace copse::communicator {

Communicator::Communicator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Communicator::~Communicator() {
  const engine::CancelDeferred deferred;  // descriptors are closed, and the end of Copse's own thread may be waited for
  state_.reset();
}

int Communicator::rank() const { return state_->rank; }
int Communicator::ranks() const { return state_->ranks; }
const topology::Placement& Communicator::places() const { return state_->group->kin->conditions.places; }
const Capabilities& Communicator::capabilities() const { return state_->group->kin->conditions.capabilities; }
bool Communicator::under_way() const { return state_->group->progress->any_of(state_->group.get()); }

std::string Communicator::save_lessons() const {
  const choose::Settings& settings = state_->group->settings;
  if (settings.learned.empty() || state_->rank != 0) return {};
  const engine::CancelDeferred deferred;  // a file is written
  try {
    state_->routes.ways().save(settings.learned, machine_kind(settings));
  } catch (const text::FileError& wrong) {
    return "COPSE_LEARNED=" + std::string(wrong.what());
  }
  return {};
}

Trace Communicator::trace() const {
  Trace all = state_->trace;
  if (!state_->seat.lane) state_->group->ended.add_to(all);
  if (state_->traced && state_->rank == 0)
    for (std::string& line : state_->routes.ways().tried()) all.learned.push_back(std::move(line));
  return all;
}

void Communicator::let_rest() { state_->group->progress->let_rest(); }
void Communicator::give_up() {
  state_->seat.executor->give_up();
  state_->seat.keeps_memory = true;
}
std::size_t Communicator::element_bytes_max() { return choose::kLargestSlot; }

void Communicator::decline(Bootstrap& bootstrap) {
  const engine::CancelDeferred deferred;
  communicator::decline(bootstrap);
}

std::unique_ptr<Communicator> Communicator::create(std::unique_ptr<Bootstrap> bootstrap, std::unique_ptr<engine::Wire> wire,
                                                   const choose::Settings& settings, std::string& why_not,
                                                   std::shared_ptr<Progress> progress) {
  const engine::CancelDeferred deferred;
  // This comes first, because no rank may fail once the ranks have agreed.
  std::unique_ptr<Communicator> communicator(new Communicator(std::make_unique<State>()));
  if (!communicator->begin(found(std::move(bootstrap), std::move(wire), settings, why_not, std::move(progress)))) return nullptr;
  return communicator;
}

std::unique_ptr<Communicator> Communicator::create_among(const KinOffer& offer, std::span<const KinWord> words,
                                                         std::unique_ptr<Bootstrap>& bootstrap, const choose::Settings& settings,
                                                         std::shared_ptr<Progress> progress) {
  const engine::CancelDeferred deferred;
  std::unique_ptr<Communicator> communicator(new Communicator(std::make_unique<State>()));
  if (!communicator->begin(found_among(offer, words, bootstrap, settings, std::move(progress)))) return nullptr;
  return communicator;
}

bool Communicator::begin(Founded founded) noexcept {
  if (!founded.group) return false;
  state_->seat.executor = std::move(founded.executor);
  state_->trace.start = std::move(founded.start);
  state_->begin_in(std::move(founded.group));
  if (state_->group->progress->has_one_thread()) let_rest();
  return true;
}

std::shared_ptr<Kin> Communicator::kin() const {
  const Group& group = *state_->group;
  return group.wire == nullptr && group.settings.helpers == 0 ? group.kin : nullptr;
}

std::unique_ptr<Communicator> Communicator::lane(std::string& why_not) {
  Group& group = *state_->group;
  if (group.settings.helpers > 0 && !group.lanes.any_free()) {
    why_not = "the memory for more lanes was not made with the communicator";
    return nullptr;
  }
  std::unique_ptr<Communicator> beside(new Communicator(std::make_unique<State>()));
  State& state = *beside->state_;
  state.seat.lane = group.lanes.take(group.lane_ground(), why_not);
  if (!state.seat.lane) return nullptr;
  if (group.wire) state.seat.wire = group.wire->lane(state.seat.lane->number);
  state.seat.executor = group.executor_on(state.seat.lane->segment, state.seat.wire.get(), state.seat.lane->ticket);
  state.begin_in(state_->group);
  return beside;
}

void Communicator::connect(algorithms::Graph graph) { state_->group->graph = std::move(graph); }

bool Communicator::all_say(bool yes) {
  Group& group = *state_->group;
  const auto mine = static_cast<unsigned char>(yes);
  std::vector<unsigned char> all(static_cast<std::size_t>(group.ranks));
  if (!group.bootstrap->allgather(&mine, all.data(), sizeof mine)) return false;
  return std::find(all.begin(), all.end(), 0) == all.end();
}

void Communicator::State::begin_in(std::shared_ptr<Group> joined) noexcept {
  group = std::move(joined);
  rank = group->rank;
  ranks = group->ranks;
  if (group->wire == nullptr) group->progress->add(*this);  // a network card may know the pages
  traced = group->settings.trace;
  routes.begin(*group, *seat.executor, trace, seat.lane.has_value());
  jobs.begin_in(*group, *seat.executor, routes);
}

// A program may make other communicators again and again, and call on this one now and then. So a call keeps it awake for a few
// questions.
bool Communicator::State::rest() {
  constexpr int kPatience = 3;
  Seat::Rest& rest = seat.rest;
  if (rest.calls != calls) rest = {calls, 0, false};
  if (rest.rests) return true;
  if (++rest.asked < kPatience || failure.outcome != Outcome::done || !started.empty()) return false;
  rest.rests = seat.executor->give_memory_back();
  if (rest.rests) routes.forget_programs();
  return rest.rests;
}

Communicator::State::~State() {
  if (!group) return;
  group->progress->remove(*this);  // no other thread has the turn, or gets it, from here on
  send_helpers_home();
  const bool ended_well = failure.outcome == Outcome::done && !seat.keeps_memory && started.empty() && seat.executor->is_in_step();
  if (!seat.lane) {
    const bool forked = group->kin->reached.pids[static_cast<std::size_t>(rank)] != getpid();  // then the plot is not mapped here
    if (!ended_well || forked) return;
    const bool has_pages = !seat.rest.rests || seat.rest.calls != calls;
    const bool warm = has_pages && (group->kin->plots.keeps_pages() || !seat.executor->give_memory_back());
    group->left = {seat.executor->ticket(), warm};
    return;
  }
  if (ended_well) group->lanes.give_back(seat.lane->number, seat.executor->ticket());
  try {
    group->ended.add(trace);
  } catch (const std::bad_alloc&) {  // the trace then lacks this lane's calls
  }
}

}  // namespace copse::communicator
