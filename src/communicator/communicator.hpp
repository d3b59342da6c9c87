// A communicator is what the faces call. It binds a call's arguments, asks the chooser, finds or builds the plan, and runs it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "choose/settings.hpp"
#include "communicator/arguments.hpp"
#include "communicator/bootstrap.hpp"
#include "communicator/capabilities.hpp"
#include "communicator/progress.hpp"
#include "communicator/trace.hpp"
#include "engine/combine.hpp"
#include "engine/executor.hpp"
#include "topology/placement.hpp"

namespace copse::communicator {

struct Job;
struct Founded;
struct Kin;
struct KinWord;
class KinOffer;

class Communicator {
 public:
  // Makes a communicator of the bootstrap's ranks. This is collective. If Copse cannot help these ranks, every rank gets null
  // and the reason. `wire` may be null if all ranks sit on one node. `bootstrap` and `wire` are kept. `settings` must be the
  // same on all ranks; it comes from the environment, and differences are found and refused. `progress` is what this rank's
  // communicators share. The last `settings.helpers` ranks make no calls, but serve those of the others, which are the callers.
  static std::unique_ptr<Communicator> create(std::unique_ptr<Bootstrap> bootstrap, std::unique_ptr<engine::Wire> wire,
                                              const choose::Settings& settings, std::string& why_not,
                                              std::shared_ptr<Progress> progress = std::make_shared<Progress>());
  // Takes part in the making of a communicator only to tell the other ranks that this rank has a mistake in its variables.
  static void decline(Bootstrap& bootstrap);
  // Makes a communicator of the same ranks in the same order as others, among which it is made (kin_offer.hpp). All ranks have
  // gathered `words`, and KinOffer::is_common says yes. This is collective. If there is no memory for it, every rank gets null and
  // still has `bootstrap`.
  static std::unique_ptr<Communicator> create_among(const KinOffer& offer, std::span<const KinWord> words,
                                                    std::unique_ptr<Bootstrap>& bootstrap, const choose::Settings& settings,
                                                    std::shared_ptr<Progress> progress);
  // Returns the kin of this communicator, or null if none can be made among them.
  [[nodiscard]] std::shared_ptr<Kin> kin() const;
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] const Capabilities& capabilities() const;
  [[nodiscard]] const topology::Placement& places() const;  // where each rank sits

  // Makes a blocking call. The outcome may be `outside` if Settings::mpi is set: then nothing was done, on any rank, and the caller
  // has the MPI make the call. Reductions give `combine` its operands in rank order unless it is commutative. If engine::is_over is
  // false for the outcome, the communicator is unusable from then on, and all later calls end with the same outcome.
  Outcome run(const Arguments& arguments);
  // Makes a blocking call whose caller knows where all buffers lie, with less synchronisation. The call has no table and no
  // operator. Modes and window are the same on all ranks.
  Outcome run(const Arguments& arguments, const Relaxation& relaxation);

  // Starts a call that does not block. Everything that the arguments point to must stay until the call is over, except tables,
  // operator and permutation. All ranks must start their calls in the same order, blocking calls included. A started call goes
  // on in any call on any communicator with the same Progress. test() returns Outcome::pending as long as something is left.
  // Several threads may test and wait.
  std::shared_ptr<Job> start(const Arguments& arguments);
  // make_job() makes a job for start(). A job whose last call is over may be started again.
  static std::shared_ptr<Job> make_job();
  void start(const std::shared_ptr<Job>& job, const Arguments& arguments);
  Outcome test(const Job& job);
  Outcome poll(const Job& job);  // like test(), but moves no other communicator on
  Outcome wait(const Job& job);

  // Counts a call that this rank does not make here, because all ranks make it elsewhere or because it has nothing to do.
  // Returns the call's number. `may_wait`: the call is a blocking one, on all ranks.
  std::uint64_t pass(bool may_wait);
  // Follows a run() that ended as `outside`, once the MPI has made the call.
  void outside_is_over();
  // Says that this rank does not make the call with this number, which pass() has returned. The other ranks may make it here.
  // Their calls end as `refused` if they need this rank. After that, the next calls of all ranks match again. Between nodes
  // this only keeps messages that this rank should have taken away from other communicators.
  void refuse(std::uint64_t number);
  // Refuses all calls of this stream. The stream is a lane for a call that this rank could not describe.
  void refuse_all();

  // Makes a stream of calls beside this one, among the same ranks. Its calls need no common order with those of other streams.
  // This is collective, as create() is, but a communicator with helpers has made its lanes already (Settings::streams). If there
  // cannot be another stream, all ranks get null and the reason. In a lane, calls are started or served, and not run. None of its
  // calls may be under way when it is destroyed.
  std::unique_ptr<Communicator> lane(std::string& why_not);
  // Says which ranks are neighbours: who gives to whom in neighbor_alltoall. All ranks must say the same, once, before the first
  // such call of any stream.
  void connect(algorithms::Graph graph);
  // Tells whether all ranks say `yes`. This is collective, as create() is. Returns false if the ranks cannot be gathered.
  bool all_say(bool yes);

  // Lets the communicators of this rank with the same Progress give back memory, if they have made no call since this was called
  // last. They get it again with their next call. No other thread may be in their calls. create() does this itself where the
  // Progress has one thread.
  void let_rest();

  // Tells whether started calls are under way in this stream or one beside it.
  [[nodiscard]] bool under_way() const;

  // Tells whether helpers can serve a call with these arguments, which so many callers make. The answer is the same on all callers.
  // Only such calls may be made on a communicator with helpers. They must be started, not run.
  [[nodiscard]] static bool can_serve(const Arguments& arguments, int callers);
  // Tells whether helpers can serve some calls of this collective.
  [[nodiscard]] static bool can_serve_some(algorithms::Collective collective);
  // Only helpers call this, and they make no calls. Takes this rank's part in the callers' next call, as far as it gets without
  // waiting. `job` comes from make_job(), and is always the same job. The result `ended` means that there will be no more calls,
  // or that the communicator is unusable.
  enum class Served : std::uint8_t { nothing, moved, ended };
  // With `looks_at_all`, it looks at the orders of all callers. Otherwise it may need several looks to find an order.
  Served serve(const std::shared_ptr<Job>& job, bool looks_at_all = false);
  // Only helpers call this. Tells, between two calls, whether the first caller of this node has ended, which is the rank that sends
  // helpers home.
  [[nodiscard]] bool is_forsaken() const;

  // Says that this rank makes no more calls. If ranks of its node wait for it in a call, the call ends as `peer_failed`.
  void give_up();

  // Shorthands for the most common calls.
  Outcome barrier();
  Outcome broadcast(void* buffer, std::size_t bytes, int root);
  Outcome reduce(const void* input, void* output, std::size_t count, std::size_t element_bytes, const engine::Combine& combine,
                 int root);
  Outcome allreduce(const void* input, void* output, std::size_t count, std::size_t element_bytes, const engine::Combine& combine);

  // Returns the largest size of an element. Larger elements cannot be cut into fragments, so the caller must pass on calls with
  // them.
  [[nodiscard]] static std::size_t element_bytes_max();

  // For COPSE_CHECK: compares what all ranks are about to call. This is collective and comes before the call itself.
  // `operation` names operator and type ("SUM of DOUBLE"). Returns an empty string, or a line that names two ranks that differ
  // and what each of them called.
  std::string compare(const Arguments& arguments, const char* operation);
  // A rank whose call was refused calls this in place of compare(). So the others do not wait for it, and they are told why.
  // Returns whether the calls of all ranks were refused.
  bool compare_refused(const char* why);

  // Explains an outcome in a line. `job` is that of a started call. Without a job, the line is about the last call.
  [[nodiscard]] std::string explain(Outcome outcome, const Job* job = nullptr) const;
  // Names a rank of this node whose process has ended. The text is empty if there is none.
  [[nodiscard]] std::string who_has_ended() const;
  // If COPSE_LEARNED names a file, rank 0 writes there what was learned on this communicator. Returns what went wrong; an empty
  // text if nothing did.
  [[nodiscard]] std::string save_lessons() const;
  [[nodiscard]] Trace trace() const;  // of its own calls, and of lanes that are gone

 private:
  struct State;
  explicit Communicator(std::unique_ptr<State> state);
  bool begin(Founded founded) noexcept;  // false: nothing was founded
  [[nodiscard]] std::string has_ended_text(int rank) const;
  std::unique_ptr<State> state_;
};

}  // namespace copse::communicator
