// Calls that were started, and persistent ones: what lies behind an MPI_Request of Copse's
// (docs/decisions/requests.md).
//
// The handle is one of the MPI's own, so that every call of the MPI's may have it: of a call that was started a
// generalized request, which Copse completes; of a persistent one a persistent receive from this process
// itself, which Copse starts, and sends to, when the call is over (from MPI_PROC_NULL would be simpler, but MPICH then
// never takes it for active, and Intel MPI always does). So what completes requests must only see to it that Copse's calls come
// to their end, and can then leave everything else to the MPI.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>

#include "operators.hpp"
#include "progress.hpp"
#include "state.hpp"

namespace copse::mpi {

// MPI's error for a call that is over all the same.
inline int error_of(engine::Outcome outcome) {
  if (outcome == engine::Outcome::truncated) return MPI_ERR_TRUNCATE;
  return outcome == engine::Outcome::refused ? MPI_ERR_OTHER : MPI_SUCCESS;
}

class Request final : public GivenAway {
 public:
  // What a call does before it runs and after it: packs and unpacks. Both return MPI's error code, which becomes the call's.
  using Load = std::function<int()>;
  using Store = std::function<int(engine::Outcome &)>;

  Request(CommState &state, const char *name, bool persistent);
  Request(const Request &) = delete;
  Request &operator=(const Request &) = delete;

  // Memory of the call's own, for as long as it needs it.
  SideMemory input, output;
  UserReduction user{};
  void keep(const Operator &op);

  // Persistent, and before open: finds the call a stream of its own, unless the program asserts that all ranks start such
  // calls in one order. Collective. False, on all ranks, with the reason, if there is none left.
  bool take_lane(std::string &why_not);
  // This rank will never start the call, because the MPI has refused its arguments; others may.
  void refuse_lane();
  // The call is known: gives the program a handle, and starts the call unless it is persistent. The request then belongs to
  // that handle. Returns what MPI is to return.
  static int open(std::unique_ptr<Request> request, const communicator::Arguments &arguments, Load load, Store store,
                  void *handle);
  // The same for a call that has nothing to do.
  static int open_idle(std::unique_ptr<Request> request, void *handle);

  // The living request behind a handle, or null.
  static Request *find(MPI_Request handle);
  // Persistent: begins anew.
  void start();
  [[nodiscard]] bool persistent() const { return persistent_; }
  [[nodiscard]] bool pending() const { return stage_.load(std::memory_order_acquire) == Stage::pending; }
  // Lets a pending call go on; if it is over, ends it and tells the MPI. True if it is not pending any more.
  bool settle();
  // Of a call that is over: its error, and on which communicator that is to be raised. told(): that has been done.
  [[nodiscard]] int error() const { return stage_.load(std::memory_order_acquire) == Stage::idle ? error_ : MPI_SUCCESS; }
  [[nodiscard]] MPI_Comm answers_for() const;
  void told();
  // The program gives its handle away. What is pending comes to its end all the same.
  int free(MPI_Request *handle);
  // For the trace; of each communicator once.
  void remember_calls(std::set<const CommState *> &states) const;
  void free_pending() override;

 private:
  enum class Stage : std::uint8_t { idle, pending, ending };

  static int query(void *self, MPI_Status *status);
  static int drop(void *self);
  static int cancel(void *self, int complete);
  int make_handle(MPI_Request *handle);
  [[nodiscard]] bool is_under_way() const;
  void leave_table();
  void end();

  [[nodiscard]] communicator::Communicator &stream() const { return lane_ ? *lane_ : *state_->copse; }

  std::shared_ptr<CommState> state_;
  std::unique_ptr<communicator::Communicator> lane_;  // null: the communicator's own stream
  bool without_lane_ = false;                         // there was none left
  const char *name_;
  bool persistent_;
  communicator::Arguments arguments_;
  engine::Combine combine_;
  Load load_;
  Store store_;
  std::shared_ptr<void> op_;
  std::shared_ptr<communicator::Job> job_;  // of a persistent call, for all its starts: several threads may look at it
  MPI_Request handle_{};
  std::atomic<Stage> stage_{Stage::idle};
  int error_ = MPI_SUCCESS;
};

// Once, after MPI_Init; in MPI_Finalize, to end what the program has given away; and then, for the trace, what ran by requests
// that it has left: a session may start them still.
void prepare_requests();
void finish_requests();
void remember_requests();

// An operator that the program frees while calls need it goes when they are over. True: it was freed, or will be.
bool free_later(MPI_Op op);

}  // namespace copse::mpi
