// Who calls, and how a program ends before its time.
#include "thread.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
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
  _exit(status);
}

void fail(const Thread& thread, const char* function, const std::string& why) {
  int expected = Ending::kNot;
  if (!thread.segment->ending().status.compare_exchange_strong(expected, 1))
    while (true) pause();  // the thread that ends the program ends this one
  std::fflush(stdout);
  std::fprintf(stderr, "copse: UPC thread %d: %s: %s\n", thread.number(), function, why.c_str());
  _exit(1);
}

// If a process has ended, the process that has forked it knows why, and ends the others. It takes milliseconds.
void must_be_done(const Thread& thread, const char* function, const Communicator& among, communicator::Outcome outcome) {
  if (outcome == communicator::Outcome::done) return;
  const std::string why = among.explain(outcome);
  constexpr std::chrono::seconds kForItsParent{5};
  if (outcome == communicator::Outcome::peer_lost) std::this_thread::sleep_for(kForItsParent);
  fail(thread, function, why);
}

void run(Thread& thread, const char* function, const Arguments& arguments) {
  must_be_done(thread, function, *thread.data, thread.data->run(arguments));
}

std::optional<std::ptrdiff_t> stride_of(const Thread& thread) {
  const auto apart = [&thread](int member) {
    return thread.segment->part(thread.number_of(member)) - thread.segment->part(thread.number_of(member - 1));
  };
  const std::ptrdiff_t stride = thread.threads > 1 ? apart(1) : 0;
  for (int member = 2; member < thread.threads; ++member)
    if (apart(member) != stride) return std::nullopt;
  return stride;
}

void run(Thread& thread, const char* function, const Arguments& arguments, std::size_t src, std::size_t dst, upc_flag_t flags) {
  if (!thread.stride) return run(thread, function, arguments);  // which waits for more than the flags ask for
  communicator::Relaxation relaxation;
  if ((flags & UPC_IN_MYSYNC) == 0) relaxation.modes.in = plan::Sync::none;
  if ((flags & UPC_OUT_MYSYNC) == 0) relaxation.modes.out = plan::Sync::none;
  const Segment& segment = *thread.segment;
  std::byte* const first = segment.part(thread.number_of(0));
  relaxation.window = {first + src, first + dst, *thread.stride};
  if (algorithms::traits_of(arguments.collective).one_buffer) relaxation.window.root = arguments.root;
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
