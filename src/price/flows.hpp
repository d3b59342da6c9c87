// Flows of bytes that go on at the same time, and share what they pass: caches, links, memories, the network. Each flow has a
// rate that it cannot exceed by itself. What a resource gives is divided so that no flow can get more without another that has
// no more getting less (max-min fairness). HMPI 2.1's rates 1/b and 1/(B t) are the case of one resource.
#pragma once

#include <cstddef>
#include <vector>

namespace copse::price {

class Flows {
 public:
  Flows();

  // Adds a resource with a capacity in bytes per ns. Returns its number.
  std::size_t add_resource(double capacity);

  // What flows of the same group pass as if they were one flow. All flows of a group have the same list.
  struct Together {
    int group = -1;  // from 0 on; -1: none
    std::vector<std::size_t> resources;
  };

  // Starts a flow at time `now`, which must not lie before that of an earlier call. `most` is its own rate.
  void start(double now, int flow, double bytes, double most, std::vector<std::size_t> resources, Together together = {-1, {}});

  // The time at which the next flow ends; infinity without one.
  [[nodiscard]] double next_end() const { return next_end_; }
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

  [[nodiscard]] double possible(const Flow& flow) const;
  void take(const std::vector<std::size_t>& resources, double rate);
  void go_to(double now);
  void share();

  std::vector<double> capacities_;
  std::vector<Flow> active_;
  double now_ = 0, next_end_;
  std::size_t first_to_end_ = 0;
  std::vector<double> left_;          // of each resource, while they are shared out
  std::vector<std::size_t> sharers_;  // flows or groups without a rate yet
  std::vector<std::size_t> members_;  // of each group, those without a rate yet
};

}  // namespace copse::price
