// Making a communicator.
#include "communicator/communicator.hpp"

#include "communicator/state.hpp"

namespace copse::communicator {

Communicator::Communicator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Communicator::~Communicator() {
  const engine::CancelDeferred deferred;  // descriptors are closed, and a thread of Copse's own is waited for
  state_.reset();
}

int Communicator::rank() const { return state_->rank; }
int Communicator::ranks() const { return state_->ranks; }
const Capabilities &Communicator::capabilities() const { return state_->group->capabilities; }
const Trace &Communicator::trace() const { return state_->trace; }
bool Communicator::under_way() const { return state_->group->progress->any_of(state_->group.get()); }
void Communicator::give_up() { state_->executor->give_up(); }
std::size_t Communicator::element_bytes_max() { return geometry_for(false, 1).slots.back().bytes; }

std::unique_ptr<Communicator> Communicator::create(std::unique_ptr<Bootstrap> bootstrap,
                                                   std::unique_ptr<engine::Wire> wire,
                                                   const choose::Settings &settings, std::string &why_not,
                                                   std::shared_ptr<Progress> progress) {
  const engine::CancelDeferred deferred;
  // First: when the ranks have agreed, none may fail any more.
  std::unique_ptr<Communicator> communicator(new Communicator(std::make_unique<State>()));
  Founded founded = found(std::move(bootstrap), std::move(wire), settings, why_not, std::move(progress));
  if (!founded.group) return nullptr;
  communicator->state_->begin_with(std::move(founded));
  return communicator;
}

}  // namespace copse::communicator
