// Finds or makes the state of a communicator, and drops the state when the MPI frees the communicator.
#include "communicators.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "joining.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace copse::mpi {

namespace detail {
constinit thread_local Remembered remembered[1u << kRememberedBits];
std::atomic<std::uint64_t> generation{1};
constinit thread_local Alone alone;
}  // namespace detail

namespace {

int keyval = 0;  // the attribute of communicators that holds their CommState

std::mutex mutex;  // never held across a call of the MPI, so two threads may make two states at once
auto& states = *new std::unordered_map<Raw, std::shared_ptr<CommState>>;  // never destroyed (session.hpp)

thread_local Raw being_freed = 0;

// Tells a thread communicator (MPICH's MPIX_Threadcomm). Several ranks of one process share its handle, and only the
// MPI's own calls can tell them apart.
bool of_threads(MPI_Comm comm) {
  int answer = 0;
  return real().Comm_test_threadcomm != nullptr && real().Comm_test_threadcomm(comm, &answer) == MPI_SUCCESS && answer != 0;
}

constexpr const char* kOneRank = "a communicator of one rank";

// States that pass calls on, shared by all threads. They are never destroyed (session.hpp), because the destructors of
// a thread may make its last calls.
CommState& passing_on(const char* why) {
  auto& state = *new CommState;
  state.why_not = why;
  return state;
}
auto& called_by_mpi = passing_on("called by the MPI itself");
auto& not_valid = passing_on("not a valid communicator");
auto& in_free = passing_on("the communicator is being freed");
auto& thread_communicator = passing_on("a thread communicator");
auto& of_one_rank = passing_on(kOneRank);

// Tells a communicator of one rank. Copse keeps nothing for it, unless its calls are to be in the trace. Such a communicator has no
// attribute, so nothing tells when it is freed but the wrapped calls (Freeing).
bool costs_nothing(MPI_Comm comm) {
  int ranks = 0, inter = 0;
  return !settings().trace && real().Comm_size_(comm, &ranks) == MPI_SUCCESS && ranks == 1 &&
         real().Comm_test_inter_(comm, &inter) == MPI_SUCCESS && inter == 0;
}

// When a communicator's last call is over, what it has learned is written (COPSE_LEARNED), and the trace takes what ran.
void let_go(CommState* state) {
  try {
    const std::string wrong = state->copse ? state->copse->save_lessons() : std::string();
    if (!wrong.empty()) std::fprintf(stderr, "copse: %s\n", wrong.c_str());
    remember(*state);
  } catch (const std::bad_alloc&) {  // the file and the trace then lack this communicator
  }
  delete state;
}

// Counts the ranks of an intercommunicator, of which `state` has this group's numbers. Returns the reason why Copse does not serve
// it, or null if it may. The ranks of a world whose MPI_Init has bypassed its wrapper do not know whether all of them run Copse.
const char* look_at_groups(CommState& state) {
  TwoGroups& groups = state.groups;
  groups.own = state.ranks;
  real().Comm_remote_size_(state.comm, &groups.others);
  state.members = world_ranks(state.comm, groups.own);
  std::vector<int> others = world_ranks(state.comm, groups.others, Group::other);
  // The groups have no rank in common (MPI-4.1 7.6), so their first ranks differ.
  groups.first = others.empty() || state.members.front() < others.front();
  if (!groups.first) state.members.swap(others);
  state.members.insert(state.members.end(), others.begin(), others.end());
  state.rank += groups.begin_of_own();
  state.ranks += groups.others;
  state.no_neighbors = "an intercommunicator";
  if (!groups.any()) return "an intercommunicator without another group";
  if (!in_one_world(state.members)) return kSeveralWorlds;
  return have_met_all() ? nullptr : "an intercommunicator, and MPI_Init has bypassed Copse";
}

std::shared_ptr<CommState> make(MPI_Comm comm) {
  const std::shared_ptr<CommState> state(new CommState, let_go);
  state->comm = comm;
  int inter = 0;
  if (real().Comm_test_inter_(comm, &inter) != MPI_SUCCESS) return nullptr;
  real().Comm_rank_(comm, &state->rank);
  real().Comm_size_(comm, &state->ranks);
  const char* const unfit = inter != 0 ? look_at_groups(*state) : nullptr;
  if (settings().disable && have_met_all()) {
    state->why_not = "COPSE_DISABLE";
  } else if (unfit != nullptr) {
    state->why_not = unfit;
  } else if (state->ranks == 1) {
    state->why_not = kOneRank;
  } else {
    expect(*state);
  }
  return state;
}

int never_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

void drop(CommState* known) {
  std::shared_ptr<CommState> state;
  {
    const std::lock_guard lock(mutex);
    const auto at = states.find(raw_of(known->comm));
    if (at == states.end() || at->second.get() != known) return;
    state = std::move(at->second);
    state->freed = true;
    states.erase(at);
    detail::generation.fetch_add(1, std::memory_order_release);
  }
}

// The MPI calls this when it frees a communicator, disconnects it, or finalises the world.
int forget(MPI_Comm, int, void* value, void*) {
  if (!finishing()) drop(static_cast<CommState*>(value));
  return MPI_SUCCESS;
}

}  // namespace

CommState& detail::find_or_make(MPI_Comm comm, Remembered& slot) {
  if (asking_mpi) return called_by_mpi;
  if (comm == MPI_COMM_NULL) return not_valid;
  const Raw key = raw_of(comm);
  if (key == being_freed) return in_free;
  CommState* state = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (const auto at = states.find(key); at != states.end()) state = at->second.get();
  }
  if (state == nullptr) {
    if (of_threads(comm)) return thread_communicator;
    const AskingMpi guard;
    if (costs_nothing(comm)) {
      alone = {key, generation.load(std::memory_order_acquire)};
      return of_one_rank;
    }
    std::shared_ptr<CommState> made = make(comm);
    if (!made) return not_valid;
    state = made.get();
    {
      const std::lock_guard lock(mutex);
      states[key] = std::move(made);
    }
    state->attached = real().Comm_set_attr_(comm, keyval, state) == MPI_SUCCESS;
  }
  slot = {key, generation.load(std::memory_order_acquire), state};
  return *state;
}

Freeing::Freeing(MPI_Comm comm) : before_(std::exchange(being_freed, raw_of(comm))) {
  detail::generation.fetch_add(1, std::memory_order_release);
  const std::lock_guard lock(mutex);
  const auto at = states.find(raw_of(comm));
  if (at != states.end() && !at->second->attached) unattached_ = at->second.get();
}
Freeing::~Freeing() { being_freed = before_; }
void Freeing::done() {
  if (unattached_ != nullptr) drop(unattached_);
}

void wait_for_started(MPI_Comm comm) {
  std::shared_ptr<CommState> state;
  {
    const std::lock_guard lock(mutex);
    if (const auto at = states.find(raw_of(comm)); at != states.end()) state = at->second;
  }
  if (!state || !state->copse) return;
  progress()->until([&] {
    end_given_away();
    const auto is_under_way = [](const auto& lane) {
      const auto live = lane.lock();
      return live && live->under_way();
    };
    return !state->copse->under_way() && !(state->served && state->served->under_way()) &&
           std::none_of(state->served_lanes.begin(), state->served_lanes.end(), is_under_way);
  });
}

void prepare_communicators() { real().Comm_create_keyval_(never_copy, forget, &keyval, nullptr); }

void finish_communicators() {
  detail::finishing.store(true);
  const std::lock_guard lock(mutex);
  detail::generation.fetch_add(1, std::memory_order_release);
  states.clear();
}

}  // namespace copse::mpi
