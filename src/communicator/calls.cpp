// Running calls: from their arguments to a program, at once or bit by bit.
#include <cxxabi.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>

#include "communicator/state.hpp"

namespace copse::communicator {

using algorithms::Collective;

namespace {

constexpr std::size_t kMemoryKept = std::size_t{16} << 20;
constexpr std::size_t kPermutedKept = 64;

// The first route of `routes` whose sizes do not end before `bytes`.
auto first_up_to(auto &routes, std::size_t bytes) {
  return std::lower_bound(routes.begin(), routes.end(), bytes,
                          [](const auto &route, std::size_t size) { return route->decision.to < size; });
}

}  // namespace

const engine::Program &Communicator::State::program_for(const choose::Decision &decision, int root) {
  const auto key = std::make_tuple(decision.algorithm, decision.carrier, decision.radix, root);
  auto at = programs.find(key);
  if (at == programs.end()) at = programs.emplace(key, prepare(decision, root, {})).first;
  return at->second;
}

engine::Program Communicator::State::prepare(const choose::Decision &decision, int root, algorithms::Permutation permutation) const {
  algorithms::Request request;
  request.rank = rank;
  request.ranks = ranks;
  request.root = root;
  request.permutation = permutation;
  request.carrier = decision.carrier;
  request.radix = decision.radix;
  request.places = &group->places;
  return executor->prepare(decision.algorithm->plan(request));
}

// Calls that were started run the programs that they found: those stay as long as there are such calls.
const engine::Program &Communicator::State::program_for(const choose::Decision &decision, algorithms::Permutation permutation) {
  const auto at = std::find_if(permuted.begin(), permuted.end(), [&](const Permuted &each) {
    return each.algorithm == decision.algorithm && each.carrier == decision.carrier && each.radix == decision.radix &&
           std::equal(permutation.begin(), permutation.end(), each.permutation.begin(), each.permutation.end());
  });
  if (at != permuted.end()) {
    permuted.splice(permuted.begin(), permuted, at);
    return at->program;
  }
  while (permuted.size() >= kPermutedKept && started.empty()) permuted.pop_back();
  return permuted
      .emplace_front(Permuted{decision.algorithm, decision.carrier, decision.radix, {permutation.begin(), permutation.end()},
                              prepare(decision, 0, permutation)})
      .program;
}

Route &Communicator::State::make_route(Collective collective, choose::Needs needs, std::size_t bytes) {
  std::unique_ptr<Routes> &of_collective = routes[static_cast<std::size_t>(collective)];
  if (!of_collective) of_collective = std::make_unique<Routes>();
  auto route = std::make_unique<Route>();
  route->decision = choose::choose(group->settings, group->situation, collective, bytes, needs);
  open(*route, collective);
  auto &known = (*of_collective)[needs.strict + 2 * needs.wide];
  return **known.insert(first_up_to(known, bytes), std::move(route));
}

void Communicator::State::open(Route &route, Collective collective) {
  route.by_root.resize(static_cast<std::size_t>(ranks));
  route.tally = &trace.ran[{std::string(algorithms::name_of(collective)),
                            std::string(route.decision.algorithm->name) + " " + plan::name_of(route.decision.carrier)}];
}

inline Route &Communicator::State::route_for(Collective collective, choose::Needs needs, std::size_t bytes) {
  const std::unique_ptr<Routes> &of_collective = routes[static_cast<std::size_t>(collective)];
  if (!of_collective) return make_route(collective, needs, bytes);
  const auto &known = (*of_collective)[needs.strict + 2 * needs.wide];
  const auto at = first_up_to(known, bytes);
  return at != known.end() && (*at)->decision.from <= bytes ? **at : make_route(collective, needs, bytes);
}

// A route keeps none for a permutation.
inline const engine::Program &Communicator::State::program_of(Route &route, int root, const int *permutation) {
  const engine::Program *&program = route.by_root[static_cast<std::size_t>(root)];
  if (program == nullptr) {
    if (permutation != nullptr) return program_for(route.decision, {permutation, static_cast<std::size_t>(ranks)});
    program = &program_for(route.decision, root);
  }
  return *program;
}

inline void Communicator::State::set_cut(engine::Call &call, const Route &route) const {
  const choose::Cut cut = choose::cut(executor->geometry().slots, route.decision, call.count, call.element_bytes);
  call.fragment_count = cut.fragment_count;
  call.slot_class = cut.slot_class;
}

inline choose::Needs Communicator::State::needs_of(const Arguments &arguments) const {
  const bool strict = (arguments.combine != nullptr && !arguments.combine->commutative) ||
                      (algorithms::traits_of(arguments.collective).pairs() && arguments.ragged);
  return choose::needs_of(arguments.collective, ranks, arguments.element_bytes, strict);
}

namespace {

// What MPI calls not significant means nothing, and may be anything.
inline bool has_input(const Arguments &arguments, int rank) {
  return algorithms::traits_of(arguments.collective).has_input_buffer(rank, arguments.root);
}
inline bool has_output(const Arguments &arguments, int rank) {
  return algorithms::traits_of(arguments.collective).has_output(rank, arguments.root);
}

inline engine::Call call_of(const Arguments &arguments, int rank) {
  engine::Call call;
  if (has_input(arguments, rank)) call.input = arguments.input;
  if (has_output(arguments, rank)) call.output = arguments.output;
  call.count = arguments.count;
  call.element_bytes = arguments.element_bytes;
  call.combine = arguments.combine;
  return call;
}

// A short call waits for its buffers most, where they are cold. (Not inlined, the compiler takes it for nothing.)
[[gnu::always_inline]] inline void fetch_ahead(const engine::Call &call) {
  constexpr std::size_t kLine = 64, kShort = 512;
  const std::size_t bytes = std::min(call.count * call.element_bytes, kShort);
  const auto *const input = static_cast<const std::byte *>(call.input), *const output = static_cast<std::byte *>(call.output);
  for (std::size_t at = 0; input != nullptr && at < bytes; at += kLine) __builtin_prefetch(input + at);
  for (std::size_t at = 0; output != nullptr && at < bytes; at += kLine) __builtin_prefetch(output + at, 1);
}

// In place where the same place means other blocks in input and output.
bool displaced(const Arguments &arguments) {
  return arguments.input == arguments.output && algorithms::has<&algorithms::Traits::displaced>(arguments.collective);
}

// A communicator of one rank: its only block is where it belongs, or is copied there.
void run_alone(const Arguments &arguments) {
  const algorithms::Traits &traits = algorithms::traits_of(arguments.collective);
  if (!traits.has_output(0, arguments.root)) return;
  const auto *from = static_cast<const std::byte *>(arguments.input);
  auto *to = static_cast<std::byte *>(arguments.output);
  std::size_t count = arguments.count;
  if (arguments.ragged && !traits.rooted()) count = std::numeric_limits<std::size_t>::max();  // tables say it
  if (arguments.input_blocks != nullptr) {
    count = std::min(count, arguments.input_blocks->count);
    from += arguments.input_blocks->place;
  }
  if (arguments.output_blocks != nullptr) {
    count = std::min(count, arguments.output_blocks->count);
    to += arguments.output_blocks->place;
  }
  if (from != to && count > 0) std::memmove(to, from, count * arguments.element_bytes);
}

}  // namespace

void Communicator::State::decide(const Arguments &arguments, Recent &known) {
  const choose::Needs needs = needs_of(arguments);
  Route &route = route_for(arguments.collective, needs, arguments.count * arguments.element_bytes);
  const engine::Program &program = program_of(route, arguments.root, arguments.permutation);
  const int root = arguments.permutation == nullptr ? arguments.root : -1;  // the next permutation may be another
  known = {arguments.count, arguments.element_bytes, root, needs.strict, &route, &program, {},
           has_input(arguments, rank), has_output(arguments, rank)};
  known.call.count = arguments.count;
  known.call.element_bytes = arguments.element_bytes;
  known.call.ride_bytes = route.decision.ride_bytes;
  set_cut(known.call, route);
}

// A blocking call, all in one go.
inline Outcome Communicator::State::run_now(Collective collective, const Route &route, const engine::Program &program,
                                            const engine::Call &call) {
  running = collective;
  if (!traced) [[likely]] return executor->run(program, call);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = executor->run(program, call);
  route.tally->add(call.count * call.element_bytes,
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return outcome;
}

// A call without tables, which is all there is to most of them.
inline Outcome Communicator::State::run(const Arguments &arguments) {
  Recent &known = recent[static_cast<std::size_t>(arguments.collective)];
  const bool strict = arguments.combine != nullptr && !arguments.combine->commutative;
  if (known.count != arguments.count || known.element_bytes != arguments.element_bytes ||
      known.root != arguments.root || known.strict != strict) [[unlikely]]
    decide(arguments, known);
  engine::Call &call = known.call;
  call.input = known.gives ? arguments.input : nullptr;
  call.output = known.takes ? arguments.output : nullptr;
  call.combine = arguments.combine;
  call.number = calls;
  fetch_ahead(call);
  return run_now(arguments.collective, *known.route, *known.program, call);
}

// A job begins -------------------------------------------------------------------------------------------------

void Communicator::State::begin(Job &job, const Arguments &arguments) {
  running = arguments.collective;
  job.arguments = arguments;
  job.outcome = Outcome::pending;
  job.sizes.clear();
  job.cut_off = {};
  job.program = nullptr;
  job.seconds = 0;
  job.stage = Job::Stage::running;
  if (ranks == 1) {
    run_alone(arguments);
    job.sizes.push_back(arguments.count);
    if (arguments.ragged && algorithms::traits_of(arguments.collective).pairs() &&
        arguments.input_blocks->count > arguments.output_blocks->count)
      job.cut_off = {0, 0, arguments.input_blocks->count, arguments.output_blocks->count};
    job.stage = Job::Stage::over;
    job.outcome = verdict(job);
    return;
  }
  if (!arguments.ragged) return bind(job);
  // What is known to all as it is, and what must be told: sizes of blocks, or, of pairs, the largest.
  const auto known = [&](const Block *blocks) {
    for (int i = 0; i < ranks; ++i) job.sizes.push_back(blocks[i].count);
  };
  if (const algorithms::Traits &traits = algorithms::traits_of(arguments.collective); traits.sizes_known()) {
    known(algorithms::one_for_each(traits.input) ? arguments.input_blocks : arguments.output_blocks);
    return bind(job);
  }
  if (Route *const route = bind_one_way(arguments, job.call)) {
    job.route = route;
    job.program = &program_of(*route, arguments.root);
    job.call.number = job.number;
    if (job.program->together) job.stage = Job::Stage::exchanging;
    if (displaced(arguments)) set_aside(job);
    return;
  }
  tell_size(job);
}

// A round of a job's own before it can run.
void Communicator::State::ask(Job &job, Job::Stage stage, Collective collective, const void *input, void *output,
                              std::size_t bytes) {
  job.stage = stage;
  job.call = {};
  job.call.input = input;
  job.call.output = output;
  job.call.count = bytes;
  job.call.number = job.number;
  Route &route = route_for(collective, {}, bytes);
  job.route = &route;
  job.program = &program_of(route, 0);
  set_cut(job.call, route);
}

// A call in which every rank tells those whom it concerns, and nobody else, how long the blocks are that it gives.
Route *Communicator::State::bind_one_way(const Arguments &arguments, engine::Call &call) {
  std::unique_ptr<Route> &route = one_way_routes[static_cast<std::size_t>(arguments.collective)];
  if (!route) {
    const auto decision = choose::without_sizes(group->settings, group->situation, arguments.collective);
    if (!decision) return nullptr;
    route = std::make_unique<Route>();
    route->decision = *decision;
    open(*route, arguments.collective);
  }
  call = call_of(arguments, rank);
  call.ragged = call.one_way = true;
  call.own = arguments.count;
  call.ride_bytes = route->decision.ride_bytes;
  const algorithms::Traits &traits = algorithms::traits_of(arguments.collective);
  if (!traits.rooted() || arguments.root == rank) {
    call.input_blocks = arguments.input_blocks;
    call.output_blocks = arguments.output_blocks;
    call.count = std::max({call.count, largest(call.input_blocks, ranks), largest(call.output_blocks, ranks)});
  }
  if (traits.pairs()) call.told = std::bit_cast<std::uint64_t>(size_of(arguments));
  return route.get();
}

// The same, blocking.
Outcome Communicator::State::run_one_way(Route &route, const Arguments &arguments, const engine::Call &call) {
  const engine::Program &program = program_of(route, arguments.root);
  const Outcome outcome = run_now(arguments.collective, route, program, call);
  if (outcome == Outcome::done && program.together && !executor->all_rode()) [[unlikely]] {
    spare.arguments = arguments;
    spare.number = call.number;
    spare.outcome = Outcome::pending;
    spare.cut_off = {};
    spare.seconds = 0;
    read_letters(spare);
    return spare.stage == Job::Stage::over ? spare.outcome : advance(spare, false);
  }
  if (outcome != Outcome::done || executor->cut_off().from < 0) [[likely]] return outcome;
  spare.cut_off = executor->cut_off();
  return Outcome::truncated;
}

// In place where input and output hold other blocks: a reduction's result gets memory of its own, or else the input does.
void Communicator::State::set_aside(Job &job) const {
  const Arguments &arguments = job.arguments;
  const std::size_t size = arguments.element_bytes;
  if (algorithms::traits_of(arguments.collective).reduces) {
    const std::size_t count = arguments.ragged ? job.sizes[static_cast<std::size_t>(rank)] : job.call.count;
    job.memory.resize(count * size);
    job.call.output = job.memory.data();
    return;
  }
  job.input_blocks.resize(static_cast<std::size_t>(plan::blocks_in(algorithms::traits_of(arguments.collective).input, ranks)));
  std::size_t total = 0;  // where a block goes, one after the other
  for (std::size_t i = 0; i < job.input_blocks.size(); ++i) {
    job.input_blocks[i] = {static_cast<std::ptrdiff_t>(total), arguments.ragged ? arguments.input_blocks[i].count : job.call.count};
    total += job.input_blocks[i].count * size;
  }
  job.memory.resize(total);
  for (std::size_t i = 0; i < job.input_blocks.size(); ++i) {
    const auto [place, count] = job.input_blocks[i];
    const std::ptrdiff_t from = arguments.ragged ? arguments.input_blocks[i].place : place;
    if (count > 0)
      std::memcpy(job.memory.data() + place, static_cast<const std::byte *>(arguments.input) + from, count * size);
  }
  job.call.input = job.memory.data();
  if (arguments.ragged) job.call.input_blocks = job.input_blocks.data();
}

void Communicator::State::bind(Job &job) {
  const Arguments &arguments = job.arguments;
  job.call = call_of(arguments, rank);
  job.call.number = job.number;
  job.stage = Job::Stage::running;
  if (arguments.ragged) {
    job.call.ragged = true;
    job.call.count = *std::max_element(job.sizes.begin(), job.sizes.end());
    const algorithms::Traits &traits = algorithms::traits_of(arguments.collective);
    if (!traits.pairs()) job.call.sizes = job.sizes.data();
    if (traits.has_input(rank, arguments.root)) job.call.input_blocks = arguments.input_blocks;
    if (traits.has_output(rank, arguments.root)) job.call.output_blocks = arguments.output_blocks;
  }
  if (job.call.count == 0 && algorithms::traits_of(arguments.collective).moves_data) {
    job.stage = Job::Stage::over;
    job.outcome = verdict(job);
    return;
  }
  if (displaced(arguments)) set_aside(job);
  Route &route = route_for(arguments.collective, needs_of(arguments), job.call.count * job.call.element_bytes);
  job.route = &route;
  job.program = &program_of(route, arguments.root, arguments.permutation);
  job.call.ride_bytes = route.decision.ride_bytes;
  set_cut(job.call, route);
}

// A job goes on as far as it comes (`polling`: without waiting).
Outcome Communicator::State::advance(Job &job, bool polling) {
  if (job.stage == Job::Stage::refusing) {
    executor->refuse(job.number);
    job.stage = Job::Stage::over;
    return Outcome::done;
  }
  running = job.arguments.collective;
  if (!traced) return advance_untold(job, polling);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = advance_untold(job, polling);
  job.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (job.stage == Job::Stage::over) {
    job.route->tally->add(job.call.count * job.call.element_bytes, job.seconds);
  }
  return outcome;
}

Outcome Communicator::State::advance_untold(Job &job, bool polling) {
  const Arguments &arguments = job.arguments;
  if (job.stage == Job::Stage::exchanging) {
    const Outcome outcome = executor->advance(*job.program, job.call, polling);
    if (outcome != Outcome::done) return outcome;
    if (!job.program->together) {
      take_sizes(job);
    } else if (executor->all_rode()) {
      job.stage = Job::Stage::over;
    } else {
      read_letters(job);
    }
  }
  if (job.stage == Job::Stage::comparing) {
    const Outcome outcome = executor->advance(*job.program, job.call, polling);
    if (outcome != Outcome::done) return outcome;
    clip_pairs(job);
    bind(job);
  }
  if (job.stage == Job::Stage::running) {
    job.outcome = executor->advance(*job.program, job.call, polling);
    if (job.outcome != Outcome::done) return job.outcome;
    job.stage = Job::Stage::over;
    if (algorithms::traits_of(arguments.collective).reduces && displaced(arguments) && !job.memory.empty())
      std::memcpy(arguments.output, job.memory.data(), job.memory.size());
    if (job.memory.size() > kMemoryKept) std::vector<std::byte>().swap(job.memory);
  }
  return job.outcome = verdict(job);
}

// How a call that came to its end has ended: of a gather or scatter the root alone sees what a rank gives and what the other
// has room for.
Outcome Communicator::State::verdict(Job &job) const {
  const Arguments &arguments = job.arguments;
  if (job.call.one_way) {
    job.cut_off = executor->cut_off();
    return job.cut_off.from < 0 ? Outcome::done : Outcome::truncated;
  }
  const algorithms::Traits &traits = algorithms::traits_of(arguments.collective);
  if (traits.pairs()) return job.cut_off.from < 0 ? Outcome::done : Outcome::truncated;
  const bool gathers = traits.output_at_root;
  if (!arguments.ragged || arguments.root != rank || !traits.rooted()) return Outcome::done;
  for (int other = 0; other < ranks; ++other) {
    const auto i = static_cast<std::size_t>(other);
    const std::size_t given = gathers ? job.sizes[i] : arguments.input_blocks[i].count;
    const std::size_t room = gathers ? arguments.output_blocks[i].count : job.sizes[i];
    if (given <= room) continue;
    job.cut_off = {gathers ? other : rank, gathers ? rank : other, given, room};
    return Outcome::truncated;
  }
  return Outcome::done;
}

// Calls --------------------------------------------------------------------------------------------------------

// In a function of its own, so that the way without exceptions is short. A cancelled thread's unwinding has no object: the
// reference to it is null.
__attribute__((noinline, cold, no_sanitize("null"))) Outcome Communicator::State::caught() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    executor->give_up();
    return Outcome::no_memory;
  } catch (const abi::__forced_unwind &) {  // this thread has been cancelled in the middle of the call
    broken = Outcome::peer_failed;
    executor->give_up();
    throw;
  } catch (...) {  // whoever moves this call on may be in a call on another communicator, or Copse's own thread
    executor->give_up();
    return Outcome::threw;
  }
}

template <class Body>
[[gnu::always_inline]] inline Outcome Communicator::State::attempt(Body &&body) {
  if (broken != Outcome::done) [[unlikely]] return broken;
  Outcome outcome = Outcome::done;
  try {
    outcome = body();
  } catch (...) {
    outcome = caught();
  }
  if (outcome != Outcome::pending && !engine::is_over(outcome)) [[unlikely]] {
    broken = outcome;
    error = errno;
  }
  return outcome;
}

// Calls that were started run one after the other, in the order in which all ranks have started them: so nothing that
// plans rely on is different for them.
Progress::Went Communicator::State::go_on(bool helper) {
  auto went = Progress::Went::nowhere;
  while (!started.empty()) {
    Job &job = *started.front();
    if (helper && !is_for_helper(job)) return went;
    const Outcome outcome = attempt([&] { return advance(job, true); });
    if (executor->moved()) went = Progress::Went::on;
    if (outcome == Outcome::pending) return went;
    job.outcome = outcome;
    job.over.store(true, std::memory_order_release);
    started.pop_front();
  }
  return Progress::Went::over;
}

// A user's operator expects to be called in the user's threads; and the MPI, perhaps, in one of them alone.
bool Communicator::State::is_for_helper(const Job &job) const {
  const bool users = job.arguments.combine != nullptr && job.arguments.combine->user != nullptr;
  return !users && (group->wire == nullptr || group->progress->any_thread_may_send());
}

// Moves the job on, if nobody else does at the moment, and says whether it has ended.
bool Communicator::State::has_ended(const Job &job) {
  const auto ended = [&] { return job.over.load(std::memory_order_acquire); };
  if (!ended()) group->progress->move(*this);
  return ended();
}

void Communicator::State::finish_started() {
  group->progress->until([&] {
    group->progress->move(*this);
    return !under_way();
  });
}

Outcome Communicator::run(const Arguments &arguments) {
  State &state = *state_;
  ++state.calls;
  if (state.under_way()) [[unlikely]] state.finish_started();
  return state.attempt([&] {
    if (!arguments.ragged && state.ranks > 1 && !displaced(arguments)) [[likely]] {
      if (arguments.count == 0 && algorithms::has<&algorithms::Traits::moves_data>(arguments.collective)) return Outcome::done;
      return state.run(arguments);
    }
    if (arguments.ragged && state.ranks > 1 && !displaced(arguments) &&
        !algorithms::traits_of(arguments.collective).sizes_known()) {
      engine::Call call;
      if (Route *const route = state.bind_one_way(arguments, call)) {
        call.number = state.calls;
        return state.run_one_way(*route, arguments, call);
      }
    }
    state.spare.number = state.calls;
    state.begin(state.spare, arguments);
    return state.spare.stage == Job::Stage::over ? state.spare.outcome : state.advance(state.spare, false);
  });
}

Outcome Communicator::State::enqueue(const std::shared_ptr<Job> &job) {
  started.push_back(job);  // may throw: then it is over
  job->over.store(false, std::memory_order_relaxed);
  return Outcome::pending;
}

std::shared_ptr<Job> Communicator::make_job() { return std::make_shared<Job>(); }

std::shared_ptr<Job> Communicator::start(const Arguments &arguments) {
  auto job = make_job();
  start(job, arguments);
  return job;
}

void Communicator::start(const std::shared_ptr<Job> &job, const Arguments &arguments) {
  State &state = *state_;
  job->number = ++state.calls;
  job->arguments.collective = arguments.collective;
  Arguments kept = arguments;
  const auto keep = [&](const Block *&blocks, std::vector<Block> &copies) {
    if (blocks == nullptr) return;
    copies.assign(blocks, blocks + state.ranks);
    blocks = copies.data();
  };
  const auto begin = [&] {
    if (arguments.ragged) {
      keep(kept.input_blocks, job->tables[0]);
      keep(kept.output_blocks, job->tables[1]);
    }
    if (arguments.combine != nullptr) {
      job->combine = *arguments.combine;
      kept.combine = &job->combine;
    }
    state.begin(*job, kept);
    return job->stage == Job::Stage::over ? job->outcome : state.enqueue(job);
  };
  state.group->progress->give(state, [&] { job->outcome = state.attempt(begin); });
}

std::uint64_t Communicator::pass() { return ++state_->calls; }

void Communicator::refuse(std::uint64_t number) {
  State &state = *state_;
  if (state.ranks == 1 || state.group->wire != nullptr) return;
  const auto job = make_job();
  job->number = number;
  job->stage = Job::Stage::refusing;
  state.group->progress->give(state, [&] { job->outcome = state.attempt([&] { return state.enqueue(job); }); });
}

void Communicator::refuse_all() {
  if (state_->ranks > 1 && state_->group->wire == nullptr) state_->executor->refuse_all();
  state_->keeps_lane = true;
}

Outcome Communicator::poll(const Job &job) { return state_->has_ended(job) ? job.outcome : Outcome::pending; }

Outcome Communicator::test(const Job &job) {
  const Outcome outcome = poll(job);
  if (outcome == Outcome::pending) state_->group->progress->idle();
  return outcome;
}

Outcome Communicator::wait(const Job &job) {
  state_->group->progress->until([&] { return state_->has_ended(job); });
  return job.outcome;
}

Outcome Communicator::barrier() {
  Arguments arguments;
  arguments.collective = Collective::barrier;
  arguments.element_bytes = 0;
  return run(arguments);
}

Outcome Communicator::broadcast(void *buffer, std::size_t bytes, int root) {
  return run({.collective = Collective::broadcast, .input = buffer, .output = buffer, .count = bytes, .root = root});
}

Outcome Communicator::reduce(const void *input, void *output, std::size_t count, std::size_t element_bytes,
                             const engine::Combine &combine, int root) {
  return run({Collective::reduce, input, output, count, element_bytes, &combine, root});
}

Outcome Communicator::allreduce(const void *input, void *output, std::size_t count, std::size_t element_bytes,
                                const engine::Combine &combine) {
  return run({Collective::allreduce, input, output, count, element_bytes, &combine});
}

}  // namespace copse::communicator
