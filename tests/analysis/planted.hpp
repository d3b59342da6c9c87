// What the tests of planted faults share: the calls that the checker is shown, and what it must say of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/cases.hpp"

namespace copse::analysis {

inline std::vector<std::int32_t> all_but(int rank, int ranks) {
  std::vector<std::int32_t> result;
  for (int other = 0; other < ranks; ++other)
    if (other != rank) result.push_back(other);
  return result;
}

// Returns the plans of an algorithm for ranks of one node.
inline Plans plans_of(algorithms::Collective collective, const char* name, plan::Carrier carrier, int ranks) {
  Variant variant;
  variant.row = algorithms::find(collective, name);
  variant.ranks = ranks;
  variant.carrier = carrier;
  return *build_plans(variant);
}

// Calls of the same plans, one after the other.
struct Setting {
  algorithms::Collective collective = algorithms::Collective::broadcast;
  int fragments = 1, calls = 4;
  bool in_place = false;
  std::vector<std::int32_t> nodes = {};
  int depth = 2;                 // of the rings
  std::vector<Ride> rides = {};  // in each call
  int deeper_lines = 0;          // how much deeper than those of slots the rings of lines are
};

inline Verdict run(const Plans& plans, const Setting& setting) {
  Case subject;
  subject.ranks = static_cast<int>(plans.size());
  subject.nodes = setting.nodes;
  subject.line_depth = setting.depth + setting.deeper_lines;
  subject.slot_depth = setting.depth;
  const auto shared = std::make_shared<const Plans>(plans);
  for (int i = 0; i < setting.calls; ++i)
    subject.calls.push_back({shared, setting.collective, 0, true, setting.in_place, setting.fragments, setting.rides});
  return check(subject);
}

inline std::string text(const Verdict& verdict) {
  std::string all;
  for (const Finding& finding : verdict.findings) all += to_text(finding) + "\n";
  return all;
}

inline void expect_sound(const Plans& plans, const Setting& setting) {
  const Verdict verdict = run(plans, setting);
  EXPECT_TRUE(verdict.ok()) << text(verdict);
  EXPECT_GT(verdict.steps, 0u);
}

// The first finding must be of this kind, and its text must contain these words.
inline void expect_found(const Verdict& verdict, Fault fault, const std::vector<std::string>& words) {
  ASSERT_FALSE(verdict.ok()) << "nothing was found";
  EXPECT_EQ(verdict.findings[0].fault, fault) << text(verdict);
  for (const std::string& word : words)
    EXPECT_NE(to_text(verdict.findings[0]).find(word), std::string::npos) << "no '" << word << "' in\n" << text(verdict);
}
inline void expect_found(const Plans& plans, const Setting& setting, Fault fault, const std::vector<std::string>& words) {
  expect_found(run(plans, setting), fault, words);
}

// Returns the index of the first step for which `is` holds.
template <class Is>
std::size_t index_where(const plan::Plan& plan, Is&& is) {
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(), is);
  if (found != plan.steps.end()) return static_cast<std::size_t>(found - plan.steps.begin());
  ADD_FAILURE() << "no such step in\n" << plan::to_text(plan);
  return 0;
}

inline std::size_t index_of(const plan::Plan& plan, plan::Kind kind, int area = -1) {
  return index_where(plan, [&](const plan::Step& step) { return step.kind == kind && (area < 0 || step.area == area); });
}

inline void erase(plan::Plan& plan, std::size_t step) {
  plan.steps.erase(plan.steps.begin() + static_cast<std::ptrdiff_t>(step));
  bool shortened = false;
  for (auto& section : plan.sections) {
    if (shortened) --section.first;
    if (!shortened && step < section.first + section.count) {
      --section.count;
      shortened = true;
    }
  }
}

}  // namespace copse::analysis
