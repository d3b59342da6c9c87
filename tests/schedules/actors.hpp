// The interface between runtime.cpp, which the code under test calls, and scheduler.cpp, which decides. Not for tests.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>

namespace copse::schedules {

// Returns whether an actor runs, and not the scheduler, or a test before or after an execution.
[[nodiscard]] bool acting();

struct Order {
  bool acquires, releases, sequential;
};
std::uint64_t load(std::uintptr_t address, std::size_t bytes, Order order);
void store(std::uintptr_t address, std::size_t bytes, std::uint64_t value, Order order);
// Sets the value to change(old value) and returns the old value. If `changes` is false, only loads (a failed
// comparison).
std::uint64_t modify(std::uintptr_t address, std::size_t bytes, Order order,
                     const std::function<std::uint64_t(std::uint64_t old, bool& changes)>& change);

// Values stored in this memory are not older values of what is stored there next.
void freed(const void* begin, std::size_t bytes);

void plain(const void* begin, std::size_t bytes, bool writes);

bool lock(void* mutex, bool tries);
void unlock(void* mutex);
// Returns false if the time was up, or if another actor moved meanwhile (a spurious wake-up).
bool wait_condition(void* condition, void* mutex, bool timed);
void wake(void* condition);
void rest();  // waits until another actor has done something
void rest_for(std::int64_t nanoseconds);
[[nodiscard]] std::int64_t now();  // nanoseconds
std::uint64_t begin_actor(std::function<void()> body);
void join_actor(std::uint64_t number);
// While held, no other actor goes on (static initialisation).
void hold(bool held);

}  // namespace copse::schedules
