// Runs the jobs of a stream of calls. A job begins with the arguments of a call. The ranks may have to tell one another sizes
// first. Then programs run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "communicator/group.hpp"
#include "communicator/job.hpp"
#include "communicator/routes.hpp"
#include "engine/executor.hpp"

namespace copse::communicator {

// Tells whether a call is in place although the same place means different blocks in input and output.
inline bool displaced(const Arguments& arguments) {
  return arguments.input == arguments.output && algorithms::has<&algorithms::Traits::displaced>(arguments.collective);
}

class Jobs {
 public:
  // Must be called before anything else.
  void begin_in(const Group& group, engine::Executor& executor, Routes& routes);

  // Begins a call with these arguments, which stay until it is over. Its number stands in the job. `settled` says that no call is
  // under way. The call may be over afterwards.
  void begin(Job& job, const Arguments& arguments, bool settled);
  // Moves a job on as far as it gets. With `polling`, it never waits.
  Outcome advance(Job& job, bool polling);

  // Runs a blocking call from beginning to end.
  Outcome run(const Arguments& arguments, std::uint64_t number);
  // Describes a call in which every rank tells the sizes of the blocks that it gives to those whom they concern, and to nobody
  // else.
  void describe_without_sizes(engine::Call& call, const Arguments& arguments) const;
  // Goes on with such a blocking call when its program has run, but not all blocks have come as letters.
  Outcome run_after_letters(const Arguments& arguments, std::uint64_t number);

  // The job of blocking calls. It says how the last one of those that needed a job ended.
  [[nodiscard]] Job& blocking() { return blocking_; }
  [[nodiscard]] const Job& blocking() const { return blocking_; }
  // The collective of the call that ran last.
  algorithms::Collective running{};

 private:
  void begin_alone(Job& job) const;
  void ask(Job& job, Job::Stage stage, algorithms::Collective collective, const void* input, void* output, std::size_t bytes,
           int root = 0);
  void tell_size(Job& job);
  void read_letters(Job& job);
  void take_sizes(Job& job);
  void bind(Job& job, bool settled);
  void set_aside(Job& job) const;
  void note_too_long(Job& job, std::size_t count) const;
  void make_alike(Job& job) const;
  [[nodiscard]] bool runs_as_blocking(const Job& job) const;
  [[nodiscard]] Route& route_of(const Job& job);
  Outcome to_the_end(Job& job) { return job.stage == Job::Stage::over ? job.outcome : advance(job, false); }
  Outcome advance_untimed(Job& job, bool polling);
  [[nodiscard]] Outcome verdict(Job& job) const;

  const Group* group_ = nullptr;
  engine::Executor* executor_ = nullptr;
  Routes* routes_ = nullptr;
  Job blocking_;
};

}  // namespace copse::communicator
