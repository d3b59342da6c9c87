// COPSE_CHECK: what the specification demands of arguments, checked on all threads before a call.
//
// First the threads compare what they call. From then on, all know the same arguments and come to the same verdict, and one of them
// says it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "communicator/spans.hpp"
#include "thread.hpp"

namespace copse::upc {

class Checks {
 public:
  Checks(Thread& thread, const char* function) : thread_(thread), function_(function) {}

  // Adds an argument, which must be the same on all threads (single-valued). A pointer's phase matters where it is respected.
  void word(const char* name, std::int64_t value);
  void pointer(const char* name, upc_shared p, bool phase_matters = false);
  // Compares what has been added. Every thread calls this once, before the checks that follow.
  void compare();

  [[noreturn]] void refuse(const std::string& why) const { refuse_for(0, why); }
  // Refuses unless the flags are 0, or have at most one of the IN and one of the OUT flags.
  void flags(upc_flag_t flags) const;
  void on_thread_0(const char* name, upc_shared p) const;
  void at_least_1(const char* name, std::size_t value) const;
  // Says that the call touches this memory of a thread. `what` is the name of the argument.
  void touches(const char* what, int thread, std::size_t address, std::size_t bytes, bool written);
  // Refuses if what is written overlaps other memory that is touched.
  void no_overlap();

 private:
  static constexpr std::size_t kWords = 16;
  struct Said {
    std::array<char, 32> function{};
    std::array<std::int64_t, kWords> words{};
  };
  [[noreturn]] void refuse_for(int thread, const std::string& why) const;

  Thread& thread_;
  const char* function_;
  std::vector<std::string> names_;
  Said mine_;
  std::vector<std::vector<communicator::Span>> spans_;  // by thread
};

// Compares a call of a collective function without arguments that matter, if COPSE_CHECK asks for it.
void check_call(Thread& thread, const char* function);

[[nodiscard]] std::string text_of(upc_shared p);
// An array that could not be allocated is null, and what lies there is Copse's own.
void must_not_be_null(const Thread& thread, const char* function, const char* name, upc_shared p);

// These are for a lock, a semaphore, or another object that the caller's functions keep in shared memory. new_object() allocates
// the object on the calling thread. object_at() returns where the object is, or fails if there can be none. `name` names the kind
// of object, and `made_by` names the functions that return one.
[[nodiscard]] upc_shared new_object(const Thread& thread, const char* function, const char* name, std::size_t bytes);
[[nodiscard]] upc_shared object_at(const Thread& thread, const char* function, const char* name, upc_shared at,
                                   const char* made_by);

}  // namespace copse::upc
