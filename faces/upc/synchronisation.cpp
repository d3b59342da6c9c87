// The barrier in two parts, and locks (UPC 1.3, 6.6.1 and 7.2.4).
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "checks.hpp"

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

// Compares the values of all threads, of which `expected` is this thread's own in upc_wait.
void compare(const Thread& thread, const char* function, std::int64_t expected) {
  int first = -1;
  for (int other = 0; other < thread.threads; ++other) {
    const std::int64_t value = thread.barrier.all[static_cast<std::size_t>(other)];
    if (value == Barrier::kNone) continue;
    if (first < 0) first = other;
    const std::int64_t given = thread.barrier.all[static_cast<std::size_t>(first)];
    if (value != given)
      fail(thread, function,
           "the value of thread " + std::to_string(other) + " is " + std::to_string(value) +
               "; required: " + std::to_string(given) + ", as on thread " + std::to_string(first) + " (6.6.1)");
  }
  const std::int64_t given = first < 0 ? expected : thread.barrier.all[static_cast<std::size_t>(first)];
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

// The system's mutex works between processes as between threads.
struct Lock {
  static constexpr int kNobody = -1;
  pthread_mutex_t mutex;
  std::atomic<int> holder{kNobody};  // only the holder itself must be sure of it
};

Lock& find(const Thread& thread, const char* function, upc_lock_t lock) {
  return *reinterpret_cast<Lock*>(object_at(thread, function, "lock", lock.at, "upc_all_lock_alloc or upc_global_lock_alloc"));
}

bool is_held(const Thread& thread, const Lock& lock) { return lock.holder.load(std::memory_order_relaxed) == thread.me; }

void release(Lock& lock) {
  lock.holder.store(Lock::kNobody, std::memory_order_relaxed);
  pthread_mutex_unlock(&lock.mutex);
}

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

// If another thread holds the lock, it may only unlock it no more (7.2.4). The system then keeps nothing of the mutex.
void free_lock(Thread& thread, const char* function, upc_lock_t at) {
  if (upc_is_null(at.at)) return;
  Lock& lock = find(thread, function, at);
  if (is_held(thread, lock)) release(lock);
  if (lock.holder.load(std::memory_order_relaxed) == Lock::kNobody) pthread_mutex_destroy(&lock.mutex);
  thread.segment->free(at.at);
}

}  // namespace

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
  Lock& wanted = find(thread, "upc_lock", lock);
  if (is_held(thread, wanted)) fail(thread, "upc_lock", "this thread already holds the lock; required: upc_unlock first (7.2.4)");
  pthread_mutex_lock(&wanted.mutex);
  wanted.holder.store(thread.me, std::memory_order_relaxed);
}

int upc_lock_attempt(upc_lock_t lock) {
  const Thread& thread = here("upc_lock_attempt");
  Lock& wanted = find(thread, "upc_lock_attempt", lock);
  if (pthread_mutex_trylock(&wanted.mutex) != 0) return 0;
  wanted.holder.store(thread.me, std::memory_order_relaxed);
  return 1;
}

void upc_unlock(upc_lock_t lock) {
  const Thread& thread = here("upc_unlock");
  Lock& held = find(thread, "upc_unlock", lock);
  if (!is_held(thread, held)) fail(thread, "upc_unlock", "this thread does not hold the lock; required: upc_lock first (7.2.4)");
  release(held);
}

void upc_lock_free(upc_lock_t lock) { free_lock(here("upc_lock_free"), "upc_lock_free", lock); }

void upc_all_lock_free(upc_lock_t lock) {
  Thread& thread = here_collectively("upc_all_lock_free");
  check_call(thread, "upc_all_lock_free");
  meet_all(thread, "upc_all_lock_free");
  if (thread.me == 0) free_lock(thread, "upc_all_lock_free", lock);
}

}  // extern "C"
