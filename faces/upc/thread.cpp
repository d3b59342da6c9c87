// Who calls, and how a program ends before its time.
#include "thread.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

namespace copse::upc {
namespace {

thread_local Thread* current = nullptr;

}  // namespace

void be(Thread* thread) { current = thread; }
const Thread* self() { return current; }

Thread& here(const char* function) {
  if (current == nullptr) {
    std::fprintf(stderr, "copse: %s: called outside of UPC threads; required: a call inside the program of copse_upc_run\n",
                 function);
    std::fflush(stdout);
    _exit(1);
  }
  return *current;
}

Thread& here_collectively(const char* function) {
  Thread& thread = here(function);
  if (thread.barrier.notified) fail(thread, function, "called between upc_notify and upc_wait; required: upc_wait first (6.6.1)");
  return thread;
}

void end_program(const Segment& segment, int status) {
  int expected = Ending::kNot;
  segment.ending().status.compare_exchange_strong(expected, status);
  std::fflush(stdout);
  if (segment.started_by() != nullptr) segment.started_by()->abort(status);
  _exit(status);
}

void fail(const Thread& thread, const char* function, const std::string& why) {
  int expected = Ending::kNot;
  if (!thread.segment->ending().status.compare_exchange_strong(expected, 1))
    while (true) pause();  // the thread that ends the program ends this one
  std::fflush(stdout);
  std::fprintf(stderr, "copse: UPC thread %d: %s: %s\n", thread.number(), function, why.c_str());
  end_program(*thread.segment, 1);
}

// If a process has ended, the process that has forked it knows why. It ends the other processes within milliseconds, so this
// thread waits for that.
void must_be_done(const Thread& thread, const char* function, const Communicator& among, communicator::Outcome outcome) {
  if (outcome == communicator::Outcome::done) return;
  const std::string why = among.explain(outcome);
  constexpr std::chrono::seconds kForItsParent{5};
  if (outcome == communicator::Outcome::peer_lost) std::this_thread::sleep_for(kForItsParent);
  fail(thread, function, why);
}

namespace {

void must_be_member(const Thread& thread, const char* function, int root) {
  if (root < 0 || root >= thread.threads)
    fail(thread, function,
         "the pointer to the root's memory has affinity to thread " + std::to_string(root) + "; required: a thread from 0 to " +
             std::to_string(thread.threads - 1));
}

}  // namespace

void run(Thread& thread, const char* function, const Arguments& arguments) {
  must_be_member(thread, function, arguments.root);
  must_be_done(thread, function, *thread.data, thread.data->run(arguments));
}

// Only members of one node reach one another by addresses. There may be a stride on some nodes and none on others. All members
// must wait for the same things, so each thread looks at all nodes.
std::optional<std::ptrdiff_t> stride_of(const Thread& thread) {
  const Places& places = thread.segment->places();
  const auto bytes = static_cast<std::ptrdiff_t>(2 * thread.segment->half());
  std::optional<std::ptrdiff_t> stride;  // in parts
  std::map<int, int> last;  // the last member so far on each node
  for (int member = 0; member < thread.threads; ++member) {
    const int number = thread.number_of(member);
    const auto [before, is_first] = last.try_emplace(places.node_of(number), member);
    if (is_first) continue;
    const std::ptrdiff_t apart = places.among_node(number) - places.among_node(thread.number_of(before->second));
    const std::ptrdiff_t steps = member - before->second;
    before->second = member;
    if (apart % steps != 0 || stride.value_or(apart / steps) != apart / steps) return std::nullopt;
    stride = apart / steps;
  }
  return stride.value_or(0) * bytes;
}

void run(Thread& thread, const char* function, const Arguments& arguments, std::size_t src, std::size_t dst, upc_flag_t flags,
         const communicator::OwnCopy& beside) {
  if (!thread.stride) {  // this call waits for more than the flags ask for
    run(thread, function, arguments);
    return beside.make();
  }
  must_be_member(thread, function, arguments.root);
  communicator::Relaxation relaxation;
  relaxation.modes.placed = true;
  if ((flags & UPC_IN_MYSYNC) == 0) relaxation.modes.in = plan::Sync::none;
  if ((flags & UPC_OUT_MYSYNC) == 0) relaxation.modes.out = plan::Sync::none;
  std::byte* const first = thread.mine(0) - thread.me * *thread.stride;  // where member 0 would be if it were on this node
  relaxation.window = {first + src, first + dst, *thread.stride};
  if (algorithms::traits_of(arguments.collective).one_buffer) relaxation.window.root = arguments.root;
  relaxation.beside = beside;
  must_be_done(thread, function, *thread.data, thread.data->run(arguments, relaxation));
}

void meet_all(Thread& thread, const char* function) { must_be_done(thread, function, *thread.data, thread.data->barrier()); }

void enter(Thread& thread, const char* function, upc_flag_t flags) {
  if ((flags & (UPC_IN_MYSYNC | UPC_IN_NOSYNC)) == 0) meet_all(thread, function);
}

void leave(Thread& thread, const char* function, upc_flag_t flags) {
  if ((flags & (UPC_OUT_MYSYNC | UPC_OUT_NOSYNC)) == 0) meet_all(thread, function);
}

upc_shared from_thread_0(Thread& thread, const char* function, upc_shared p) {
  must_be_done(thread, function, *thread.data, thread.data->broadcast(&p, sizeof p, 0));
  return p;
}

}  // namespace copse::upc
