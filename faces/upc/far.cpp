// Loads and stores, or the network.
#include "far.hpp"

#include <atomic>

#include "engine/kernels/kernels.hpp"
#include "thread.hpp"

namespace copse::upc {
namespace {

constexpr int kFirstOfTeams = 2;  // the communicators of all threads have the streams before

// The place of shared memory as the network knows it: a process, and an offset in the memory that the process exposes.
struct Target {
  int process;
  std::size_t at;
};
Target target_of(const Segment& segment, upc_shared p) {
  const communicator::Correspondent there = segment.places().at(p.thread);
  return {there.process, static_cast<std::size_t>(there.thread) * 2 * segment.half() + p.address};
}

void must_work(bool worked, const Thread& thread, const char* function, int peer) {
  if (!worked) fail(thread, function, "the network does not reach the memory of thread " + std::to_string(peer));
}

std::int64_t swapped(const Segment& segment, upc_shared at, std::int64_t expected, std::int64_t desired, bool& worked) {
  const Target target = target_of(segment, at);
  std::int64_t before = 0;
  worked = segment.network()->compare_and_swap(target.process, target.at, expected, desired, before);
  return before;
}

upc_shared desk_of(int thread, std::size_t member) { return {member, 0, thread}; }

}  // namespace

void must_be_thread(const Thread& thread, const char* function, upc_shared p) {
  if (const int threads = thread.segment->threads(); p.thread < 0 || p.thread >= threads)
    fail(thread, function,
         "the pointer has affinity to thread " + std::to_string(p.thread) + "; required: a thread from 0 to " +
             std::to_string(threads - 1));
}

void must_be_memory(const Thread& thread, const char* function, upc_shared p, std::size_t bytes) {
  const std::size_t most = 2 * thread.segment->half();
  if (bytes == 0 || (p.address >= Segment::kAlignment && p.address <= most && bytes <= most - p.address)) [[likely]]
    return;
  if (p.address == 0) fail(thread, function, "the pointer is null; required: a pointer to shared memory");
  fail(thread, function,
       std::to_string(bytes) + " bytes from address " + std::to_string(p.address) + " of thread " + std::to_string(p.thread) +
           "; required: addresses from " + std::to_string(Segment::kAlignment) + " to " + std::to_string(most));
}

void read(const Thread& thread, const char* function, void* to, upc_shared from, std::size_t bytes) {
  const Segment& segment = *thread.segment;
  must_be_memory(thread, function, from, bytes);
  if (segment.is_here(from.thread)) return kernels::copy(to, segment.here(from), bytes);
  must_be_thread(thread, function, from);
  const Target target = target_of(segment, from);
  must_work(segment.network()->get(to, target.process, target.at, bytes), thread, function, from.thread);
}

void write(const Thread& thread, const char* function, upc_shared to, const void* from, std::size_t bytes) {
  const Segment& segment = *thread.segment;
  must_be_memory(thread, function, to, bytes);
  if (segment.is_here(to.thread)) return kernels::copy(segment.here(to), from, bytes);
  must_be_thread(thread, function, to);
  const Target target = target_of(segment, to);
  must_work(segment.network()->put(from, target.process, target.at, bytes), thread, function, to.thread);
}

namespace {

// Starts a transfer with another node. start(network, target, ticket) asks the network for it.
template <class Start>
upc_handle_t started(const Thread& thread, const char* function, upc_shared there, std::size_t bytes, const Start& start) {
  must_be_thread(thread, function, there);
  must_be_memory(thread, function, there, bytes);
  std::uint64_t ticket = 0;
  must_work(start(*thread.segment->network(), target_of(*thread.segment, there), ticket), thread, function, there.thread);
  return static_cast<upc_handle_t>(ticket + 1);
}

}  // namespace

upc_handle_t start_read(const Thread& thread, const char* function, void* to, upc_shared from, std::size_t bytes) {
  if (bytes > 0 && !thread.segment->is_here(from.thread))
    return started(thread, function, from, bytes, [&](communicator::Network& network, Target target, std::uint64_t& ticket) {
      return network.start_get(to, target.process, target.at, bytes, ticket);
    });
  read(thread, function, to, from, bytes);
  return UPC_COMPLETE_HANDLE;
}

upc_handle_t start_write(const Thread& thread, const char* function, upc_shared to, const void* from, std::size_t bytes) {
  if (bytes > 0 && !thread.segment->is_here(to.thread))
    return started(thread, function, to, bytes, [&](communicator::Network& network, Target target, std::uint64_t& ticket) {
      return network.start_put(from, target.process, target.at, bytes, ticket);
    });
  write(thread, function, to, from, bytes);
  return UPC_COMPLETE_HANDLE;
}

bool has_ended(const Thread& thread, const char* function, upc_handle_t handle) {
  if (handle == UPC_COMPLETE_HANDLE) return true;
  communicator::Network* const network = thread.segment->network();
  const engine::Wired answer = network == nullptr ? engine::Wired::failed : network->has_ended(handle - 1);
  if (answer == engine::Wired::failed)
    fail(thread, function,
         "the transfer with handle " + std::to_string(handle) +
             " failed, or there is none; required: what a function that starts a transfer has returned, once");
  return answer == engine::Wired::done;
}

std::int64_t Word::fetch_add(std::int64_t value) const {
  const Segment& segment = *thread_.segment;
  if (segment.network() == nullptr) return std::atomic_ref(*reinterpret_cast<std::int64_t*>(segment.here(at_))).fetch_add(value);
  const Target target = target_of(segment, at_);
  std::int64_t before = 0;
  must_work(segment.network()->fetch_add(target.process, target.at, value, before), thread_, function_, at_.thread);
  return before;
}

std::int64_t Word::load() const {
  const Segment& segment = *thread_.segment;
  if (segment.network() != nullptr) return fetch_add(0);
  return std::atomic_ref(*reinterpret_cast<std::int64_t*>(segment.here(at_))).load();
}

std::int64_t Word::compare_and_swap(std::int64_t expected, std::int64_t desired) const {
  const Segment& segment = *thread_.segment;
  if (segment.network() == nullptr) {
    std::atomic_ref(*reinterpret_cast<std::int64_t*>(segment.here(at_))).compare_exchange_strong(expected, desired);
    return expected;
  }
  bool worked = true;
  const std::int64_t before = swapped(segment, at_, expected, desired, worked);
  must_work(worked, thread_, function_, at_.thread);
  return before;
}

// Blocks form a list that begins on the owner's desk. Whoever returns one puts it in front.
void give_back(const Thread& thread, const char* function, upc_shared block) {
  const Segment& segment = *thread.segment;
  const int owner = segment.owner_of(block);
  if (segment.is_here(owner)) return segment.free(block);
  const Word first(thread, function, desk_of(owner, offsetof(Desk, returned)));
  for (std::int64_t next = first.load();;) {
    write(thread, function, {block.address, 0, owner}, &next, sizeof next);
    const std::int64_t before = first.compare_and_swap(next, static_cast<std::int64_t>(block.address));
    if (before == next) return;
    next = before;
  }
}

namespace {

// Takes the list of what threads of other nodes have given back. Returns the address of the first block, or 0 if there is none. A
// load of the word tells, without the network, whether there may be one. If the network does not work, the blocks stay where they
// are. The next call that needs the network reports that.
std::size_t taken_from(const Segment& segment, int thread) {
  const upc_shared at = desk_of(thread, offsetof(Desk, returned));
  std::int64_t expected = std::atomic_ref(*reinterpret_cast<std::int64_t*>(segment.here(at))).load();
  for (bool worked = true; worked && expected != 0;) {
    const std::int64_t first = swapped(segment, at, expected, 0, worked);
    if (worked && first == expected) return static_cast<std::size_t>(first);
    expected = first;
  }
  return 0;
}

void take_back(const Thread& thread) {
  const Segment& segment = *thread.segment;
  if (segment.network() == nullptr) return;
  const int me = thread.number();
  for (std::size_t address = taken_from(segment, me); address != 0;) {
    const upc_shared block{address, 0, address < segment.half() ? 0 : me};
    address = *reinterpret_cast<const std::size_t*>(segment.part(me) + address);
    segment.free(block);
  }
}

}  // namespace

upc_shared allocate_on_all(const Thread& thread, std::size_t bytes) {
  take_back(thread);
  return thread.segment->allocate_on_all(thread.number(), bytes);
}

upc_shared allocate_here(const Thread& thread, std::size_t bytes) {
  take_back(thread);
  return thread.segment->allocate_on(thread.number(), bytes);
}

int fresh_stream(const Thread& thread, const char* function) {
  return kFirstOfTeams + static_cast<int>(Word(thread, function, desk_of(0, offsetof(Desk, streams))).fetch_add(1));
}

}  // namespace copse::upc
