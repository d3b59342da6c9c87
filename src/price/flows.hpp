// Flows of bytes that go on at the same time, and share what they pass: caches, links, memories, the network. Each flow has a
// rate that it cannot exceed by itself. The shares are max-min fair: no flow can gain unless a flow with an equal or smaller share
// loses. HMPI 2.1's rates 1/b and 1/(B t) are the case of one resource.
#pragma once

#include <cstddef>
#include <vector>

namespace copse::price {

// Many fields: `sharing_` holds what share() computes with, so that it need not ask for memory each time.
class Flows {
 public:
  Flows();

  // Adds a resource with a capacity in bytes per ns. Returns its number.
  std::size_t add_resource(double capacity);

  // The resources that all flows of a group pass as if they were one flow. All flows of a group have the same list.
  struct Together {
    int group = -1;  // from 0 on; -1: none
    std::vector<std::size_t> resources;
  };

  // Starts a flow at time `now`, which must not lie before that of an earlier call. `most` is its own rate.
  void start(double now, int flow, double bytes, double most, std::vector<std::size_t> resources, Together together = {-1, {}});

  // Returns the time of the last start or end. Flows that would have ended since then are still there.
  [[nodiscard]] double now() const { return now_; }
  // Returns the time at which the next flow ends, or infinity if there is no flow.
  [[nodiscard]] double next_end() {
    if (changed_) find_next_end();
    return next_end_;
  }
  // Goes to that time, and removes the flow. Returns it.
  int end_next();

  [[nodiscard]] bool empty() const { return active_.empty(); }

 private:
  struct Flow {
    int number;
    double left, most, rate;
    std::vector<std::size_t> resources;
    Together together;
  };

  [[nodiscard]] bool is_bound_by(const Flow& flow, double rate) const;
  void ask_for(const std::vector<std::size_t>& resources);
  void take(const std::vector<std::size_t>& resources, double rate);
  void go_to(double now);
  void share();
  void find_next_end();

  std::vector<double> capacities_;
  std::vector<Flow> active_;
  double now_ = 0, next_end_;
  bool changed_ = false;  // since next_end_ was found, a flow has started or ended; several may do so at one time
  bool shared_ = true;    // the rates are those of the flows that are active
  std::size_t first_to_end_ = 0;
  struct Sharing {  // while resources are shared out
    std::vector<Flow*> without;        // flows that have no rate yet
    std::vector<std::size_t> wanted;   // resources that some flow passes
    std::vector<double> left, fair;    // for each resource, the capacity that is left, and a sharer's part of it
    std::vector<std::size_t> sharers;  // of each resource: flows or groups that have no rate yet
    std::vector<std::size_t> members;  // of each group: flows that have no rate yet
  } sharing_;
};

}  // namespace copse::price
