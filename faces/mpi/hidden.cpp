// Ranks agree on a hidden communicator and on a stream that is free on all of them.
#include "hidden.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "agreement.hpp"
#include "communicator/card.hpp"
#include "communicator/kin.hpp"
#include "progress.hpp"
#include "settings.hpp"
#include "world.hpp"

namespace copse::mpi {
namespace {

std::atomic<int> live_ones{0};

// The hidden communicators of this process. This is never destroyed (session.hpp). The one of the world is kept, because all wires
// may use it.
struct Known {
  std::mutex mutex;
  std::vector<std::weak_ptr<Hidden>> all;
  std::shared_ptr<Hidden> of_world;
  std::uint64_t made = 0;
};

Known& known() {
  static auto& known = *new Known;
  return known;
}

std::vector<int> sorted(std::vector<int> members) {
  std::sort(members.begin(), members.end());
  return members;
}

// All free streams of one hidden communicator. `peers` has that communicator's rank for each rank of the wire.
struct Offer {
  std::shared_ptr<Hidden> hidden;
  Hidden::Streams streams{};
  std::vector<int> peers;
};

// The hidden communicators that a wire among these ranks could share: that of the world, and the last one of the same ranks. While
// an Offers holds their streams, the wire of another thread finds none free and makes a communicator of its own. The two threads
// do not wait for one another, because they could then wait for ever across ranks.
class Offers {
 public:
  explicit Offers(const std::vector<int>& members) {
    const std::lock_guard lock(known().mutex);
    std::erase_if(known().all, [](const auto& one) { return one.expired(); });
    offers_[0].hidden = known().of_world;
    for (const auto& one : known().all)
      if (auto hidden = one.lock(); hidden != nullptr && hidden != known().of_world && hidden->is_of(members))
        offers_[1].hidden = std::move(hidden);
    for (Offer& offer : offers_)
      if (offer.hidden != nullptr) offer.peers = offer.hidden->ranks_of(members);
    for (Offer& offer : offers_)
      if (offer.hidden != nullptr) offer.streams = offer.hidden->take_all();
    fresh_ = ++known().made;
  }
  ~Offers() {
    const std::lock_guard lock(known().mutex);
    for (const Offer& offer : offers_)
      if (offer.hidden != nullptr) offer.hidden->give_back(offer.streams);
  }
  Offers(const Offers&) = delete;
  Offers& operator=(const Offers&) = delete;

  [[nodiscard]] const Offer& at(std::size_t place) const { return offers_[place]; }
  [[nodiscard]] std::uint64_t fresh() const { return fresh_; }
  [[nodiscard]] Stream keep(std::size_t place, int stream) {
    offers_[place].streams[static_cast<std::size_t>(stream) / 64] &= ~(std::uint64_t{1} << (stream % 64));
    return {offers_[place].hidden, stream, std::move(offers_[place].peers)};
  }

 private:
  std::array<Offer, 2> offers_;
  std::uint64_t fresh_ = 0;
};

// What each rank says to the others (joining.cpp has the first word).
struct SecondWord {
  std::uint64_t fresh;  // the name of the communicator that would be made
  std::array<std::uint64_t, 2> offered;  // the names of the communicators that the rank offers; 0: none
  std::array<Hidden::Streams, 2> streams;
};

// Returns the first stream that all ranks offer in that place, or -1.
int common_stream(const std::vector<SecondWord>& all, std::size_t place) {
  for (const SecondWord& word : all)
    if (word.offered[place] == 0 || word.offered[place] != all.front().offered[place]) return -1;
  return communicator::first_in_common(all, [&](const SecondWord& word) { return word.streams[place]; });
}

std::unique_ptr<communicator::NodeWatch> watch_nodes(communicator::Bootstrap& bootstrap) {
  const int me = bootstrap.rank(), ranks = bootstrap.ranks();
  return communicator::watch_nodes(
      std::chrono::seconds(settings().node_timeout), communicator::host_of(settings(), me, ranks), me, ranks,
      [&](const void* mine, void* all, std::size_t bytes) { return bootstrap.allgather(mine, all, bytes); });
}

}  // namespace

// Every MPI allows 32767, so that is the result if the MPI does not say.
int highest_tag() {
  void* most = nullptr;
  int flag = 0;
  if (real().Comm_get_attr_(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag) != MPI_SUCCESS || flag == 0) return 32767;
  return *static_cast<const int*>(most);
}

Hidden::Hidden(MPI_Comm comm, std::vector<int> members, std::uint64_t id, std::unique_ptr<communicator::NodeWatch> watch)
    : members_(std::move(members)), sorted_(sorted(members_)), id_(id), watch_(std::move(watch)) {
  // A duplicate would call the program's own functions that copy its attributes.
  helped([&] { return real().Comm_split_(comm, 0, 0, &comm_); });
  if (comm_ == MPI_COMM_NULL) return;
  real().Comm_set_errhandler_(comm_, MPI_ERRORS_RETURN);
  live_ones.fetch_add(1);
  tags_of_stream_ = highest_tag() / kStreams / kTagsOfLane * kTagsOfLane;
  free_.fill(~std::uint64_t{0});
}

Hidden::~Hidden() {
  if (comm_ == MPI_COMM_NULL) return;
  live_ones.fetch_sub(1);
  if (!finishing()) real().Comm_free_(&comm_);
}

std::vector<int> Hidden::ranks_of(const std::vector<int>& members) const {
  if (members == members_) return {};
  std::vector<int> here(static_cast<std::size_t>(sorted_.back()) + 1, -1), ranks;
  for (std::size_t rank = 0; rank < members_.size(); ++rank)
    here[static_cast<std::size_t>(members_[rank])] = static_cast<int>(rank);
  for (const int member : members) ranks.push_back(here[static_cast<std::size_t>(member)]);
  return ranks;
}

bool Hidden::is_of(const std::vector<int>& members) const { return members == members_ || sorted(members) == sorted_; }

Hidden::Streams Hidden::take_all() { return std::exchange(free_, Streams{}); }

void Hidden::give_back(const Streams& streams) {
  for (std::size_t i = 0; i < streams.size(); ++i) free_[i] |= streams[i];
}

void Hidden::give_back(int stream) {
  const std::lock_guard lock(known().mutex);
  free_[static_cast<std::size_t>(stream) / 64] |= std::uint64_t{1} << (stream % 64);
}

int Hidden::live() { return live_ones.load(); }

Stream open_stream(MPI_Comm comm, communicator::Bootstrap& bootstrap, bool may_make, std::string& why_not) {
  std::vector<int> members = world_ranks(comm, bootstrap.ranks());
  Offers offers(members);
  SecondWord mine{};
  mine.fresh = static_cast<std::uint64_t>(members[static_cast<std::size_t>(bootstrap.rank())]) << 32 | offers.fresh();
  for (const std::size_t place : {0, 1}) {
    if (const Offer& offer = offers.at(place); offer.hidden != nullptr) mine.offered[place] = offer.hidden->id();
    mine.streams[place] = offers.at(place).streams;
  }
  std::vector<SecondWord> all(members.size());
  if (!bootstrap.allgather(&mine, all.data(), sizeof mine)) {
    why_not = communicator::kNotGathered;
    return {};
  }
  for (const std::size_t place : {0, 1})
    if (const int stream = common_stream(all, place); stream >= 0) return offers.keep(place, stream);
  const bool of_world = static_cast<int>(members.size()) == world_size();
  auto watch = may_make ? watch_nodes(bootstrap) : nullptr;
  if (may_make && watch == nullptr) {
    why_not = communicator::kNotGathered;
    return {};
  }
  const auto made = may_make ? std::make_shared<Hidden>(comm, std::move(members), all.front().fresh, std::move(watch)) : nullptr;
  if (made == nullptr || made->comm() == MPI_COMM_NULL) {
    why_not = "too many communicators over several nodes at a time, each of other ranks";
    return {};
  }
  std::shared_ptr<Hidden> before;  // goes when the lock has gone
  const std::lock_guard lock(known().mutex);
  Hidden::Streams others = made->take_all();
  others[0] &= ~std::uint64_t{1};  // stream 0 is this wire's
  made->give_back(others);
  known().all.push_back(made);
  // Several threads may make one at the same time, and end in another order on each rank. The ids are the same on all ranks.
  if (auto& world = known().of_world; of_world && (world == nullptr || made->id() < world->id()))
    before = std::exchange(world, made);
  return {made, 0, {}};
}

}  // namespace copse::mpi
