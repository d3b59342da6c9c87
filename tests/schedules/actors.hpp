// Between runtime.cpp, which the code under test calls, and scheduler.cpp, which decides: not for tests.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>

namespace copse::schedules {

// Is an actor running (and not the scheduler, or a test before and after an execution)?
[[nodiscard]] bool acting();

struct Order {
  bool acquires, releases, sequential;
};
std::uint64_t load(std::uintptr_t address, std::size_t bytes, Order order);
void store(std::uintptr_t address, std::size_t bytes, std::uint64_t value, Order order);
// value = change(old value); returns the old one. `changes` false: only loads (a comparison that failed).
std::uint64_t modify(std::uintptr_t address, std::size_t bytes, Order order,
                     const std::function<std::uint64_t(std::uint64_t old, bool &changes)> &change);

// What was stored there is no older value of what will lie there next.
void freed(const void *begin, std::size_t bytes);

void plain(const void *begin, std::size_t bytes, bool writes);

bool lock(void *mutex, bool tries);
void unlock(void *mutex);
// False: its time was up, or somebody else moved meanwhile (a wait that may end for nothing).
bool wait_condition(void *condition, void *mutex, bool timed);
void wake(void *condition);
void rest();  // until another actor has done something
void rest_for(std::int64_t nanoseconds);
[[nodiscard]] std::int64_t now();  // nanoseconds
std::uint64_t begin_actor(std::function<void()> body);
void join_actor(std::uint64_t number);
// Between these two, no other actor goes on (static initialisation).
void hold(bool held);

}  // namespace copse::schedules
