// Runs blocking calls, and counts those that are made elsewhere.
#include <cxxabi.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "communicator/demands.hpp"
#include "communicator/state.hpp"

namespace copse::communicator {

using algorithms::Collective;

namespace {

// Fetches the beginnings of the buffers. If they are cold, a short call spends most of its time waiting for them. The function
// is inlined because otherwise the compiler takes it to do nothing.
[[gnu::always_inline]] inline void fetch_ahead(const engine::Call& call) {
  constexpr std::size_t kLine = 64, kShort = 512;
  const std::size_t bytes = std::min(call.count * call.element_bytes, kShort);
  const auto *const input = static_cast<const std::byte*>(call.input), *const output = static_cast<std::byte*>(call.output);
  for (std::size_t at = 0; input != nullptr && at < bytes; at += kLine) __builtin_prefetch(input + at);
  for (std::size_t at = 0; output != nullptr && at < bytes; at += kLine) __builtin_prefetch(output + at, 1);
}

// Fills in the fields of a known call that may differ each time that it is made.
inline void fill(engine::Call& call, const Recent& known, const Arguments& arguments, std::uint64_t number) {
  call.input = known.gives ? arguments.input : nullptr;
  call.output = known.takes ? arguments.output : nullptr;
  call.combine = arguments.combine;
  call.number = number;
}

}  // namespace

// Runs a program of a blocking call from beginning to end.
inline Outcome Communicator::State::run_now(Collective collective, const Route& route, const engine::Program& program,
                                            const engine::Call& call) {
  jobs.running = collective;
  if (!traced) [[likely]]
    return seat.executor->run(program, call);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = seat.executor->run(program, call);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (program.together && !seat.executor->all_rode()) {
    jobs.blocking().seconds = seconds;  // another program of this call follows, and adds its time
  } else {
    route.tally->add(call.count * call.element_bytes, seconds);
  }
  return outcome;
}

// Runs a call without tables. Most calls do no more than this.
inline Outcome Communicator::State::run(const Arguments& arguments) {
  Recent& known = routes.recent(arguments.collective);
  if (known.count != arguments.count || known.element_bytes != arguments.element_bytes || known.root != arguments.root ||
      known.demands != demands_of(arguments.combine)) [[unlikely]]
    routes.decide(arguments, known);
  ++known.calls;
  if (known.outside || routes.is_on_trial(calls, known.route->kind)) [[unlikely]]
    return run_specially(arguments, known);
  engine::Call& call = known.call;
  fill(call, known, arguments, calls);
  fetch_ahead(call);
  return run_now(arguments.collective, *known.route, *known.program, call);
}

// Runs a call that another way may run, or that the MPI makes.
Outcome Communicator::State::run_specially(const Arguments& arguments, const Recent& known) {
  Route* route = known.route;
  const bool timed = routes.is_on_trial(calls, route->kind);
  if (timed) {
    const int way = routes.lessons().way(calls, route->kind);
    route = &routes.ways().way(route->kind, way);
    routes.lessons().begin(calls, route->kind, way);
  }
  if (route->decision.outside) return Outcome::outside;  // outside_is_over() takes the time
  engine::Call call = known.call;
  fill(call, known, arguments, calls);
  routes.set_cut(call, *route);
  const Outcome outcome = run_now(arguments.collective, *route, routes.program(*route, arguments, true), call);
  if (timed) routes.lessons().end(calls);
  return outcome;
}

// If it is time, lets the ranks agree on what they have learned, before the next call. The agreement is a call of its own.
void Communicator::State::agree() {
  Lessons& lessons = routes.lessons();
  if (!lessons.must_agree(calls + 1)) return;
  if (under_way()) finish_started();
  lessons.begin_agreement();
  ++calls;
  Learner::Words mine{}, all{};
  const engine::Combine combine = engine::predefined(COPSE_MAX, COPSE_INT64);
  engine::Call call;
  call.input = mine.data();
  call.output = all.data();
  call.count = mine.size();
  call.element_bytes = sizeof mine[0];
  call.combine = &combine;
  call.number = calls;
  const Outcome outcome = attempt([&] {
    routes.count_recent();
    mine = lessons.words(calls + 1);
    mine[Learner::kOfCaller] = group->bootstrap->errors_are_fatal() && group->bootstrap->may_wait_in_mpi() ? 0 : 1;
    Route& route = routes.find(Collective::allreduce, {}, sizeof mine);
    routes.set_cut(call, route);
    const Outcome made = seat.executor->run(routes.program(route, 0), call);
    if (made != Outcome::done) return made;
    // A rank that waits in the MPI's own collective cannot be told that another rank has refused the call.
    if (routes.ask_mpi(all[Learner::kOfCaller] == 0, calls)) return made;
    if (const auto change = lessons.agreed(all, calls + 1)) {
      if (traced && rank == 0) trace.learned.push_back(routes.ways().describe(*change, calls));
      routes.take(*change);
    }
    lessons.end_agreement();
    if (traced) trace.ran[{"learning", "agreements"}].add(sizeof mine, lessons.agreement_seconds());
    return made;
  });
  if (outcome != Outcome::done) lessons.give_up();
  routes.look();
}

// Runs a call in which every rank tells the sizes of its blocks only to the ranks that give or take these blocks.
Outcome Communicator::State::run_without_sizes(Untold& untold, const Arguments& arguments) {
  auto& [route, call] = untold;
  jobs.describe_without_sizes(call, arguments);
  call.number = calls;
  fetch_ahead(call);
  const engine::Program& program = routes.program(route, arguments.root);
  const Outcome outcome = run_now(arguments.collective, route, program, call);
  if (outcome == Outcome::done && program.together && !seat.executor->all_rode()) [[unlikely]]
    return jobs.run_after_letters(arguments, calls);
  if (outcome != Outcome::done || seat.executor->cut_off().from < 0) [[likely]]
    return outcome;
  jobs.blocking().cut_off = seat.executor->cut_off();
  return Outcome::truncated;
}

// This is a function of its own, so that the path without exceptions is short. The unwinding of a cancelled thread has no
// exception object, so the reference to it is null.
__attribute__((noinline, cold, no_sanitize("null"))) Outcome Communicator::State::caught() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    seat.executor->give_up();
    return Outcome::no_memory;
  } catch (const abi::__forced_unwind&) {  // this thread has been cancelled in the middle of the call
    failure.outcome = Outcome::peer_failed;
    seat.executor->give_up();
    throw;
  } catch (...) {  // not thrown on: the thread that moves this call may be in another communicator's call, or be Copse's own
    seat.executor->give_up();
    return Outcome::threw;
  }
}

// Counts a blocking call. The call comes after all calls that were started before it.
inline void Communicator::State::count_blocking_call() {
  if (calls + 1 >= routes.look_at()) [[unlikely]]
    agree();
  ++calls;
  if (under_way()) [[unlikely]]
    finish_started();
}

Outcome Communicator::run(const Arguments& arguments) {
  State& state = *state_;
  state.count_blocking_call();
  return state.attempt([&] {
    if (!arguments.ragged && state.ranks > 1 && !displaced(arguments)) [[likely]] {
      if (arguments.count == 0 && algorithms::has<&algorithms::Traits::moves_data>(arguments.collective)) return Outcome::done;
      return state.run(arguments);
    }
    if (arguments.ragged && state.ranks > 1 && !displaced(arguments) &&
        !algorithms::traits_of(arguments.collective).sizes_known() && !state.routes.alike(arguments)) {
      if (Untold* const untold = state.routes.without_sizes(arguments.collective))
        return state.run_without_sizes(*untold, arguments);
    }
    return state.jobs.run(arguments, state.calls);
  });
}

Outcome Communicator::run(const Arguments& arguments, const Relaxation& relaxation) {
  State& state = *state_;
  const OwnCopy& beside = relaxation.beside;
  if (state.ranks == 1 || arguments.count == 0) {
    beside.make();
    return run(arguments);
  }
  state.count_blocking_call();
  return state.attempt([&] {
    Recent& known = state.routes.relaxed(arguments, relaxation.modes);
    engine::Call& call = known.call;
    fill(call, known, arguments, state.calls);
    call.window = known.program->placed ? &relaxation.window : nullptr;
    constexpr std::size_t kWorthAPause = 2048;
    const bool waits = relaxation.modes.out == plan::Sync::mine;
    if (!waits || beside.bytes < kWorthAPause || state.traced) {
      const Outcome outcome = state.run_now(arguments.collective, *known.route, *known.program, call);
      beside.make();
      return outcome;
    }
    state.jobs.running = arguments.collective;
    const Outcome outcome = state.seat.executor->advance(*known.program, call, true);
    beside.make();
    return outcome == Outcome::pending ? state.seat.executor->advance(*known.program, call, false) : outcome;
  });
}

std::uint64_t Communicator::pass(bool may_wait) {
  if (may_wait && state_->calls + 1 >= state_->routes.look_at()) [[unlikely]]
    state_->agree();
  return ++state_->calls;
}

void Communicator::outside_is_over() {
  if (state_->calls >= state_->routes.look_at()) state_->routes.lessons().end(state_->calls);
}

Outcome Communicator::barrier() {
  Arguments arguments;
  arguments.collective = Collective::barrier;
  arguments.element_bytes = 0;
  return run(arguments);
}

Outcome Communicator::broadcast(void* buffer, std::size_t bytes, int root) {
  return run({.collective = Collective::broadcast, .input = buffer, .output = buffer, .count = bytes, .root = root});
}

Outcome Communicator::reduce(const void* input, void* output, std::size_t count, std::size_t element_bytes,
                             const engine::Combine& combine, int root) {
  return run({Collective::reduce, input, output, count, element_bytes, &combine, root});
}

Outcome Communicator::allreduce(const void* input, void* output, std::size_t count, std::size_t element_bytes,
                                const engine::Combine& combine) {
  return run({Collective::allreduce, input, output, count, element_bytes, &combine});
}

}  // namespace copse::communicator
