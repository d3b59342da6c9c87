// Finding or making the state of a communicator, and letting go of it when the MPI does.
#include "communicators.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bootstrap.hpp"
#include "communicator/card.hpp"
#include "report.hpp"
#include "requests.hpp"
#include "wire.hpp"

namespace copse::mpi {

namespace detail {
thread_local Remembered remembered[1u << kRememberedBits];
std::atomic<std::uint64_t> generation{1};
}  // namespace detail

namespace {

const choose::Settings *settings = nullptr;
int keyval = 0;  // of communicators: their CommState
std::atomic<bool> is_finishing{false};

std::mutex mutex;  // never held across a call of the MPI: two threads may make two states at once
auto &states = *new std::unordered_map<Raw, std::shared_ptr<CommState>>;  // never destroyed (session.hpp)

// The MPI may use its own collectives to make what we ask for; those must not come back to us.
thread_local bool making = false;
struct Making {
  Making() { making = true; }
  ~Making() { making = false; }
  Making(const Making &) = delete;
  Making &operator=(const Making &) = delete;
};

thread_local Raw being_freed = 0;

// States that pass on, of all threads. Never destroyed (session.hpp): the last calls of a thread are those of its destructors.
CommState &passing_on(const char *why) {
  auto &state = *new CommState;
  state.why_not = why;
  return state;
}
auto &called_by_mpi = passing_on("called by the MPI itself");
auto &not_valid = passing_on("not a valid communicator");
auto &in_free = passing_on("the communicator is being freed");
auto &not_met = passing_on("started before any blocking collective call on its communicator");

// A communicator of its own for the wire costs the MPI a context id, which it may have only 2048 of: most are the program's.
constexpr int kWiresMax = 128;

enum class WireNeed { none, one, one_too_many };
WireNeed wire_need(communicator::Bootstrap &bootstrap) {
  struct Card {
    std::uint64_t host;
    std::int64_t wires;
  };
  const Card mine{communicator::my_card(*settings, bootstrap.rank(), bootstrap.ranks()).place.host,
                  MpiWire::live()};
  std::vector<Card> all(static_cast<std::size_t>(bootstrap.ranks()));
  if (!bootstrap.allgather(&mine, all.data(), sizeof mine)) return WireNeed::none;
  const auto most = std::max_element(all.begin(), all.end(), [](const Card &a, const Card &b) { return a.wires < b.wires; });
  for (const Card &other : all)
    if (other.host != all.front().host) return most->wires < kWiresMax ? WireNeed::one : WireNeed::one_too_many;
  return WireNeed::none;
}

// What ran on it is told when its last call is over.
void let_go(CommState *state) {
  try {
    remember(*state);
  } catch (const std::bad_alloc &) {  // then the trace lacks this one
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
  if (settings->disable) {
    state->why_not = "COPSE_DISABLE";
  } else if (inter != 0) {
    state->why_not = "an intercommunicator";
  } else if (state->ranks == 1) {
    state->why_not = "a communicator of one rank";
  } else {
    auto bootstrap = std::make_unique<MpiBootstrap>(comm);
    std::unique_ptr<MpiWire> wire;
    const WireNeed need = wire_need(*bootstrap);
    if (need == WireNeed::one) wire = std::make_unique<MpiWire>(comm);
    if (need == WireNeed::one_too_many || (wire && !*wire)) {
      state->why_not = "more communicators over several nodes at a time than Copse takes of the MPI's";
    } else {
      state->copse = communicator::Communicator::create(std::move(bootstrap), std::move(wire), *settings, state->why_not,
                                                        progress());
    }
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

// The MPI frees a communicator (or disconnects, or finalises the world).
int forget(MPI_Comm, int, void *value, void *) {
  if (!is_finishing.load()) drop(static_cast<CommState *>(value));
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
    // The ranks meet in blocking calls only: a rank may legally start its call long after another.
    if (!may_make) return not_met;
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

void prepare_communicators(const choose::Settings &chosen) {
  settings = &chosen;
  real().Comm_create_keyval_(never_copy, forget, &keyval, nullptr);
}

bool finishing() { return is_finishing.load(); }

void finish_communicators() {
  is_finishing.store(true);
  const std::lock_guard lock(mutex);
  detail::generation.fetch_add(1, std::memory_order_release);
  states.clear();
}

}  // namespace copse::mpi
