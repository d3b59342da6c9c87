// The entry points of ThreadSanitizer's instrumentation, and the calls by which threads wait, for actors. Threads that
// are not actors get the usual behaviour.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "actors.hpp"

namespace schedules = copse::schedules;
using schedules::Order;

namespace {

Order order_of(int order) {  // takes __ATOMIC_RELAXED .. __ATOMIC_SEQ_CST
  const bool both = order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
  return {both || order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME, both || order == __ATOMIC_RELEASE,
          order == __ATOMIC_SEQ_CST};
}

template <class T>
std::uintptr_t at(const volatile T* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

template <class T, class Change>
T modified(volatile T* address, int order, Change&& change) {
  return static_cast<T>(schedules::modify(at(address), sizeof(T), order_of(order), [&](std::uint64_t old, bool&) {
    return static_cast<std::uint64_t>(change(static_cast<T>(old)));
  }));
}

template <class T>
bool exchanged(volatile T* address, T* expected, T desired, int order) {
  bool equal = false;
  const auto change = [&](std::uint64_t now, bool& changes) {
    equal = changes = static_cast<T>(now) == *expected;
    return static_cast<std::uint64_t>(desired);
  };
  const auto old = static_cast<T>(schedules::modify(at(address), sizeof(T), order_of(order), change));
  if (!equal) *expected = old;
  return equal;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void operator delete(void* memory) noexcept {
  schedules::freed(memory, malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

#define COPSE_FETCH(bits, type, name, expression)                                             \
  type __tsan_atomic##bits##_fetch_##name(volatile type* address, type value, int order) {    \
    if (!schedules::acting()) return __atomic_fetch_##name(address, value, __ATOMIC_SEQ_CST); \
    return modified(address, order, [&](type old) { return static_cast<type>(expression); }); \
  }
#define COPSE_ATOMICS(bits, type)                                                                                                 \
  type __tsan_atomic##bits##_load(const volatile type* address, int order) {                                                      \
    if (!schedules::acting()) return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                  \
    return static_cast<type>(schedules::load(at(address), sizeof(type), order_of(order)));                                        \
  }                                                                                                                               \
  void __tsan_atomic##bits##_store(volatile type* address, type value, int order) {                                               \
    if (!schedules::acting()) return __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                          \
    schedules::store(at(address), sizeof(type), value, order_of(order));                                                          \
  }                                                                                                                               \
  type __tsan_atomic##bits##_exchange(volatile type* address, type value, int order) {                                            \
    if (!schedules::acting()) return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                       \
    return modified(address, order, [&](type) { return value; });                                                                 \
  }                                                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* address, type* expected, type desired, int order, int) {       \
    if (!schedules::acting())                                                                                                     \
      return __atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
    return exchanged(address, expected, desired, order);                                                                          \
  }                                                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* address, type* expected, type desired, int order, int failure) { \
    return __tsan_atomic##bits##_compare_exchange_strong(address, expected, desired, order, failure);                             \
  }                                                                                                                               \
  COPSE_FETCH(bits, type, add, old + value)                                                                                       \
  COPSE_FETCH(bits, type, sub, old - value)                                                                                       \
  COPSE_FETCH(bits, type, and, old& value)                                                                                        \
  COPSE_FETCH(bits, type, or, old | value)                                                                                        \
  COPSE_FETCH(bits, type, xor, old ^ value)
#define COPSE_PLAIN(bytes)                                                                  \
  void __tsan_read##bytes(void* begin) { schedules::plain(begin, bytes, false); }           \
  void __tsan_write##bytes(void* begin) { schedules::plain(begin, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* begin) { schedules::plain(begin, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* begin) { schedules::plain(begin, bytes, true); }

extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
COPSE_ATOMICS(8, unsigned char)
COPSE_ATOMICS(16, unsigned short)
COPSE_ATOMICS(32, unsigned int)
COPSE_ATOMICS(64, unsigned long)
COPSE_PLAIN(1)
COPSE_PLAIN(2)
COPSE_PLAIN(4)
COPSE_PLAIN(8)
COPSE_PLAIN(16)
void __tsan_read_range(void* begin, long bytes) { schedules::plain(begin, static_cast<std::size_t>(bytes), false); }
void __tsan_write_range(void* begin, long bytes) { schedules::plain(begin, static_cast<std::size_t>(bytes), true); }
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void) {}
void __tsan_init(void) {}
#pragma GCC diagnostic pop

// --wrap: only calls of the code under test come here.
void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);
int __real___cxa_guard_acquire(std::uint64_t* guard);
void __real___cxa_guard_release(std::uint64_t* guard);
void __real___cxa_guard_abort(std::uint64_t* guard);

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  schedules::plain(from, bytes, false);
  schedules::plain(to, bytes, true);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  schedules::plain(from, bytes, false);
  schedules::plain(to, bytes, true);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  schedules::plain(to, bytes, true);
  return __real_memset(to, value, bytes);
}
int __wrap___cxa_guard_acquire(std::uint64_t* guard) {
  const int mine = __real___cxa_guard_acquire(guard);
  if (mine != 0) schedules::hold(true);
  return mine;
}
void __wrap___cxa_guard_release(std::uint64_t* guard) {
  schedules::hold(false);
  __real___cxa_guard_release(guard);
}
void __wrap___cxa_guard_abort(std::uint64_t* guard) {
  schedules::hold(false);
  __real___cxa_guard_abort(guard);
}

// These are definitions, so the C++ library's own calls come here too.
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (schedules::acting()) return schedules::lock(mutex, false), 0;
  static auto* const next = real<int(pthread_mutex_t*)>("pthread_mutex_lock");
  return next(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (schedules::acting()) return schedules::lock(mutex, true) ? 0 : EBUSY;
  static auto* const next = real<int(pthread_mutex_t*)>("pthread_mutex_trylock");
  return next(mutex);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (schedules::acting()) return schedules::unlock(mutex), 0;
  static auto* const next = real<int(pthread_mutex_t*)>("pthread_mutex_unlock");
  return next(mutex);
}
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (schedules::acting()) return schedules::wait_condition(condition, mutex, false), 0;
  static auto* const next = real<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait");
  return next(condition, mutex);
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* end) {
  if (schedules::acting()) return schedules::wait_condition(condition, mutex, true) ? 0 : ETIMEDOUT;
  static auto* const next = real<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
  return next(condition, mutex, end);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* end) {
  if (schedules::acting()) return schedules::wait_condition(condition, mutex, true) ? 0 : ETIMEDOUT;
  static auto* const next = real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  return next(condition, mutex, clock, end);
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (schedules::acting()) return schedules::wake(condition), 0;
  static auto* const next = real<int(pthread_cond_t*)>("pthread_cond_broadcast");
  return next(condition);
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (schedules::acting()) return schedules::wake(condition), 0;  // wakes more than needed, as wake-ups may be spurious
  static auto* const next = real<int(pthread_cond_t*)>("pthread_cond_signal");
  return next(condition);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  if (schedules::acting()) {
    *thread = schedules::begin_actor([=] { body(argument); });
    return 0;
  }
  static auto* const next = real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return next(thread, attributes, body, argument);
}
int pthread_join(pthread_t thread, void** result) {
  if (schedules::acting()) return schedules::join_actor(thread), 0;
  static auto* const next = real<int(pthread_t, void**)>("pthread_join");
  return next(thread, result);
}
int sched_yield() noexcept {
  if (schedules::acting()) return schedules::rest(), 0;
  static auto* const next = real<int()>("sched_yield");
  return next();
}
int sched_getcpu() noexcept {
  static auto* const next = real<int()>("sched_getcpu");
  return schedules::acting() ? 0 : next();  // the actors take turns, as ranks on one processor do
}
int nanosleep(const timespec* time, timespec* left) {
  if (schedules::acting()) return schedules::rest_for(time->tv_sec * 1'000'000'000 + time->tv_nsec), 0;
  static auto* const next = real<int(const timespec*, timespec*)>("nanosleep");
  return next(time, left);
}
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const next = real<int(clockid_t, timespec*)>("clock_gettime");
  if (!schedules::acting()) return next(clock, time);
  const std::int64_t now = schedules::now();
  *time = {now / 1'000'000'000, now % 1'000'000'000};
  return 0;
}
}
