// Compares and judges arguments.
#include "checks.hpp"

#include <unistd.h>

#include <bit>
#include <cstring>

#include "far.hpp"

namespace copse::upc {

std::string text_of(upc_shared p) {
  if (upc_is_null(p)) return "null";
  return "(thread " + std::to_string(p.thread) + ", address " + std::to_string(p.address) + ", phase " + std::to_string(p.phase) +
         ")";
}

void Checks::word(const char* name, std::int64_t value) {
  mine_.words.at(names_.size()) = value;
  names_.emplace_back(name);
}

void Checks::pointer(const char* name, upc_shared p, bool phase_matters) {
  const std::string prefix = std::string(name) + ".";
  word((prefix + "thread").c_str(), p.thread);
  word((prefix + "address").c_str(), static_cast<std::int64_t>(p.address));
  if (phase_matters) word((prefix + "phase").c_str(), static_cast<std::int64_t>(p.phase));
}

void Checks::compare() {
  if (thread_.members.empty()) must_all_be_in_a_collective(function_);
  std::strncpy(mine_.function.data(), function_, mine_.function.size() - 1);
  const std::vector<Said> all = gathered(thread_, function_, mine_);
  for (std::size_t other = 1; other < all.size(); ++other) {
    const auto thread = static_cast<int>(other);
    if (all[other].function != all[0].function)
      refuse_for(thread, "called " + std::string(all[other].function.data()) + "; required: " + all[0].function.data() +
                             ", as on thread 0 (collective functions are called by all threads in the same order)");
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (all[other].words[i] != all[0].words[i])
        refuse_for(thread, names_[i] + " is " + std::to_string(all[other].words[i]) +
                               "; required: " + std::to_string(all[0].words[i]) + ", as on thread 0 (arguments are single-valued)");
  }
}

// All threads come here together.
void Checks::refuse_for(int thread, const std::string& why) const {
  if (thread_.me != thread)
    while (true) pause();  // that thread ends the program
  fail(thread_, function_, why);
}

void Checks::flags(upc_flag_t flags) const {
  constexpr unsigned kIn = UPC_IN_ALLSYNC | UPC_IN_MYSYNC | UPC_IN_NOSYNC, kOut = UPC_OUT_ALLSYNC | UPC_OUT_MYSYNC | UPC_OUT_NOSYNC;
  const auto bits = static_cast<unsigned>(flags);
  if ((bits & ~(kIn | kOut)) != 0 || std::popcount(bits & kIn) > 1 || std::popcount(bits & kOut) > 1)
    refuse("flags is " + std::to_string(flags) + "; required: at most one of the UPC_IN_ and one of the UPC_OUT_ flags");
}

void Checks::on_thread_0(const char* name, upc_shared p) const {
  if (p.thread != 0)
    refuse(std::string(name) + " has affinity to thread " + std::to_string(p.thread) + "; required: affinity to thread 0");
}

void Checks::at_least_1(const char* name, std::size_t value) const {
  if (value == 0) refuse(std::string(name) + " is 0; required: 1 or more");
}

void Checks::touches(const char* what, int thread, std::size_t address, std::size_t bytes, bool written) {
  if (bytes == 0) return;
  if (address == 0) refuse(std::string(what) + " is null; required: a pointer to shared memory");
  if (thread < 0 || thread >= thread_.threads)
    refuse(std::string(what) + " has affinity to thread " + std::to_string(thread) + "; required: a thread from 0 to " +
           std::to_string(thread_.threads - 1));
  std::size_t end = 0;
  const std::size_t most = 2 * thread_.segment->half();
  if (__builtin_add_overflow(address, bytes, &end) || end > most || address < Segment::kAlignment)
    refuse(std::string(what) + " covers " + std::to_string(bytes) + " bytes from address " + std::to_string(address) +
           " of thread " + std::to_string(thread_.number_of(thread)) + "; required: addresses from " +
           std::to_string(Segment::kAlignment) + " to " + std::to_string(most));
  spans_.resize(static_cast<std::size_t>(thread_.threads));
  spans_[static_cast<std::size_t>(thread)].push_back({address, end, written, what});
}

void Checks::no_overlap() {
  for (std::size_t thread = 0; thread < spans_.size(); ++thread)
    if (const auto overlap = communicator::first_overlap(spans_[thread]))
      refuse(overlap->text() + " on thread " + std::to_string(thread_.number_of(static_cast<int>(thread))) +
             "; required: no overlap");
}

upc_shared new_object(const Thread& thread, const char* function, const char* name, std::size_t bytes) {
  const upc_shared at = allocate_here(thread, bytes);
  if (upc_is_null(at))
    fail(thread, function, std::string("no memory is left for a ") + name + "; required: a larger COPSE_UPC_HEAP");
  return at;
}

upc_shared object_at(const Thread& thread, const char* function, const char* name, upc_shared at, const char* made_by) {
  if (!thread.segment->may_be_block(at))
    fail(thread, function, std::string("the ") + name + " is at " + text_of(at) + "; required: what " + made_by + " has returned");
  return at;
}

void must_not_be_null(const Thread& thread, const char* function, const char* name, upc_shared p) {
  if (upc_is_null(p)) fail(thread, function, std::string(name) + " is null; required: a pointer to shared memory");
}

void check_call(Thread& thread, const char* function) {
  if (thread.check) Checks(thread, function).compare();
}

}  // namespace copse::upc
