// Checks the rules that each plan obeys by itself, and then walks through all plans.
#include "analysis/checker.hpp"

#include <stdexcept>

#include "analysis/judge.hpp"
#include "analysis/rules.hpp"

namespace copse::analysis {

std::string refusal(int ranks) {
  if (ranks <= kMostChecked) return {};
  return std::to_string(ranks) + " ranks are more than the " + std::to_string(kMostChecked) +
         " for which plans can be proved, because the checker keeps how much every rank knows of every other; prove the algorithm "
         "for fewer ranks, or use copse verify --scale, which builds and walks the plans of more ranks without a proof";
}

Verdict check(const Case& subject, std::size_t most, WaitUse* use) {
  if (const std::string why = refusal(subject.ranks); !why.empty()) throw std::invalid_argument(why);
  Verdict verdict;
  for (std::size_t call = 0; call < subject.calls.size(); ++call) {
    const ScriptedCall& each = subject.calls[call];
    bool seen = false;  // the same plans for the same purpose are checked once
    for (std::size_t before = 0; before < call && !seen; ++before) {
      const ScriptedCall& other = subject.calls[before];
      seen = other.plans == each.plans && other.collective == each.collective && other.root == each.root &&
             (other.fragments > 1) == (each.fragments > 1);
    }
    for (int rank = 0; rank < subject.ranks && !seen; ++rank) {
      const bool replaced =
          subject.replacement != nullptr && subject.replacement->in == each.plans.get() && subject.replacement->rank == rank;
      if (subject.replacement != nullptr && !replaced) continue;
      const plan::Plan& plan = replaced ? subject.replacement->plan : (*each.plans)[static_cast<std::size_t>(rank)];
      check_rules(subject, static_cast<int>(call), rank, plan, verdict.findings);
      if (verdict.findings.size() >= most) return verdict;
    }
  }
  if (!verdict.ok()) return verdict;
  const Script script(subject);
  return Judge(script, most, use).run();
}

}  // namespace copse::analysis
