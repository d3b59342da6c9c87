// Kin are communicators of the same ranks in the same order. What their ranks have found out about one another is kept once. On
// one node, a new communicator can be made among its kin (docs/decisions/kin.md): it takes a plot of their common memory, with
// lines and slots of its own, and asks for nothing again.
//
// All ranks must take the same plot, and it must be free on all of them. Each says in one exchange which plots are free here.
// While a rank waits for that exchange it holds its kin, and no other thread's communicator is made among them. So two
// communicators that are made among the same kin are made in the same order on all ranks.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "choose/decision.hpp"
#include "communicator/capabilities.hpp"
#include "communicator/plots.hpp"
#include "engine/executor.hpp"
#include "engine/reach/peer.hpp"
#include "engine/reach/shared_memory.hpp"
#include "topology/layout.hpp"

namespace copse::communicator {

// How executors wait and store.
struct Tuning {
  engine::WaitPolicy wait;
  bool heap_only = false;  // see Executor::publish_from_heap_only
  std::size_t stream_from = SIZE_MAX;  // bytes
  engine::SlotStores slots;
};

// The conditions under which calls among these kin are chosen and run.
struct Conditions {
  // Ranks reach one another's windows (Relaxation), but no other buffers.
  bool windows_alone = false;
  Capabilities capabilities;
  choose::Situation situation;
  topology::Placement places;
  int most_on_a_node = 1;  // ranks
  Tuning tuning;
};

// How this rank reaches the others.
struct Reached {
  std::vector<pid_t> pids;
  std::vector<engine::Peer> peers;
  std::vector<std::shared_ptr<engine::Mapping>> heaps;  // the shared heaps in which `peers` locates buffers
};

// What is chosen for messages of each size, by collective and variant. Any thread may use it.
class Choices {
 public:
  // Returns what make() has returned for this place. make() is called once for each place.
  template <class Make>
  const std::vector<choose::Decision>& of(unsigned place, Make&& make) {
    const std::lock_guard lock(mutex_);
    std::vector<choose::Decision>& known = known_[place];
    if (known.empty()) known = make();
    return known;
  }

 private:
  std::mutex mutex_;
  std::map<unsigned, std::vector<choose::Decision>> known_;  // pointers to entries stay valid
};

struct Kin {
  // An id that is the same on all ranks, and that no other kin have.
  struct Id {
    std::uint64_t process = 0, founded = 0;
    friend bool operator==(const Id&, const Id&) = default;
  } id;
  Conditions conditions;
  Reached reached;
  Ground ground;
  Plots plots;
  Choices choices;
  std::atomic<bool> held{false};  // see KinOffer (kin_offer.hpp)
};

// Returns the first number that is in all sets, or -1. set_of() returns the set of an element of `all`.
template <class All, class SetOf>
[[nodiscard]] int first_in_common(const All& all, SetOf&& set_of) {
  auto common = set_of(all.front());
  for (const auto& each : all)
    for (std::size_t i = 0; i < common.size(); ++i) common[i] &= set_of(each)[i];
  for (std::size_t i = 0; i < common.size(); ++i)
    if (common[i] != 0) return static_cast<int>(64 * i) + std::countr_zero(common[i]);
  return -1;
}

}  // namespace copse::communicator
