// The barrier in two parts, and locks (UPC 1.3, 6.6.1 and 7.2.4).
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>

#include "checks.hpp"
#include "engine/signal/wait.hpp"
#include "far.hpp"

namespace copse::upc {
namespace {

Arguments exchange_of_values(Barrier& barrier) {
  Arguments arguments;
  arguments.collective = algorithms::Collective::allgather;
  arguments.input = &barrier.mine;
  arguments.output = barrier.all.data();
  arguments.count = sizeof barrier.mine;
  return arguments;
}

// Returns where a thread is that gives this value.
const char* place_of(std::int64_t value) {
  if (value == Barrier::kEnd) return "at the end of the program";
  return value == Barrier::kCollective ? "in a collective function" : "in a barrier";
}

// Compares the values of all threads, of which `expected` is this thread's own in upc_wait.
void compare(const Thread& thread, const char* function, std::int64_t expected) {
  int first = -1;
  const auto& all = thread.barrier.all;
  const char* const place = place_of(all[0]);
  const auto elsewhere = std::find_if(all.begin(), all.end(), [place](std::int64_t value) { return place_of(value) != place; });
  if (elsewhere != all.end())
    fail(thread, function,
         std::string("thread 0 is ") + place + ", and thread " + std::to_string(elsewhere - all.begin()) + " " +
             place_of(*elsewhere) + "; required: the same barriers and collective functions on every thread (6.6.1)");
  if (all[0] == Barrier::kCollective) return;
  for (int other = 0; other < thread.threads; ++other) {
    const std::int64_t value = all[static_cast<std::size_t>(other)];
    if (value == Barrier::kNone) continue;
    if (first < 0) first = other;
    const std::int64_t given = all[static_cast<std::size_t>(first)];
    if (value != given)
      fail(thread, function,
           "the value of thread " + std::to_string(other) + " is " + std::to_string(value) +
               "; required: " + std::to_string(given) + ", as on thread " + std::to_string(first) + " (6.6.1)");
  }
  const std::int64_t given = first < 0 ? expected : all[static_cast<std::size_t>(first)];
  if (expected != Barrier::kNone && expected != given)
    fail(thread, function,
         "the value is " + std::to_string(expected) + "; required: " + std::to_string(given) + ", as thread " +
             std::to_string(first) + " has notified (6.6.1)");
}

void notify(const char* function, std::int64_t value) {
  Thread& thread = here(function);
  Barrier& barrier = thread.barrier;
  if (barrier.notified) fail(thread, function, "called a second time; required: upc_wait between two calls (6.6.1)");
  barrier.mine = value;
  barrier.among->start(barrier.job, exchange_of_values(barrier));
  barrier.notified = true;
}

void wait(const char* function, std::int64_t value) {
  Thread& thread = here(function);
  Barrier& barrier = thread.barrier;
  if (!barrier.notified) fail(thread, function, "called before upc_notify; required: upc_notify first (6.6.1)");
  must_be_done(thread, function, *barrier.among, barrier.among->wait(*barrier.job));
  barrier.notified = false;
  compare(thread, function, value);
}

void pass(const char* function, std::int64_t value) {
  Thread& thread = here(function);
  Barrier& barrier = thread.barrier;
  if (barrier.notified) fail(thread, function, "called between upc_notify and upc_wait; required: upc_wait first (6.6.1)");
  barrier.mine = value;
  must_be_done(thread, function, *barrier.among, barrier.among->run(exchange_of_values(barrier)));
  compare(thread, function, value);
}

// On one node, the system's mutex works between processes as between threads. On several nodes, a thread has the lock once it has
// written its own number into `holder`.
struct Lock {
  static constexpr std::int64_t kNobody = -1;
  std::int64_t holder = kNobody;
  pthread_mutex_t mutex{};
};

class Handle {
 public:
  Handle(const Thread& thread, const char* function, upc_lock_t lock)
      : thread_(thread), at_(object_at(thread, function, "lock", lock.at, "upc_all_lock_alloc or upc_global_lock_alloc")),
        holder_(thread, function, {at_.address + offsetof(Lock, holder), 0, at_.thread}) {}

  [[nodiscard]] upc_shared at() const { return at_; }
  // The answer is certain only for the holder, and nobody else needs it.
  [[nodiscard]] bool is_mine() const {
    return (by_mutex() ? held_by().load(std::memory_order_relaxed) : holder_.load()) == thread_.me;
  }
  [[nodiscard]] bool attempt() const {
    if (!by_mutex()) return holder_.compare_and_swap(Lock::kNobody, thread_.me) == Lock::kNobody;
    if (pthread_mutex_trylock(&here().mutex) != 0) return false;
    held_by().store(thread_.me, std::memory_order_relaxed);
    return true;
  }
  void take() const {
    if (by_mutex()) {
      pthread_mutex_lock(&here().mutex);
      return held_by().store(thread_.me, std::memory_order_relaxed);
    }
    engine::wait_until(engine::WaitPolicy::oversubscribed(), [this] { return attempt(); }, [] { return true; });
  }
  void release() const {
    if (!by_mutex()) return static_cast<void>(holder_.compare_and_swap(thread_.me, Lock::kNobody));
    held_by().store(Lock::kNobody, std::memory_order_relaxed);
    pthread_mutex_unlock(&here().mutex);
  }
  // Makes the system forget the lock's mutex, unless another thread holds the lock. That thread must not unlock it any more
  // (7.2.4).
  void end() const {
    if (is_mine()) release();
    if (by_mutex() && held_by().load(std::memory_order_relaxed) == Lock::kNobody) pthread_mutex_destroy(&here().mutex);
  }

 private:
  [[nodiscard]] bool by_mutex() const { return thread_.segment->network() == nullptr; }
  [[nodiscard]] Lock& here() const { return *reinterpret_cast<Lock*>(thread_.segment->here(at_)); }
  [[nodiscard]] std::atomic_ref<std::int64_t> held_by() const { return std::atomic_ref(here().holder); }

  const Thread& thread_;
  upc_shared at_;
  Word holder_;
};

upc_lock_t make_lock(Thread& thread, const char* function) {
  const upc_shared at = new_object(thread, function, "lock", sizeof(Lock));
  Lock& lock = *new (thread.segment->here(at)) Lock;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  const int error = pthread_mutex_init(&lock.mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  if (error != 0) fail(thread, function, std::string("the system makes no mutex: ") + std::strerror(error));
  return {at};
}

void free_lock(Thread& thread, const char* function, upc_lock_t lock) {
  if (upc_is_null(lock.at)) return;
  const Handle ended(thread, function, lock);
  ended.end();
  give_back(thread, function, ended.at());
}

}  // namespace

void must_all_be_in_a_collective(const char* function) { pass(function, Barrier::kCollective); }

void last_barrier() { pass("the end of the program", Barrier::kEnd); }

}  // namespace copse::upc

using namespace copse::upc;

extern "C" {

void upc_barrier(void) { pass("upc_barrier", Barrier::kNone); }
void upc_notify(void) { notify("upc_notify", Barrier::kNone); }
void upc_wait(void) { wait("upc_wait", Barrier::kNone); }
void upc_barrier_value(int value) { pass("upc_barrier", value); }
void upc_notify_value(int value) { notify("upc_notify", value); }
void upc_wait_value(int value) { wait("upc_wait", value); }

void upc_fence(void) { __sync_synchronize(); }

upc_lock_t upc_global_lock_alloc(void) { return make_lock(here("upc_global_lock_alloc"), "upc_global_lock_alloc"); }

upc_lock_t upc_all_lock_alloc(void) {
  Thread& thread = here_collectively("upc_all_lock_alloc");
  check_call(thread, "upc_all_lock_alloc");
  const upc_lock_t made = thread.me == 0 ? make_lock(thread, "upc_all_lock_alloc") : upc_lock_t{upc_null()};
  return {from_thread_0(thread, "upc_all_lock_alloc", made.at)};
}

void upc_lock(upc_lock_t lock) {
  const Thread& thread = here("upc_lock");
  const Handle wanted(thread, "upc_lock", lock);
  if (wanted.is_mine()) fail(thread, "upc_lock", "this thread already holds the lock; required: upc_unlock first (7.2.4)");
  wanted.take();
}

int upc_lock_attempt(upc_lock_t lock) { return Handle(here("upc_lock_attempt"), "upc_lock_attempt", lock).attempt() ? 1 : 0; }

void upc_unlock(upc_lock_t lock) {
  const Thread& thread = here("upc_unlock");
  const Handle held(thread, "upc_unlock", lock);
  if (!held.is_mine()) fail(thread, "upc_unlock", "this thread does not hold the lock; required: upc_lock first (7.2.4)");
  held.release();
}

void upc_lock_free(upc_lock_t lock) { free_lock(here("upc_lock_free"), "upc_lock_free", lock); }

void upc_all_lock_free(upc_lock_t lock) {
  Thread& thread = here_collectively("upc_all_lock_free");
  if (thread.check) {
    Checks checks(thread, "upc_all_lock_free");
    checks.pointer("the lock", lock.at);
    checks.compare();
  }
  meet_all(thread, "upc_all_lock_free");
  if (thread.me == 0) free_lock(thread, "upc_all_lock_free", lock);
}

}  // extern "C"
