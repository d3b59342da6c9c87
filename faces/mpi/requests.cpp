// The life of a request: its handle, its start, its end, and objects that the program frees early.
#include "requests.hpp"

#include <sched.h>

#include <mutex>
#include <new>
#include <set>
#include <unordered_map>
#include <utility>

#include "bootstrap.hpp"
#include "helpers.hpp"
#include "helpers_meeting.hpp"
#include "joining.hpp"
#include "report.hpp"
#include "request_table.hpp"
#include "settings.hpp"

namespace copse::mpi {

using engine::Outcome;

namespace {

std::mutex mutex;  // guards what follows; never held across a call of the MPI
// The table and the map below are never destroyed (session.hpp).
auto& table = *new RequestTable<MpiRequest>;
struct HeldOp {
  MPI_Op op;
  bool freed = false;
  explicit HeldOp(MPI_Op held) : op(held) {}
  HeldOp(const HeldOp&) = delete;
  HeldOp& operator=(const HeldOp&) = delete;
  ~HeldOp() {
    if (freed) real().Op_free(&op);
  }
};
auto& held_ops = *new std::unordered_map<Raw, std::weak_ptr<HeldOp>>;

MPI_Comm alone{};  // of this process alone; persistent requests receive from it
bool several_threads = false;  // may call at once

// The MPI makes progress when one of its requests is tested. This request serves that purpose and never ends.
MPI_Request never{};
int answer_nothing(void*, MPI_Status*) { return MPI_SUCCESS; }
int drop_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

void poke_mpi() {
  static std::atomic<bool> poking{false};
  if (poking.exchange(true, std::memory_order_acquire)) return;
  int flag = 0;
  real().Test(&never, &flag, MPI_STATUS_IGNORE);
  poking.store(false, std::memory_order_release);
}

// The key is that of MPI-4.1 6.13. Open MPI's keys are shorter than this one, so no program can have set it there.
bool asserts_strict_order(MPI_Comm comm) {
  static constexpr char kKey[] = "mpi_assert_strict_persistent_collective_ordering";
  if constexpr (sizeof kKey > MPI_MAX_INFO_KEY) return false;
  MPI_Info info{};
  char value[8] = "";
  int set = 0;
  if (real().Comm_get_info_(comm, &info) != MPI_SUCCESS) return false;
  real().Info_get_(info, kKey, static_cast<int>(sizeof value) - 1, value, &set);
  real().Info_free_(&info);
  return set != 0 && std::string_view(value) == "true";
}

std::atomic<int> served_calls{0};  // persistent calls that helpers serve

// Frees the communicator of a persistent call, and keeps its trace.
void let_go(communicator::Communicator* over) {
  try {
    remember(over->trace());
  } catch (const std::bad_alloc&) {  // the trace then lacks this communicator
  }
  delete over;
  --served_calls;
}

// Makes a communicator with helpers for one persistent call. Helpers look at every communicator in turn, so they serve only a few
// such calls at a time. Collective; the result is null on all ranks if one of them does not want it or has enough.
std::shared_ptr<communicator::Communicator> served_lane(CommState& state, bool wanted) {
  constexpr int kMost = 16;
  if (!state.copse->all_say(wanted && served_calls < kMost)) return nullptr;
  const AskingMpi guard;
  MpiBootstrap callers(state.comm);
  callers.settle({}, [&] { return state.copse->who_has_ended().empty(); });
  const std::unique_ptr<communicator::ServedStreams> met = meet_helpers(callers, state.hosts, 1);
  if (met == nullptr) return nullptr;
  ++served_calls;
  const std::shared_ptr<communicator::Communicator> lane(met->release().front().release(), let_go);
  std::erase_if(state.served_lanes, [](const auto& each) { return each.expired(); });
  state.served_lanes.push_back(lane);
  return lane;
}

}  // namespace

void prepare_requests() {
  real().Grequest_start_(answer_nothing, drop_nothing, cancel_nothing, nullptr, &never);
  real().Comm_split_(MPI_COMM_SELF, 0, 0, &alone);
  progress()->set_other(poke_mpi);
  int level = MPI_THREAD_SINGLE;
  real().Query_thread_(&level);
  several_threads = level == MPI_THREAD_MULTIPLE;
  if (several_threads) {
    progress()->let_any_thread_send();
  } else {
    progress()->take_one_thread();
  }
  if (!settings().progress_thread) return;
  note("progress", !progress()->ask_for_help()    ? "only in calls: the system could not create a thread"
                   : level == MPI_THREAD_MULTIPLE ? "by a thread of Copse's own"
                                                  : "by a thread of Copse's own; between nodes only if the program asks "
                                                    "for MPI_THREAD_MULTIPLE");
}

void finish_requests() {
  progress()->until([] {
    end_given_away();
    return none_given_away();
  });
  progress()->dismiss_helper();
  progress()->set_other(nullptr);
  real().Grequest_complete_(never);
  real().Request_free(&never);
  // A session may outlive MPI_Finalize and start its persistent requests, which need `alone`.
  if (!requests_known()) real().Comm_free_(&alone);
}

void remember_requests() {
  std::set<const CommState*> states;
  const std::lock_guard lock(mutex);
  for (const MpiRequest* request : table.all()) request->remember_calls(states);
}

void MpiRequest::remember_calls(std::set<const CommState*>& states) const {
  if (!persistent_) return;
  if (states.insert(stream_.state.get()).second) remember(*stream_.state);
  if (stream_.lane && stream_.lane != stream_.state->strict_lane) remember(stream_.lane->trace());
}

// Handles -----------------------------------------------------------------------------------------------------------

MpiRequest::MpiRequest(CommState& state, const char* name, bool persistent)
    : stream_{state.shared_from_this()}, name_(name), persistent_(persistent) {
  memory.input.outlives = memory.output.outlives = true;
}

MpiRequest::~MpiRequest() = default;

void MpiRequest::keep(const Operator& op) {
  if (op.predefined) return;
  const std::lock_guard lock(mutex);
  std::weak_ptr<HeldOp>& known = held_ops[raw_of(op.handle)];
  std::shared_ptr<HeldOp> held = known.lock();
  if (!held) known = held = std::make_shared<HeldOp>(op.handle);
  work_.op = std::move(held);
}

bool free_later(MPI_Op op) {
  std::shared_ptr<HeldOp> held;  // may be the last one; then the MPI is called after the lock is given back
  const std::lock_guard lock(mutex);
  const auto at = held_ops.find(raw_of(op));
  if (at == held_ops.end()) return false;
  held = at->second.lock();
  held_ops.erase(at);
  if (!held) return false;
  held->freed = true;
  return true;
}

MpiRequest* MpiRequest::find(MPI_Request handle) {
  const std::lock_guard lock(mutex);
  return table.find(raw_of(handle));
}

int MpiRequest::make_handle(MPI_Request* handle) {
  const int result = persistent_ ? real().Recv_init_(nullptr, 0, MPI_BYTE, 0, 0, alone, handle)
                                 : real().Grequest_start_(query, drop, cancel, this, handle);
  if (result != MPI_SUCCESS) return result;
  handle_ = *handle;
  const std::lock_guard lock(mutex);
  table.insert(raw_of(handle_), this);
  detail::known_requests.fetch_add(1, std::memory_order_release);
  return result;
}

bool MpiRequest::Stream::take_lane(const char* name, const communicator::Arguments& arguments, Part part, std::string& why_not) {
  if (without_lane) return false;
  // If a rank has ended, an exchange with it remains unfinished, and the MPI may still write into its memory. So the
  // program must end.
  const auto end_if_a_rank_has_ended = [&] {
    if (const std::string ended = state->copse->who_has_ended(); !ended.empty()) give_up(*state, name, ended);
  };
  if (!state->strict_order) {
    state->strict_order = state->copse->all_say(asserts_strict_order(state->comm));
    if (!*state->strict_order) end_if_a_rank_has_ended();
  }
  if (state->may_serve(arguments.collective)) {
    lane = served_lane(*state, part == Part::makes && communicator::Communicator::can_serve(arguments, state->ranks));
    if (lane != nullptr) return true;
    end_if_a_rank_has_ended();
  }
  // The order that the program asserts is that among persistent calls. Other calls may stand elsewhere in it on each rank. A
  // request that some rank has refused gets a lane of its own, in which all its calls are refused.
  // The program may also have taken its word back.
  const bool shares = *state->strict_order && state->copse->all_say(part != Part::refuses && asserts_strict_order(state->comm));
  if (shares) lane = state->strict_lane;
  if (lane == nullptr) lane = state->copse->lane(why_not);
  if (lane == nullptr) end_if_a_rank_has_ended();
  if (shares) state->strict_lane = lane;
  without_lane = lane == nullptr;
  return !without_lane;
}

void MpiRequest::refuse_lane() {
  if (stream_.lane == nullptr || stream_.lane == stream_.state->strict_lane) return;
  stream_.lane->refuse_all();
  stream_.lane.reset();
}

int MpiRequest::open(std::unique_ptr<MpiRequest> request, const communicator::Arguments& arguments, Load load, Store store,
                     void* handle) {
  Work& work = request->work_;
  work.arguments = arguments;
  if (arguments.combine != nullptr) {
    work.combine = *arguments.combine;
    work.arguments.combine = &work.combine;
  }
  work.load = std::move(load);
  work.store = std::move(store);
  return open_idle(std::move(request), handle);
}

int MpiRequest::open_idle(std::unique_ptr<MpiRequest> request, void* handle) {
  const int result = request->make_handle(static_cast<MPI_Request*>(handle));
  if (result != MPI_SUCCESS) {
    if (request->persistent_) request->refuse_lane();
    else if (request->work_.load)
      request->stream_.state->refuse(request->stream_.state->pass(true, request->work_.arguments.collective));
    return result;
  }
  MpiRequest* const opened = request.release();  // it now belongs to its handle
  if (!opened->persistent_) opened->start();
  return MPI_SUCCESS;
}

void MpiRequest::start() {
  told();  // MPICH 4's MPI_Testall may have completed this request where nobody could tell (failures.hpp)
  if (work_.load) {
    // Another thread may already wait in the MPI, which knows nothing of this call. The thread that starts the call may wait for
    // that thread.
    if (several_threads) progress()->watch();
    error_ = work_.load();
    if (!job_) job_ = communicator::Communicator::make_job();
    if (const CommState& state = *stream_.state; !persistent_ && state.served) {
      const bool served = communicator::Communicator::can_serve(work_.arguments, state.ranks);
      communicator::Communicator* const stream = state.next_stream(work_.arguments.collective);
      if (served) state.copse->pass(false), stream_.served = stream;
      else if (stream != nullptr) stream->pass(false);
      if (!served && settings().trace) note(kHelpers, why_not_served());
    }
    stream_.copse().start(job_, work_.arguments);
  }
  detail::pending_requests.fetch_add(1, std::memory_order_release);
  stage_.store(Stage::pending, std::memory_order_release);
}

std::string MpiRequest::why_not_served() const {
  const bool users = work_.arguments.combine != nullptr && work_.arguments.combine->user != nullptr;
  const bool uneven = work_.arguments.ragged && communicator::Communicator::can_serve_some(work_.arguments.collective);
  const char* const why = users ? " with an operator of the program" : uneven ? " with blocks of different sizes" : "";
  return std::string(name_) + why + " runs as without them";
}

bool MpiRequest::is_under_way() const { return job_ && stream_.copse().poll(*job_) == Outcome::pending; }

// Several threads may look at one request (MPI_Request_get_status). The one that ends it waits until no other looks.
bool MpiRequest::is_seen_under_way() {
  if (!several_threads) return is_under_way();
  struct Look {  // is taken back even where the thread is cancelled
    std::atomic<int>& lookers;
    explicit Look(std::atomic<int>& all) : lookers(all) { lookers.fetch_add(1); }
    Look(const Look&) = delete;
    Look& operator=(const Look&) = delete;
    ~Look() { lookers.fetch_sub(1); }
  };
  const Look look(lookers_);
  return stage_.load() == Stage::pending && is_under_way();
}

bool MpiRequest::settle() {
  Stage stage = stage_.load(std::memory_order_acquire);
  if (stage == Stage::pending) {
    if (is_seen_under_way()) return false;
    if (stage_.compare_exchange_strong(stage, Stage::ending)) {
      if (!is_under_way()) {
        end();
        return true;
      }
      stage_.store(Stage::pending, std::memory_order_release);  // another thread has ended and restarted it meanwhile
      return false;
    }
  }
  return stage == Stage::idle;
}

void MpiRequest::end() {
  Outcome outcome = Outcome::done;
  if (job_) {
    outcome = stream_.copse().poll(*job_);
    const int error = work_.store(outcome);
    if (error_ == MPI_SUCCESS) error_ = error;
    if (!engine::is_over(outcome)) give_up(*stream_.state, name_, stream_.copse().explain(outcome, job_.get()));
    if (outcome == Outcome::refused) note(name_, stream_.copse().explain(outcome, job_.get()));
    if (error_ == MPI_SUCCESS) error_ = error_of(outcome);
  }
  const bool failed = error_ != MPI_SUCCESS;  // a failed call counts as pending until its error has been reported
  if (failed) detail::failed_requests.fetch_add(1, std::memory_order_release);
  if (persistent_) {
    real().Start(&handle_);
    real().Send(nullptr, 0, raw_of(MPI_BYTE), 0, 0, raw_of(alone));
    stage_.store(Stage::idle, std::memory_order_release);
    if (!failed) detail::pending_requests.fetch_sub(1, std::memory_order_release);
    return;
  }
  while (lookers_.load() != 0) sched_yield();
  job_.reset();
  work_.load = nullptr;
  work_.store = nullptr;
  work_.op.reset();
  memory = {};
  if (!failed) stream_.state.reset();
  MPI_Request handle = handle_;  // a copy: once the MPI knows, another thread may delete this object
  stage_.store(Stage::idle, std::memory_order_release);
  real().Grequest_complete_(handle);
  if (!failed) detail::pending_requests.fetch_sub(1, std::memory_order_release);
}

MPI_Comm MpiRequest::answers_for() const {
  const CommState* state = stream_.state.get();
  return state != nullptr && !state->freed ? state->comm : MPI_COMM_SELF;
}

void MpiRequest::told() {
  if (std::exchange(error_, MPI_SUCCESS) == MPI_SUCCESS) return;
  detail::failed_requests.fetch_sub(1, std::memory_order_release);
  detail::pending_requests.fetch_sub(1, std::memory_order_release);
}

int MpiRequest::free(MPI_Request* handle) {
  if (!settle()) {
    give_away(this);
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  if (!persistent_) return real().Request_free(handle);  // the MPI calls drop() when it frees the request
  told();
  leave_table();  // must be first: another thread may get this handle next
  const int result = real().Request_free(handle);
  delete this;
  return result;
}

void MpiRequest::free_pending() {
  MPI_Request handle = handle_;
  free(&handle);
}

// Callbacks of the MPI for a generalized request --------------------------------------------------------------------

int MpiRequest::query(void*, MPI_Status* status) {
  real().Status_set_elements_(status, MPI_BYTE, 0);
  real().Status_set_cancelled_(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  return MPI_SUCCESS;  // failures.hpp reports errors
}

int MpiRequest::drop(void* self) {
  auto* const request = static_cast<MpiRequest*>(self);
  request->told();
  request->leave_table();
  delete request;
  return MPI_SUCCESS;
}

void MpiRequest::leave_table() {
  const std::lock_guard lock(mutex);
  table.erase(raw_of(handle_));
  detail::known_requests.fetch_sub(1, std::memory_order_release);
}

int MpiRequest::cancel(void*, int) { return MPI_ERR_REQUEST; }

}  // namespace copse::mpi
