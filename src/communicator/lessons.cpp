// Times calls and agreements.
#include "communicator/lessons.hpp"

#include <algorithm>
#include <chrono>

namespace copse::communicator {
namespace {

double now_ns() { return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The time of a call is an average over about kMemory calls. A single call counts with at most kMostOfOne times the average.
constexpr double kMemory = 16, kMostOfOne = 8;

// The nanoseconds that are assumed for a call of a kind that was never timed. They are less than any call takes, because nothing
// may be spent that was not earned.
constexpr double kLeast = 100, kLeastOfByte = 0.02;

}  // namespace

void Lessons::begin(std::uint64_t number, Kind kind, int way) { timed_ = {number, kind, way, now_ns()}; }

void Lessons::end(std::uint64_t number) {
  if (timed_.number != number) return;
  const double ns = now_ns() - timed_.entry;
  learner_.took(number, timed_.kind, timed_.way, ns);
  if (timed_.way != learner_.current(timed_.kind)) return;
  const auto [known, is_new] = each_ns_.try_emplace(timed_.kind, ns);
  if (!is_new) known->second += (std::min(ns, kMostOfOne * known->second) - known->second) / kMemory;
}

void Lessons::count(Kind kind, std::uint64_t calls, std::uint64_t bytes) {
  const auto known = each_ns_.find(kind);
  const double each_ns = known == each_ns_.end() ? 0 : known->second;
  spent_ns_[kind] += each_ns > 0 ? static_cast<double>(calls) * each_ns
                                 : kLeast * static_cast<double>(calls) + kLeastOfByte * static_cast<double>(bytes);
}

Learner::Words Lessons::words(std::uint64_t number) {
  const Learner::Words words = learner_.words(spent_ns_, agreement_ns_, number);
  spent_ns_.clear();
  return words;
}

void Lessons::begin_agreement() { agreement_began_ = now_ns(); }

void Lessons::end_agreement() { agreement_ns_ = now_ns() - agreement_began_; }

}  // namespace copse::communicator
