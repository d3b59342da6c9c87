// A communicator: what the faces call. It binds a call's arguments, asks the chooser, finds or builds the plan,
// and runs it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "choose/settings.hpp"
#include "communicator/arguments.hpp"
#include "communicator/bootstrap.hpp"
#include "communicator/progress.hpp"
#include "communicator/trace.hpp"
#include "engine/combine.hpp"
#include "engine/executor.hpp"

namespace copse::communicator {

using engine::Outcome;

struct Job;

// What was agreed when the communicator was made, and what was lost and why: for `info`, `--trace` and errors.
struct Capabilities {
  int nodes = 1;                // nodes that the ranks sit on
  int ranks_here = 1;           // ranks on this node
  bool threads = false;         // all ranks of every node are threads of one process
  bool heap = false;            // every rank's shared heap is mapped by every rank of its node
  bool kernel = false;          // process_vm_readv and _writev work between all ranks of every node
  bool oversubscribed = false;  // more ranks than processors on some node
  bool streamed = false;        // slots are written past the caches at first
  std::string heap_why_not, kernel_why_not;
};

class Communicator {
 public:
  // Collective over the bootstrap's ranks. Null, with the reason, when Copse cannot help these ranks: every rank
  // then gets null. `wire` may be null; then all ranks must sit on one node. `bootstrap` and `wire` are kept.
  // `settings` must be the same on all ranks (it comes from the environment; differences are found and refused).
  // `progress` is what this rank's communicators share.
  static std::unique_ptr<Communicator> create(std::unique_ptr<Bootstrap> bootstrap, std::unique_ptr<engine::Wire> wire,
                                              const choose::Settings &settings, std::string &why_not,
                                              std::shared_ptr<Progress> progress = std::make_shared<Progress>());
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] const Capabilities &capabilities() const;

  // Blocking. Reductions hand `combine` operands in rank order unless it is commutative. After an outcome of which
  // engine::is_over is false the communicator is unusable: all later calls end alike.
  Outcome run(const Arguments &arguments);

  // Non-blocking: everything that the arguments point to, tables and operator apart, must stay until the call is over.
  // All ranks start calls, blocking ones included, in the same order. They go on in any call on any communicator with the
  // same Progress; test says Outcome::pending as long as there is something left. Several threads may test and wait.
  std::shared_ptr<Job> start(const Arguments &arguments);
  // A job whose last call is over may be started again.
  static std::shared_ptr<Job> make_job();
  void start(const std::shared_ptr<Job> &job, const Arguments &arguments);
  Outcome test(const Job &job);
  Outcome poll(const Job &job);  // as test, but moves no other communicator on
  Outcome wait(const Job &job);

  // Instead of a call that all ranks make elsewhere, or that has nothing to do. Returns the call's number.
  std::uint64_t pass();
  // After that: the other ranks may make the call of that number here, and this one does not. Theirs end as refused if they need
  // this rank for it, and the next call of each is matched with the next of all. Between nodes it does nothing.
  void refuse(std::uint64_t number);
  // The same for all calls of this stream: it is a lane, for a call that this rank could not describe.
  void refuse_all();

  // A stream of calls beside this one, among the same ranks: its calls need no order with those of others. Collective, as
  // create is. Null, on all ranks, with the reason, if there cannot be another. Of its methods, only start, test, poll,
  // wait and explain; when it dies, no call of it may be under way.
  std::unique_ptr<Communicator> lane(std::string &why_not);
  // Collective, as create is: do all ranks say so? No if the ranks cannot be gathered.
  bool all_say(bool yes);

  // Are calls that were started under way, in this stream or one beside it?
  [[nodiscard]] bool under_way() const;

  // This rank makes no more calls: those of ranks of its node that wait for it end with peer_failed.
  void give_up();

  // The commonest, spelt out.
  Outcome barrier();
  Outcome broadcast(void *buffer, std::size_t bytes, int root);
  Outcome reduce(const void *input, void *output, std::size_t count, std::size_t element_bytes,
                 const engine::Combine &combine, int root);
  Outcome allreduce(const void *input, void *output, std::size_t count, std::size_t element_bytes,
                    const engine::Combine &combine);

  // Elements larger than this cannot be cut into fragments: such calls are the caller's to pass on.
  [[nodiscard]] static std::size_t element_bytes_max();

  // COPSE_CHECK: compares what all ranks are about to call; collective, before the call itself. `operation`
  // names operator and type ("SUM of DOUBLE"). Returns an empty string, or a line that names the two ranks that
  // differ and what each called.
  std::string compare(const Arguments &arguments, const char *operation);
  // In its stead on a rank whose call was refused, so that the others do not wait for it: they are told why.
  // Were those of all ranks?
  bool compare_refused(const char *why);

  // In a line. Of a call that was started, with its job; else of the last one.
  [[nodiscard]] std::string explain(Outcome outcome, const Job *job = nullptr) const;
  // Names a rank of this node whose process has ended; empty if there is none.
  [[nodiscard]] std::string who_has_ended() const;
  [[nodiscard]] Trace trace() const;  // its own, and of lanes that are gone

 private:
  struct State;
  explicit Communicator(std::unique_ptr<State> state);
  [[nodiscard]] std::string has_ended_text(int rank) const;
  std::unique_ptr<State> state_;
};

}  // namespace copse::communicator
