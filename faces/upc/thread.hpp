// A UPC thread, as the functions of <copse/upc.h> find it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"
#include "segment.hpp"

namespace copse::upc {

using communicator::Arguments;
using communicator::Communicator;

// The barrier, as one thread sees it. All threads tell one another their values. The plan has one round, so a thread that has
// notified need not do anything more for the others.
struct Barrier {
  static constexpr std::int64_t kNone = INT64_MIN;
  // No program can give these (6.6.1): at the end of the program, and in a collective function (COPSE_CHECK).
  static constexpr std::int64_t kEnd = INT64_MAX, kCollective = INT64_MIN + 1;
  std::unique_ptr<Communicator> among;
  std::shared_ptr<communicator::Job> job = Communicator::make_job();
  bool notified = false;
  std::int64_t mine = kNone;
  std::vector<std::int64_t> all;  // by thread
};

// A UPC thread, as one of all threads or as a member of a team. In a team, `me` and `threads` count the members of the team.
// Many fields: all that UPC's functions find out about the thread that calls them.
struct Thread {
  int me = 0, threads = 1;
  std::vector<int> members;  // the UPC threads of the team, in its order; empty: all
  bool check = false;        // COPSE_CHECK
  const choose::Settings* settings = nullptr;
  std::shared_ptr<communicator::Progress> progress;
  const Segment* segment = nullptr;
  std::optional<std::ptrdiff_t> stride;  // see stride_of
  std::unique_ptr<Communicator> data;    // of the collectives
  Barrier barrier;
  struct {
    std::vector<std::byte> value;       // the result of the last collective of values
    std::vector<std::size_t> implicit;  // transfers under way that upc_synci waits for
    std::vector<int> streams;           // of teams that have ended, whose first member this thread was
  } kept;

  // The number of a member among all UPC threads, and that of the calling thread.
  [[nodiscard]] int number_of(int member) const { return members.empty() ? member : members[static_cast<std::size_t>(member)]; }
  [[nodiscard]] int number() const { return number_of(me); }
  [[nodiscard]] std::byte* mine(std::size_t address) const { return segment->part(number()) + address; }
};

// Returns how far the memory of each member lies behind that of the member before it. The result is empty if these distances
// differ.
[[nodiscard]] std::optional<std::ptrdiff_t> stride_of(const Thread& thread);

// Returns the thread that calls `function`. If it is no UPC thread, the program ends.
[[nodiscard]] Thread& here(const char* function);
// Returns the thread that calls `function`, which must not be called between upc_notify and upc_wait (6.6.1). If it is called
// there, or by no UPC thread, the program ends.
[[nodiscard]] Thread& here_collectively(const char* function);
// Makes this OS thread the UPC thread `thread`. If `thread` is null, the OS thread is no UPC thread any more.
void be(Thread* thread);
[[nodiscard]] const Thread* self();

// Ends the program with status 1 and a line on stderr. If other threads fail as well, the first one speaks for all.
[[noreturn]] void fail(const Thread& thread, const char* function, const std::string& why);
[[noreturn]] void end_program(const Segment& segment, int status);

// The barrier at the end of the program, which matches none of the program's own.
void last_barrier();
// Ends the program if some threads are in a collective function and others in a barrier, or at the end of the program. All threads
// call this in collective functions, if COPSE_CHECK asks for it.
void must_all_be_in_a_collective(const char* function);

// Ends the program as fail() does, unless the outcome of a call on `among` is done.
void must_be_done(const Thread& thread, const char* function, const Communicator& among, communicator::Outcome outcome);

// These are calls that all threads make for `function`. If one cannot be made, the program ends.
void run(Thread& thread, const char* function, const Arguments& arguments);
// Makes a call whose input begins at the address `src` on all threads and whose output begins at `dst`. The flags say when the
// buffers may be touched. The thread makes its own copy within the call, or behind it.
void run(Thread& thread, const char* function, const Arguments& arguments, std::size_t src, std::size_t dst, upc_flag_t flags,
         const communicator::OwnCopy& beside = {});
void meet_all(Thread& thread, const char* function);  // a barrier
// Gathers a value of each thread.
template <class T>
[[nodiscard]] std::vector<T> gathered(Thread& thread, const char* function, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(thread.threads));
  run(thread, function,
      {.collective = algorithms::Collective::allgather, .input = &mine, .output = all.data(), .count = sizeof mine});
  return all;
}
// enter() and leave() do what the flags of a collective ask for besides its plan. ALLSYNC is a barrier, and the plan then
// need not synchronise.
void enter(Thread& thread, const char* function, upc_flag_t flags);
void leave(Thread& thread, const char* function, upc_flag_t flags);
[[nodiscard]] upc_shared from_thread_0(Thread& thread, const char* function, upc_shared p);

}  // namespace copse::upc
