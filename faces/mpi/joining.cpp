// Compares what the calls have cost, and makes Copse's communicator.
#include "joining.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "bootstrap.hpp"
#include "communicator/card.hpp"
#include "communicator/kin_offer.hpp"
#include "communicator/memory_room.hpp"
#include "devices.hpp"
#include "helpers.hpp"
#include "helpers_meeting.hpp"
#include "hidden.hpp"
#include "leaders.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "wire.hpp"
#include "world.hpp"

namespace copse::mpi {

constinit thread_local bool detail::asking_mpi = false;

namespace {

using communicator::Early;
using communicator::kNotGathered;

constexpr const char* kTooEarly = "the calls on the communicator have not yet cost as much as Copse's start (COPSE_JOIN)";
constexpr const char* kNotMet = "started before any blocking collective call on its communicator";
// Between nodes, each rank of one group would send a message to each rank of the other one.
constexpr const char* kOverNodes = "an intercommunicator over several nodes";
// A root would copy its message once for each rank of the other group.
constexpr const char* kUnreached = "an intercommunicator of ranks that do not reach all of one another's buffers";

auto& start_cost = *new communicator::StartCost;  // never destroyed (session.hpp)

// A hidden communicator costs the MPI a context id, and so does one of leaders. An MPI may have only 2048 of these, and most
// belong to the program.
constexpr int kHiddenMax = 128, kLeadersMax = 128;

// The first thing that each rank sends to the others. Its size is the same in every build of Copse.
struct FirstWord {
  // driver_loaded(), CommState::rounds_by_mpi, and COPSE_TRACE
  static constexpr std::uint64_t kDriver = 1, kRounds = 2, kTraces = 4;
  std::uint64_t build, willing, host, flags;
  std::int32_t hidden, leaders;
  communicator::KinWord kin;
};
static_assert(sizeof(FirstWord) == 96, "builds of Copse that meet must be able to tell one another so");

// What the first words of all ranks say.
struct Together {
  bool one_host = true;
  std::uint64_t any = 0;                  // flags
  std::int32_t hidden = 0, leaders = 0;  // the most that any rank has
  std::vector<communicator::KinWord> offers;
};

// Returns nothing, and the reason, if the ranks cannot work together.
std::optional<Together> together(const std::vector<FirstWord>& words, std::string& why_not) {
  Together said;
  for (const FirstWord& word : words) {
    const std::string who = "rank " + std::to_string(&word - words.data());
    if (word.build != words.front().build) why_not = who + " runs another build of Copse than rank 0";
    if (word.willing == 0) why_not = "COPSE_DISABLE, or a mistake in the variables, on " + who;
    if (!why_not.empty()) return std::nullopt;
    said.one_host = said.one_host && word.host == words.front().host;
    said.any |= word.flags;
    said.hidden = std::max(said.hidden, word.hidden);
    said.leaders = std::max(said.leaders, word.leaders);
    said.offers.push_back(word.kin);
  }
  return said;
}

// The kin that this process knows, by their ranks in the world. The kin that were used last stay when their communicators are
// gone, because programs split their world in the same way again. This is never destroyed (session.hpp).
class KnownKin {
 public:
  using Pointer = std::shared_ptr<communicator::Kin>;

  // Returns the kin of these ranks of the world, or null if this process knows none.
  [[nodiscard]] Pointer of(const std::vector<int>& members) {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find(members);
    Pointer kin = at == all_.end() ? nullptr : at->second.lock();
    if (kin != nullptr) keep(kin);
    return kin;
  }
  void add(const std::vector<int>& members, Pointer kin) {
    if (kin == nullptr) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
    all_[members] = kin;
    keep(std::move(kin));
  }
  // Lets go of all kin that have no communicator now.
  void forget() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
  }

 private:
  static constexpr std::size_t kKept = 8;  // a grid of three dimensions has seven sets of ranks

  void keep(Pointer kin) {
    const auto at = std::find(kept_.begin(), kept_.end(), kin);
    if (at != kept_.end()) kept_.erase(at);
    kept_.push_front(std::move(kin));
    if (kept_.size() > kKept) kept_.pop_back();
  }

  std::mutex mutex_;
  std::map<std::vector<int>, std::weak_ptr<communicator::Kin>> all_;
  std::deque<Pointer> kept_;  // the one used last comes first
};
auto& known_kin = *new KnownKin;

const std::vector<int>& members_of(CommState& state) {
  if (state.members.empty()) state.members = world_ranks(state.comm, state.ranks);
  return state.members;
}

// Returns the kin of these ranks. The result is null if there are none, or if COPSE_MEMORY or a cgroup leaves no room for another
// communicator. All kin sit on one node. Asking for room may take long.
KnownKin::Pointer kin_to_offer(const std::vector<int>& members) {
  const auto has_room = [&](const KnownKin::Pointer& kin) {
    return communicator::has_room(settings().memory) &&
           (kin == nullptr || communicator::left_by_cgroups() >= communicator::kRoomOfRank * members.size());
  };
  KnownKin::Pointer kin = known_kin.of(members);
  if (has_room(kin)) return kin;
  kin.reset();
  known_kin.forget();
  kin = known_kin.of(members);
  return has_room(kin) ? kin : nullptr;
}

using Clock = std::chrono::steady_clock;

// If MPI_Init has bypassed its wrapper, a rank of the world may run without Copse. On a communicator of all ranks it never answers.
std::unique_ptr<communicator::Bootstrap> bootstrap_of(const CommState& state, Clock::time_point start) {
  auto bootstrap = std::make_unique<MpiBootstrap>(state.comm, state.groups);
  if (have_met_all() || state.ranks != world_size()) return bootstrap;
  bootstrap->settle({}, [rank = state.rank, start, patience = kPatienceWithRanks]() mutable {
    if (Clock::now() - start >= patience) {
      patience *= 10;
      end_if_a_rank_is_silent(rank, "make its first collective call");
    }
    return true;
  });
  return bootstrap;
}

bool reaches_all(const communicator::Communicator& copse) {
  const auto& conditions = copse.kin()->conditions;
  return conditions.situation.anywhere && !conditions.windows_alone;
}

// Tells the communicator who its neighbours are, or gives it up if it is no use for two groups.
void connect(CommState& state, std::optional<Neighborhood>& met) {
  if (state.groups.any() && state.copse && !reaches_all(*state.copse)) {
    state.copse.reset();
    state.why_not = kUnreached;
  }
  if (!met || !state.copse) return;
  state.neighbors = std::make_unique<const Neighbors>(std::move(met->mine));
  state.copse->connect(std::move(met->graph));
}

void meet_helpers_of(CommState& state, const std::vector<FirstWord>& words, communicator::Bootstrap& callers) {
  for (const FirstWord& word : words) state.hosts.push_back(word.host);
  state.served = meet_helpers(callers, state.hosts, choose::kServedStreams);
}

// Fills in the state's Copse communicator, or the reason why there is none. Returns whether it was made among kin. `begin` becomes
// the time at which the ranks have met: some may have come late, which is no part of the start's cost.
bool found(CommState& state, Clock::time_point& begin) {
  const std::vector<int>& members = members_of(state);
  if (!in_one_world(members)) {
    state.why_not = kSeveralWorlds;
    return false;
  }
  std::unique_ptr<communicator::Bootstrap> bootstrap = bootstrap_of(state, begin);
  const communicator::KinOffer offer(kin_to_offer(members));
  const FirstWord mine{build_id(),
                       settings().disable ? 0u : 1u,
                       communicator::host_of(settings(), state.rank, state.ranks),
                       (driver_loaded() ? FirstWord::kDriver : 0) | (state.rounds_by_mpi ? FirstWord::kRounds : 0) |
                           (settings().trace ? FirstWord::kTraces : 0),
                       Hidden::live(),
                       Leaders::live(),
                       offer.word()};
  std::vector<FirstWord> all(static_cast<std::size_t>(state.ranks));
  if (!bootstrap->allgather(&mine, all.data(), sizeof mine)) {
    state.why_not = kNotGathered;
    return false;
  }
  begin = Clock::now();
  const auto traces = [&](const FirstWord& word) {
    return word.build == all.front().build && (word.flags & FirstWord::kTraces) != 0;
  };
  if (state.ranks == world_size() && std::all_of(all.begin(), all.end(), traces)) expect_report_of_all();
  const std::optional<Together> said = together(all, state.why_not);
  if (!said) return false;
  state.devices = (said->any & FirstWord::kDriver) != 0;
  if (state.groups.any() && (state.devices || !said->one_host)) {
    state.why_not = state.devices ? "an intercommunicator, where some rank may give memory of a device" : kOverNodes;
    return false;
  }
  state.special = state.devices || state.groups.any();
  state.rounds_by_mpi = (said->any & FirstWord::kRounds) != 0;
  std::optional<Neighborhood> met =
      state.groups.any() ? between(state.groups) : meet_neighbors(state.comm, *bootstrap, state.no_neighbors);
  if (!state.groups.any() && may_have_helpers(said->one_host)) meet_helpers_of(state, all, *bootstrap);
  if (communicator::KinOffer::is_common(said->offers)) {
    state.copse = communicator::Communicator::create_among(offer, said->offers, bootstrap, settings(), progress());
    connect(state, met);
    if (state.copse || !state.why_not.empty()) return state.copse != nullptr;
  }
  std::unique_ptr<MpiWire> wire;
  if (!said->one_host) {
    Stream stream = open_stream(state.comm, *bootstrap, said->hidden < kHiddenMax, state.why_not);
    if (stream.hidden == nullptr) return false;
    wire = std::make_unique<MpiWire>(std::move(stream), said->leaders < kLeadersMax ? state.comm : MPI_COMM_NULL);
  }
  state.copse = communicator::Communicator::create(std::move(bootstrap), std::move(wire), settings(), state.why_not, progress());
  connect(state, met);
  if (state.copse) known_kin.add(members, state.copse->kin());
  return false;
}

// Says once why Copse can do nothing for a program, if its user asked for that (copse run does).
void say_why_not(const CommState& state) {
  static std::atomic<bool> said = false;
  if (settings().quiet || settings().disable || state.groups.any()) return;
  if (state.rank != 0 || state.ranks != world_size() || said.exchange(true)) return;
  std::fprintf(stderr,
               "copse: calls on a communicator of all %d ranks are passed on to the MPI: %s; copse doctor says more, COPSE_QUIET=1 "
               "says less\n",
               state.ranks, state.why_not.c_str());
}

// Gets the least that any rank says, word by word. Between two groups, an allreduce gives each group the least of the
// other one. Then the groups exchange these.
int least_of(const CommState& state, const Early::Words& mine, Early::Words& least) {
  const auto ask = [&](const Early::Words& from, Early::Words& to) {
    return real().Allreduce(from.data(), to.data(), static_cast<int>(from.size()), raw_of(MPI_LONG_LONG_INT), raw_of(MPI_MIN),
                            raw_of(state.comm));
  };
  if (!state.groups.any()) return ask(mine, least);
  Early::Words of_others{};
  int result = ask(mine, of_others);
  if (result == MPI_SUCCESS) result = ask(of_others, least);
  for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], of_others[i]);
  return result;
}

// Asks the ranks whether the start pays. The question is a blocking call, as is the program's call that follows, because a
// nonblocking call may take many times as long. A communicator with ranks of another world is not asked, because those ranks may
// have no Copse.
bool pays(CommState& state) {
  const auto start = Clock::now();
  const std::vector<int>& members = members_of(state);
  if (!in_one_world(members)) return true;
  const bool among = known_kin.of(members) != nullptr;
  const Early::Words mine = state.early.words(start_cost.expected(communicator::crowding(state.ranks), among));
  Early::Words least{};
  const int result = helped([&] { return least_of(state, mine, least); });
  if (settings().trace) count_start("looks", std::chrono::duration<double>(Clock::now() - start).count());
  if (result == MPI_SUCCESS) return state.early.pays(least);
  state.early.end();
  state.why_not = kNotGathered;
  return false;
}

}  // namespace

void expect(CommState& state) {
  state.early.begin(settings().join_at.value_or(Early::kFirstLook));
  state.why_not = settings().join_at == 1U ? kNotMet : kTooEarly;
}

bool join(CommState& state, bool at_once) {
  const auto kept = state.shared_from_this();  // an error handler may free the communicator
  const AskingMpi guard;
  if (!at_once && !settings().join_at && !pays(state)) return false;
  state.early.end();
  state.why_not.clear();
  Clock::time_point begin = Clock::now();
  const bool among = found(state, begin);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!state.copse) {
    say_why_not(state);
    return false;
  }
  start_cost.add(seconds, among);
  if (settings().trace) {
    count_start("communicators", seconds);
    if (const std::uint64_t first = state.early.calls(); first > 1)
      note("served from call " + std::to_string(first) + " on", "a communicator of " + std::to_string(state.ranks) + " ranks");
  }
  return true;
}

}  // namespace copse::mpi
