// The ways that may run calls of each kind, and what is learned about them (lessons.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "choose/decision.hpp"
#include "communicator/group.hpp"
#include "communicator/lessons.hpp"
#include "communicator/route.hpp"

namespace copse::communicator {

// The number of variants of a collective. Calls of different variants need different things of an algorithm.
inline constexpr unsigned kVariants = 16;
[[nodiscard]] constexpr unsigned variant_of(choose::Needs needs, bool inexact) {
  return (needs.strict ? 1U : 0U) + (needs.wide ? 2U : 0U) + (inexact ? 4U : 0U) + (needs.alien ? 8U : 0U);
}
[[nodiscard]] constexpr choose::Needs needs_in(unsigned variant) {
  return {(variant & 1U) != 0, (variant & 2U) != 0, (variant & 8U) != 0};
}
[[nodiscard]] constexpr bool inexact_in(unsigned variant) { return (variant & 4U) != 0; }

// A collective and a variant. Each kind of calls (learner.hpp) belongs to one family.
struct Family {
  algorithms::Collective collective{};
  unsigned variant = 0;
};
[[nodiscard]] Family family_of(Kind kind);

class Ways {
 public:
  // Begins to learn, after so many calls. `situation` and `trace` must stay. All ranks say the same about `asks_mpi`: whether the
  // MPI's own collective may make calls.
  void begin(const Group& group, const choose::Situation& situation, Trace& trace, bool asks_mpi, std::uint64_t calls);
  [[nodiscard]] bool learns() const { return lessons_.has_value(); }
  [[nodiscard]] bool asks_mpi() const { return asks_mpi_; }
  [[nodiscard]] Lessons& lessons() { return *lessons_; }
  [[nodiscard]] const Lessons& lessons() const { return *lessons_; }

  // Sets the kind of a route for messages of so many bytes, and what decides for that kind at present.
  void decide(Route& route, Family family, std::size_t bytes);
  // Returns the route by one way of a kind of call.
  [[nodiscard]] Route& way(Kind kind, int number) { return *ways_of(kind)[static_cast<std::size_t>(number)]; }
  // Returns the routes of all kinds, by way.
  [[nodiscard]] const std::map<Kind, std::vector<std::unique_ptr<Route>>>& all() const { return ways_; }

  // Says in a line what changes before a call, and why.
  [[nodiscard]] std::string describe(const Learner::Change& change, std::uint64_t number);
  // Says how long each way took when it was tried last, in comparison with the one that is kept, and what trying has cost.
  [[nodiscard]] std::vector<std::string> tried() const;
  // Writes what was learned to a tuning table. Throws text::FileError.
  void save(const std::string& file, const std::string& machine);

 private:
  const std::vector<choose::Decision>& classes_of(Family family);
  std::vector<choose::Decision> decisions_of(Kind kind);
  // Tells whether a row with this way would leave the bits of all reductions as they are. A row holds for all types and operators.
  bool keeps_bits(const choose::Decision& decision);
  std::vector<std::unique_ptr<Route>>& ways_of(Kind kind);

  const Group* group_ = nullptr;
  const choose::Situation* situation_ = nullptr;
  Trace* trace_ = nullptr;
  std::optional<Lessons> lessons_;
  std::map<Kind, std::vector<std::unique_ptr<Route>>> ways_;
  bool asks_mpi_ = false;
};

}  // namespace copse::communicator
