// Finds or makes the state of a communicator, and drops the state when the MPI frees the communicator.
#include "communicators.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "bootstrap.hpp"
#include "communicator/card.hpp"
#include "devices.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "wire.hpp"

namespace copse::mpi {

namespace detail {
thread_local Remembered remembered[1u << kRememberedBits];
std::atomic<std::uint64_t> generation{1};
}  // namespace detail

namespace {

const choose::Settings *settings = nullptr;
bool agreed = false;
int keyval = 0;  // the attribute of communicators that holds their CommState

std::mutex mutex;  // never held across a call of the MPI, so two threads may make two states at once
auto &states = *new std::unordered_map<Raw, std::shared_ptr<CommState>>;  // never destroyed (session.hpp)

// Copse's own requests to the MPI may run collectives inside the MPI. Those must not come back to Copse.
thread_local bool making = false;
struct Making {
  Making() { making = true; }
  ~Making() { making = false; }
  Making(const Making &) = delete;
  Making &operator=(const Making &) = delete;
};

thread_local Raw being_freed = 0;

// Tells a thread communicator (MPICH's MPIX_Threadcomm). Several ranks of one process share its handle, and only the
// MPI's own calls can tell them apart.
bool of_threads(MPI_Comm comm) {
  int answer = 0;
  return real().Comm_test_threadcomm != nullptr && real().Comm_test_threadcomm(comm, &answer) == MPI_SUCCESS && answer != 0;
}

// States that pass calls on, shared by all threads. They are never destroyed (session.hpp), because the destructors of
// a thread may make its last calls.
CommState &passing_on(const char *why) {
  auto &state = *new CommState;
  state.why_not = why;
  return state;
}
auto &called_by_mpi = passing_on("called by the MPI itself");
auto &not_valid = passing_on("not a valid communicator");
auto &in_free = passing_on("the communicator is being freed");
auto &not_met = passing_on("started before any blocking collective call on its communicator");
auto &thread_communicator = passing_on("a thread communicator");

// A wire has an MPI communicator of its own, which costs the MPI a context id. An MPI may have only 2048 of these, and
// most belong to the program.
constexpr int kWiresMax = 128;

// The first thing that each rank sends to the others. Its size is the same in every build of Copse.
struct FirstWord {
  std::uint64_t build, willing, host, driver;
  std::int64_t wires;
};

// Fills in the state's Copse communicator, or the reason why there is none.
void found(CommState &state) {
  auto bootstrap = std::make_unique<MpiBootstrap>(state.comm);
  const FirstWord mine{build_id(), settings->disable ? 0u : 1u,
                       communicator::my_card(*settings, state.rank, state.ranks).place.host,
                       driver_loaded() ? 1u : 0u, MpiWire::live()};
  std::vector<FirstWord> all(static_cast<std::size_t>(state.ranks));
  if (!bootstrap->allgather(&mine, all.data(), sizeof mine)) {
    state.why_not = "the ranks could not be gathered";
    return;
  }
  bool one_host = true;
  std::int64_t wires = 0;
  for (const FirstWord &word : all) {
    const std::string who = "rank " + std::to_string(&word - all.data());
    if (word.build != all.front().build) state.why_not = who + " runs another build of Copse than rank 0";
    if (word.willing == 0) state.why_not = "COPSE_DISABLE, or a mistake in the variables, on " + who;
    if (!state.why_not.empty()) return;
    one_host = one_host && word.host == all.front().host;
    wires = std::max(wires, word.wires);
    state.devices = state.devices || word.driver != 0;
  }
  std::unique_ptr<MpiWire> wire;
  if (!one_host && wires < kWiresMax) wire = std::make_unique<MpiWire>(state.comm);
  if (!one_host && (!wire || !*wire)) {
    state.why_not = "too many communicators over several nodes at a time";
    return;
  }
  state.copse = communicator::Communicator::create(std::move(bootstrap), std::move(wire), *settings, state.why_not, progress());
}

// Says once why Copse can do nothing for a program, unless that is what its user asked for.
void say_why_not(const CommState &state) {
  static std::atomic<bool> said = false;
  int world = 0;
  real().Comm_size_(MPI_COMM_WORLD, &world);
  if (state.copse || settings->quiet || settings->disable || state.rank != 0 || state.ranks != world || said.exchange(true)) return;
  std::fprintf(stderr, "copse: every call on all %d ranks is passed on to the MPI: %s; copse doctor says more, COPSE_QUIET=1 says less\n",
               state.ranks, state.why_not.c_str());
}

// The trace takes what ran on a communicator when its last call is over.
void let_go(CommState *state) {
  try {
    remember(*state);
  } catch (const std::bad_alloc &) {  // the trace then lacks this communicator
  }
  delete state;
}

std::shared_ptr<CommState> make(MPI_Comm comm) {
  const std::shared_ptr<CommState> state(new CommState, let_go);
  state->comm = comm;
  int inter = 0;
  if (real().Comm_test_inter_(comm, &inter) != MPI_SUCCESS) return nullptr;
  real().Comm_rank_(comm, &state->rank);
  real().Comm_size_(comm, &state->ranks);
  if (settings->disable && agreed) {
    state->why_not = "COPSE_DISABLE";
  } else if (inter != 0) {
    state->why_not = "an intercommunicator";
  } else if (state->ranks == 1) {
    state->why_not = "a communicator of one rank";
  } else if (!in_one_world(comm, state->ranks)) {
    state->why_not = "ranks of another MPI_COMM_WORLD";
  } else {
    found(*state);
    say_why_not(*state);
  }
  return state;
}

int never_copy(MPI_Comm, int, void *, void *, void *, int *flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

void drop(CommState *known) {
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
int forget(MPI_Comm, int, void *value, void *) {
  if (!finishing()) drop(static_cast<CommState *>(value));
  return MPI_SUCCESS;
}

}  // namespace

CommState &detail::find_or_make(MPI_Comm comm, Remembered &slot, bool may_make) {
  if (making) return called_by_mpi;
  if (comm == MPI_COMM_NULL) return not_valid;
  const Raw key = raw_of(comm);
  if (key == being_freed) return in_free;
  CommState *state = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (const auto at = states.find(key); at != states.end()) state = at->second.get();
  }
  if (state == nullptr) {
    // The ranks meet only in blocking calls: a rank may legally start a nonblocking call long after another rank.
    if (!may_make) return not_met;
    if (of_threads(comm)) return thread_communicator;
    const Making guard;
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
    return !state->copse->under_way();
  });
}

void prepare_communicators(const choose::Settings &chosen, bool are_agreed) {
  settings = &chosen;
  agreed = are_agreed;
  real().Comm_create_keyval_(never_copy, forget, &keyval, nullptr);
}

void finish_communicators() {
  detail::finishing.store(true);
  const std::lock_guard lock(mutex);
  detail::generation.fetch_add(1, std::memory_order_release);
  states.clear();
}

}  // namespace copse::mpi
