// Starts calls, and moves them on until they are over.
#include "communicator/state.hpp"

namespace copse::communicator {

// Started calls run one after the other, in the order in which all ranks have started them. So what plans rely on holds for
// them, too.
Progress::Went Communicator::State::go_on(bool helper) {
  auto went = Progress::Went::nowhere;
  while (!started.empty()) {
    Job& job = *started.front();
    if (helper && !is_for_helper(job)) return went;
    const Outcome outcome = attempt([&] { return jobs.advance(job, true); });
    if (seat.executor->moved()) went = Progress::Went::on;
    if (outcome == Outcome::pending) return went;
    job.outcome = outcome;
    job.over.store(true, std::memory_order_release);
    started.pop_front();
  }
  return Progress::Went::over;
}

// Tells whether Copse's own thread may move this job on. A user's operator expects to be called in the user's threads, and the
// MPI may expect to be called in only one of them.
bool Communicator::State::is_for_helper(const Job& job) const {
  const bool users = job.arguments->combine != nullptr && job.arguments->combine->user != nullptr;
  return !users && (group->wire == nullptr || group->progress->any_thread_may_send());
}

// Moves the job on unless another thread does so at the moment, and tells whether it has ended.
bool Communicator::State::has_ended(const Job& job) {
  const auto ended = [&] { return job.over.load(std::memory_order_acquire); };
  if (!ended()) group->progress->move(*this);
  return ended();
}

void Communicator::State::finish_started() {
  try {
    group->progress->until([&] {
      group->progress->move(*this);
      return !under_way();
    });
  } catch (...) {  // this thread has been cancelled, or has no memory. It will not make the call for which the others wait.
    group->progress->give(*this, [this] {
      failure.outcome = Outcome::peer_failed;
      seat.executor->give_up();
    });
    throw;
  }
}

Outcome Communicator::State::enqueue(const std::shared_ptr<Job>& job) {
  started.push_back(job);  // if this throws, `over` is still true
  job->over.store(false, std::memory_order_relaxed);
  return Outcome::pending;
}

std::shared_ptr<Job> Communicator::make_job() { return std::make_shared<Job>(); }

std::shared_ptr<Job> Communicator::start(const Arguments& arguments) {
  auto job = make_job();
  start(job, arguments);
  return job;
}

void Communicator::start(const std::shared_ptr<Job>& job, const Arguments& arguments) {
  State& state = *state_;
  job->number = ++state.calls;
  Arguments& kept = job->kept.arguments;
  kept = arguments;
  const auto keep = [&](const Block*& blocks, std::vector<Block>& copies) {
    if (blocks == nullptr) return;
    copies.assign(blocks, blocks + state.ranks);
    blocks = copies.data();
  };
  const auto begin = [&] {
    if (arguments.ragged) {
      keep(kept.input_blocks, job->kept.tables[0]);
      keep(kept.output_blocks, job->kept.tables[1]);
    }
    if (arguments.combine != nullptr) {
      job->kept.combine = *arguments.combine;
      kept.combine = &job->kept.combine;
    }
    state.jobs.begin(*job, kept, state.started.empty());
    return job->stage == Job::Stage::over ? job->outcome : state.enqueue(job);
  };
  state.group->progress->give(state, [&] { job->outcome = state.attempt(begin); });
}

void Communicator::refuse(std::uint64_t number) {
  State& state = *state_;
  if (state.ranks == 1) return;
  if (engine::Wire* const wire = state.wire()) return wire->spoil();  // others may have sent what this rank should have taken
  const auto job = make_job();
  job->number = number;
  job->stage = Job::Stage::refusing;
  state.group->progress->give(state, [&] { job->outcome = state.attempt([&] { return state.enqueue(job); }); });
}

void Communicator::refuse_all() {
  if (engine::Wire* const wire = state_->wire()) wire->spoil();
  else if (state_->ranks > 1) state_->seat.executor->refuse_from(1);
  state_->seat.keeps_memory = true;
}

Outcome Communicator::poll(const Job& job) { return state_->has_ended(job) ? job.outcome : Outcome::pending; }

Outcome Communicator::test(const Job& job) {
  const Outcome outcome = poll(job);
  if (outcome == Outcome::pending) state_->group->progress->idle();
  return outcome;
}

Outcome Communicator::wait(const Job& job) {
  state_->group->progress->until([&] { return state_->has_ended(job); });
  return job.outcome;
}

}  // namespace copse::communicator
