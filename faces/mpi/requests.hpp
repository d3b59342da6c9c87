// What lies behind an MPI_Request of Copse's, for nonblocking and persistent calls (docs/decisions/requests.md).
//
// The handle is a request of the MPI's own, so that the program can give it to any call of MPI. For a nonblocking call
// it is a generalized request, which Copse completes. For a persistent call it is a persistent receive from this
// process itself. When such a call is over, Copse starts the receive and sends to it. (A receive from MPI_PROC_NULL
// would be simpler, but MPICH then never takes the request for active, and Intel MPI always does.) So the calls that
// complete requests only have to see to it that Copse's calls end. They leave everything else to the MPI.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "operators.hpp"
#include "progress.hpp"
#include "state.hpp"

namespace copse::mpi {

// Returns MPI's error code for a call that is over.
inline int error_of(engine::Outcome outcome) {
  if (outcome == engine::Outcome::truncated) return MPI_ERR_TRUNCATE;
  return outcome == engine::Outcome::refused ? MPI_ERR_OTHER : MPI_SUCCESS;
}

class MpiRequest final : public GivenAway {
 public:
  // The work before a call and after it: packing and unpacking. Both return MPI's error code, which becomes the call's.
  using Load = std::function<int()>;
  using Store = std::function<int(engine::Outcome&)>;

  MpiRequest(CommState& state, const char* name, bool persistent);
  ~MpiRequest();  // not inline: else every blocking call, which has no request, would contain it
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;

  // Memory that the call owns as long as it needs it.
  SidesMemory memory;
  UserReduction user{};
  void keep(const Operator& op);

  // What this rank does with a persistent call. A rank that refuses it never starts it.
  enum class Part : std::uint8_t { makes, has_nothing_to_do, refuses };
  // Finds a stream of its own for a persistent call, with helpers if they can make it. If the program asserts that all ranks start
  // persistent calls in the same order, those without helpers share a stream. This is collective, and comes before open(). If no
  // stream is left, returns false on all ranks and gives the reason. Only a rank that makes the call knows all of its arguments.
  bool take_lane(const communicator::Arguments& arguments, Part part, std::string& why_not) {
    return stream_.take_lane(name_, arguments, part, why_not);
  }
  // Gives the stream up: the MPI has refused this rank's arguments, so this rank never starts the call. Other ranks may start it.
  void refuse_lane();
  // Opens a call whose arguments are known. Gives the program a handle, which then owns the request, and starts the
  // call unless it is persistent. Returns MPI's error code.
  static int open(std::unique_ptr<MpiRequest> request, const communicator::Arguments& arguments, Load load, Store store,
                  void* handle);
  // Opens a call that has nothing to do.
  static int open_idle(std::unique_ptr<MpiRequest> request, void* handle);

  // Returns the live request behind a handle, or null.
  static MpiRequest* find(MPI_Request handle);
  // Starts a persistent call again.
  void start();
  [[nodiscard]] bool persistent() const { return persistent_; }
  [[nodiscard]] bool pending() const { return stage_.load(std::memory_order_acquire) == Stage::pending; }
  // Moves a pending call on. If the call is over, ends it and completes the MPI's request. Returns true if the call is
  // no longer pending.
  bool settle();
  // These serve a call that is over: its error, the communicator on which to raise it, and a note that this has been
  // done.
  [[nodiscard]] int error() const { return stage_.load(std::memory_order_acquire) == Stage::idle ? error_ : MPI_SUCCESS; }
  [[nodiscard]] MPI_Comm answers_for() const;
  void told();
  // Frees the program's handle. A pending call still runs to its end.
  int free(MPI_Request* handle);
  // Keeps the call's trace. `states` holds the communicators whose traces have been kept.
  void remember_calls(std::set<const CommState*>& states) const;
  void free_pending() override;

 private:
  enum class Stage : std::uint8_t { idle, pending, ending };

  static int query(void* self, MPI_Status* status);
  static int drop(void* self);
  static int cancel(void* self, int complete);
  int make_handle(MPI_Request* handle);
  [[nodiscard]] bool is_under_way() const;
  [[nodiscard]] std::string why_not_served() const;
  [[nodiscard]] bool is_seen_under_way();
  void leave_table();
  void end();

  // Where the call runs.
  struct Stream {
    std::shared_ptr<CommState> state;
    std::shared_ptr<communicator::Communicator> lane{};  // null: the call runs on the communicator's own stream
    bool without_lane = false;  // no stream was left
    communicator::Communicator* served = nullptr;  // the state's stream in which helpers make a started call; null: they do not

    [[nodiscard]] communicator::Communicator& copse() const { return lane ? *lane : served != nullptr ? *served : *state->copse; }
    bool take_lane(const char* name, const communicator::Arguments& arguments, Part part, std::string& why_not);
  };
  // What the call does. It does nothing if `load` is empty.
  struct Work {
    communicator::Arguments arguments;
    engine::Combine combine;
    std::shared_ptr<void> op;  // keeps the program's operator alive
    Load load;
    Store store;
  };

  Stream stream_;
  const char* name_;
  bool persistent_;
  Work work_;
  std::shared_ptr<communicator::Job> job_;  // a persistent call keeps it for all its starts; threads may share it
  MPI_Request handle_{};
  std::atomic<Stage> stage_{Stage::idle};
  std::atomic<int> lookers_{0};  // threads that look at the job at the moment
  int error_ = MPI_SUCCESS;
};

// Call the first once, after MPI_Init. In MPI_Finalize, call the second to end the requests that the program has given
// away, and then the third to keep the traces of requests that still exist: a session may yet start them.
void prepare_requests();
void finish_requests();
void remember_requests();

// Puts off the free of an operator until no call needs it. Returns true if the operator was freed or will be.
bool free_later(MPI_Op op);

}  // namespace copse::mpi
