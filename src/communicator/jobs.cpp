// The stages of jobs.
#include "communicator/jobs.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "communicator/sizes.hpp"

namespace copse::communicator {

using algorithms::Collective;

namespace {

constexpr std::size_t kMemoryKept = std::size_t{16} << 20;

// An argument that MPI calls not significant may have any value, so it is not used.
inline bool has_input(const Arguments& arguments, int rank) {
  return algorithms::traits_of(arguments.collective).has_input_buffer(rank, arguments.root);
}
inline bool has_output(const Arguments& arguments, int rank) {
  return algorithms::traits_of(arguments.collective).has_output(rank, arguments.root);
}

// Writes into a call what follows from its arguments alone. The call is not returned: if a structure that has just been written in
// parts is copied, the processor waits for all stores before, among them a line that another core holds.
inline void describe(engine::Call& call, const Arguments& arguments, const Group& group) {
  const bool has_part = !group.is_helper();
  call.input = has_part && has_input(arguments, group.rank) ? arguments.input : nullptr;
  call.output = has_part && has_output(arguments, group.rank) ? arguments.output : nullptr;
  call.count = arguments.count;
  call.element_bytes = arguments.element_bytes;
  call.combine = arguments.combine;
}

// Returns what the helpers must know of a call.
engine::Order order_for(const Arguments& arguments, std::uint64_t number) {
  return {.number = number,
          .count = arguments.count,
          .element_bytes = static_cast<std::uint32_t>(arguments.element_bytes),
          .root = arguments.root,
          .combine = arguments.combine == nullptr ? std::uint16_t{0} : arguments.combine->code,
          .collective = static_cast<std::uint8_t>(arguments.collective)};
}

// Makes a call on a communicator of one rank. Its only block is where it belongs, or is copied there.
void run_alone(const Arguments& arguments) {
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  if (!traits.has_output(0, arguments.root)) return;
  const auto* from = static_cast<const std::byte*>(arguments.input);
  auto* to = static_cast<std::byte*>(arguments.output);
  std::size_t count = arguments.count;
  if (arguments.ragged && !traits.rooted()) count = std::numeric_limits<std::size_t>::max();  // the tables say how many
  if (arguments.input_blocks != nullptr) {
    count = std::min(count, arguments.input_blocks->count);
    from += arguments.input_blocks->offset;
  }
  if (arguments.output_blocks != nullptr) {
    count = std::min(count, arguments.output_blocks->count);
    to += arguments.output_blocks->offset;
  }
  if (from != to && count > 0) std::memmove(to, from, count * arguments.element_bytes);
}

}  // namespace

void Jobs::begin_in(const Group& group, engine::Executor& executor, Routes& routes) {
  group_ = &group;
  executor_ = &executor;
  routes_ = &routes;
}

void Jobs::begin(Job& job, const Arguments& arguments, bool settled) {
  running = arguments.collective;
  job.arguments = &arguments;
  job.outcome = Outcome::pending;
  job.sizes.known.clear();
  job.cut_off = {};
  job.seconds = 0;
  job.stage = Job::Stage::running;
  if (group_->ranks == 1) return begin_alone(job);
  if (!arguments.ragged) return bind(job, settled);
  // Either all ranks know the sizes already, or each rank tells the size of its block. For blocks of pairs, it tells the size
  // of the largest.
  const auto known = [&](const Block* blocks) {
    for (int i = 0; i < group_->ranks; ++i) job.sizes.known.push_back(blocks[i].count);
  };
  if (const algorithms::Traits& traits = algorithms::traits_of(arguments.collective); traits.sizes_known()) {
    known(algorithms::one_for_each(traits.input) ? arguments.input_blocks : arguments.output_blocks);
    return bind(job, settled);
  }
  if (const std::optional<std::size_t> count = routes_->alike(arguments)) {
    job.sizes.known.push_back(*count);
    note_too_long(job, *count);
    return bind(job, settled);
  }
  if (Untold* const untold = routes_->without_sizes(arguments.collective)) {
    job.now = {untold->call, &untold->route, &routes_->program(untold->route, arguments.root)};
    describe_without_sizes(job.now.call, arguments);
    job.now.call.number = job.number;
    if (job.now.program->together) job.stage = Job::Stage::exchanging;
    if (displaced(arguments)) set_aside(job);
    return;
  }
  tell_size(job);
}

void Jobs::begin_alone(Job& job) const {
  const Arguments& arguments = *job.arguments;
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  if (!traits.along_edges || (group_->graph.ranks() == 1 && group_->graph.has_edge(0, 0))) run_alone(arguments);
  job.sizes.known.push_back(arguments.count);
  if (arguments.ragged && traits.pairs() && arguments.input_blocks->count > arguments.output_blocks->count)
    job.cut_off = {0, 0, arguments.input_blocks->count, arguments.output_blocks->count};
  job.stage = Job::Stage::over;
  job.outcome = verdict(job);
}

Outcome Jobs::run(const Arguments& arguments, std::uint64_t number) {
  blocking_.number = number;
  begin(blocking_, arguments, true);
  return to_the_end(blocking_);
}

Outcome Jobs::run_after_letters(const Arguments& arguments, std::uint64_t number) {
  blocking_.arguments = &arguments;
  blocking_.number = number;
  blocking_.outcome = Outcome::pending;
  blocking_.cut_off = {};
  read_letters(blocking_);
  return to_the_end(blocking_);
}

// Makes the job run a collective of its own, in which the ranks tell one another what it needs before the call can run.
void Jobs::ask(Job& job, Job::Stage stage, Collective collective, const void* input, void* output, std::size_t bytes, int root) {
  job.stage = stage;
  job.now.call = {};
  job.now.call.input = input;
  job.now.call.output = output;
  job.now.call.count = bytes;
  job.now.call.number = job.number;
  Route& route = routes_->find(collective, {}, bytes);
  job.now.route = &route;
  job.now.program = &routes_->program(route, root);
  routes_->set_cut(job.now.call, route);
}

void Jobs::tell_size(Job& job) {
  job.sizes.mine = size_of(*job.arguments, group_->rank, group_->ranks);
  job.sizes.told.resize(static_cast<std::size_t>(group_->ranks));
  ask(job, Job::Stage::exchanging, Collective::allgather, &job.sizes.mine, job.sizes.told.data(), sizeof job.sizes.mine);
}

// Takes the sizes of blocks from letters, which tell them.
void Jobs::read_letters(Job& job) {
  job.sizes.told.resize(static_cast<std::size_t>(group_->ranks));
  for (int other = 0; other < group_->ranks; ++other)
    job.sizes.told[static_cast<std::size_t>(other)] = std::bit_cast<Size>(executor_->told_by(other));
  take_sizes(job);
}

// Goes on once all sizes have been told. If some ranks mean different ones, all ranks ask first what the others mean.
void Jobs::take_sizes(Job& job) {
  if (take_told(job)) [[likely]]
    return bind(job, false);
  write_meant(job, group_->rank, group_->ranks);
  if (algorithms::traits_of(job.arguments->collective).rooted()) {
    std::vector<std::uint64_t>& table = job.sizes.of_root;
    ask(job, Job::Stage::comparing, Collective::broadcast, table.data(), table.data(), table.size() * sizeof table[0],
        job.arguments->root);
  } else {
    ask(job, Job::Stage::comparing, Collective::alltoall, job.sizes.pairs.data() + group_->ranks, job.sizes.pairs.data(),
        sizeof(Pair));
  }
}

void Jobs::describe_without_sizes(engine::Call& call, const Arguments& arguments) const {
  describe(call, arguments, *group_);
  call.own = arguments.count;
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  const bool sees_all = !traits.rooted() || arguments.root == group_->rank;
  call.input_blocks = sees_all ? arguments.input_blocks : nullptr;
  call.output_blocks = sees_all ? arguments.output_blocks : nullptr;
  if (sees_all)
    call.count = std::max({call.count, largest(call.input_blocks, group_->ranks), largest(call.output_blocks, group_->ranks)});
  if (traits.pairs() && !traits.along_edges)
    call.told = std::bit_cast<std::uint64_t>(size_of(arguments, group_->rank, group_->ranks));
}

// Makes room for a call in place whose input and output hold different blocks. In a reduction, the result gets memory of its
// own; in other calls, the input does.
void Jobs::set_aside(Job& job) const {
  const Arguments& arguments = *job.arguments;
  const std::size_t size = arguments.element_bytes;
  if (algorithms::traits_of(arguments.collective).reduces) {
    const std::size_t count = arguments.ragged ? job.sizes.known[static_cast<std::size_t>(group_->rank)] : job.now.call.count;
    job.aside.memory.resize(count * size);
    job.now.call.output = job.aside.memory.data();
    return;
  }
  job.aside.blocks.resize(
      static_cast<std::size_t>(plan::blocks_in(algorithms::traits_of(arguments.collective).input, group_->ranks)));
  std::size_t total = 0;  // where the next block goes; blocks lie one after the other
  for (std::size_t i = 0; i < job.aside.blocks.size(); ++i) {
    job.aside.blocks[i] = {static_cast<std::ptrdiff_t>(total),
                           arguments.ragged ? arguments.input_blocks[i].count : job.now.call.count};
    total += job.aside.blocks[i].count * size;
  }
  job.aside.memory.resize(total);
  for (std::size_t i = 0; i < job.aside.blocks.size(); ++i) {
    const auto [place, count] = job.aside.blocks[i];
    const std::ptrdiff_t from = arguments.ragged ? arguments.input_blocks[i].offset : place;
    if (count > 0)
      std::memcpy(job.aside.memory.data() + place, static_cast<const std::byte*>(arguments.input) + from, count * size);
  }
  job.now.call.input = job.aside.memory.data();
  if (arguments.ragged) job.now.call.input_blocks = job.aside.blocks.data();
}

Job::~Job() {
  if (stage != Stage::running || aside.memory.empty()) return;
  static auto& kept = *new std::vector<std::vector<std::byte>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(aside.memory));
}

// In a call whose blocks must be of one size, a rank may give longer ones than that. This is an error of the program.
void Jobs::note_too_long(Job& job, std::size_t count) const {
  for (const int taker : group_->graph.takers_of(group_->rank))
    if (const std::size_t given = job.arguments->input_blocks[taker].count; given > count && job.cut_off.from < 0)
      job.cut_off = {group_->rank, taker, given, count};
}

// Replaces blocks of a wrong size by blocks of the right one. Ranks that pack blocks for others look for them where blocks of the
// right size would lie.
void Jobs::make_alike(Job& job) const {
  const Arguments& arguments = *job.arguments;
  const std::size_t count = job.now.call.count, size = arguments.element_bytes;
  std::vector<int> takers = group_->graph.takers_of(group_->rank);
  if (group_->graph.has_edge(group_->rank, group_->rank)) takers.push_back(group_->rank);
  const auto given_to = [&](int taker) { return arguments.input_blocks[taker]; };
  if (std::all_of(takers.begin(), takers.end(), [&](int taker) { return given_to(taker).count == count; })) return;
  job.aside.memory.assign(takers.size() * count * size, std::byte{});
  job.aside.blocks.assign(static_cast<std::size_t>(group_->ranks), Block{});
  std::size_t place = 0;
  for (const int taker : takers) {
    const Block given = given_to(taker);
    if (const std::size_t fits = std::min(given.count, count); fits > 0)
      std::memcpy(job.aside.memory.data() + place, static_cast<const std::byte*>(arguments.input) + given.offset, fits * size);
    job.aside.blocks[static_cast<std::size_t>(taker)] = {static_cast<std::ptrdiff_t>(place), count};
    place += count * size;
  }
  job.now.call.input = job.aside.memory.data();
  job.now.call.input_blocks = job.aside.blocks.data();
}

// Tells whether ranks where this call is not in place make it by run(). Then this rank must do so, too.
bool Jobs::runs_as_blocking(const Job& job) const { return &job == &blocking_ && !job.arguments->ragged; }

Route& Jobs::route_of(const Job& job) {
  Route& chosen = routes_->find(*job.arguments, job.now.call.count);
  if (!runs_as_blocking(job) || !routes_->is_on_trial(job.number, chosen.kind)) return chosen;
  return routes_->ways().way(chosen.kind, routes_->lessons().way(job.number, chosen.kind));
}

void Jobs::bind(Job& job, bool settled) {
  const Arguments& arguments = *job.arguments;
  job.now.call = {};
  describe(job.now.call, arguments, *group_);
  job.now.call.number = job.number;
  job.stage = Job::Stage::running;
  if (arguments.ragged) {
    job.now.call.ragged = true;
    job.now.call.count = *std::max_element(job.sizes.known.begin(), job.sizes.known.end());
    const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
    if (!traits.pairs()) job.now.call.sizes = job.sizes.known.data();
    if (traits.has_input(group_->rank, arguments.root)) job.now.call.input_blocks = arguments.input_blocks;
    if (traits.has_output(group_->rank, arguments.root)) job.now.call.output_blocks = arguments.output_blocks;
  }
  if (job.now.call.count == 0 && algorithms::traits_of(arguments.collective).moves_data) {
    if (group_->settings.trace) job.now.route = &routes_->find(arguments, 0);  // the last route, if any, has exchanged the sizes
    job.stage = Job::Stage::over;
    job.outcome = verdict(job);
    return;
  }
  Route& route = route_of(job);
  job.now.route = &route;
  if (route.decision.outside && runs_as_blocking(job)) {
    job.stage = Job::Stage::over;
    job.outcome = Outcome::outside;
    return;
  }
  job.now.call.alike = arguments.ragged && route.decision.algorithm->alike();
  if (job.now.call.alike) make_alike(job);
  if (displaced(arguments) && !group_->is_helper()) set_aside(job);  // a helper has no buffers
  job.now.program = &routes_->program(route, arguments, settled);
  routes_->set_cut(job.now.call, route);
  if (group_->settings.helpers > 0 && !group_->is_helper()) {
    job.order = order_for(arguments, job.number);
    job.now.call.order = &job.order;
  }
}

Outcome Jobs::advance(Job& job, bool polling) {
  if (job.stage == Job::Stage::refusing) {
    executor_->refuse(job.number);
    job.stage = Job::Stage::over;
    return Outcome::done;
  }
  running = job.arguments->collective;
  if (!group_->settings.trace) return advance_untimed(job, polling);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = advance_untimed(job, polling);
  job.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (job.stage == Job::Stage::over) {
    job.now.route->tally->add(job.now.call.count * job.now.call.element_bytes, job.seconds);
  }
  return outcome;
}

Outcome Jobs::advance_untimed(Job& job, bool polling) {
  const Arguments& arguments = *job.arguments;
  if (job.stage == Job::Stage::exchanging) {
    const Outcome outcome = executor_->advance(*job.now.program, job.now.call, polling);
    if (outcome != Outcome::done) return outcome;
    if (!job.now.program->together) {
      take_sizes(job);
    } else if (executor_->all_rode()) {
      job.stage = Job::Stage::over;
    } else {
      read_letters(job);
    }
  }
  if (job.stage == Job::Stage::comparing) {
    const Outcome outcome = executor_->advance(*job.now.program, job.now.call, polling);
    if (outcome != Outcome::done) return outcome;
    clip(job, group_->rank, group_->ranks);
    bind(job, false);
  }
  if (job.stage == Job::Stage::running) {
    const bool whole = !polling && job.now.call.order == nullptr && !executor_->has_begun();
    job.outcome =
        whole ? executor_->run(*job.now.program, job.now.call) : executor_->advance(*job.now.program, job.now.call, polling);
    if (job.outcome != Outcome::done) return job.outcome;
    job.stage = Job::Stage::over;
    if (algorithms::traits_of(arguments.collective).reduces && displaced(arguments) && !job.aside.memory.empty())
      std::memcpy(arguments.output, job.aside.memory.data(), job.aside.memory.size());
  }
  if (job.aside.memory.size() > kMemoryKept) std::vector<std::byte>().swap(job.aside.memory);
  return job.outcome = verdict(job);
}

// Returns the outcome of a call that came to its end. In a gather or scatter, only the root sees both what is given and how
// much room there is for it.
Outcome Jobs::verdict(Job& job) const {
  const Arguments& arguments = *job.arguments;
  if (job.now.call.untold || job.now.call.alike) {
    if (job.cut_off.from < 0) job.cut_off = executor_->cut_off();
    return job.cut_off.from < 0 ? Outcome::done : Outcome::truncated;
  }
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  if (traits.pairs()) return job.cut_off.from < 0 ? Outcome::done : Outcome::truncated;
  const bool gathers = traits.output_at_root;
  if (job.cut_off.from >= 0) return Outcome::truncated;
  if (!arguments.ragged || arguments.root != group_->rank || !traits.rooted()) return Outcome::done;
  for (int other = 0; other < group_->ranks; ++other) {
    const auto i = static_cast<std::size_t>(other);
    const std::size_t given = gathers ? job.sizes.known[i] : arguments.input_blocks[i].count;
    const std::size_t room = gathers ? arguments.output_blocks[i].count : job.sizes.known[i];
    if (given <= room) continue;
    job.cut_off = {gathers ? other : group_->rank, gathers ? group_->rank : other, given, room};
    return Outcome::truncated;
  }
  return Outcome::done;
}

}  // namespace copse::communicator
