// Findings in words.
#include "analysis/verdict.hpp"

namespace copse::analysis {

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::illegal: return "illegal";
    case Fault::unwritten: return "unwritten";
    case Fault::stale: return "stale";
    case Fault::mismatch: return "mismatch";
    case Fault::wrong: return "wrong";
    case Fault::race: return "race";
    case Fault::deadlock: return "deadlock";
    case Fault::wire: return "wire";
  }
  return "?";
}

std::string to_text(const Finding& finding) {
  return std::string(name_of(finding.fault)) + ": rank " + std::to_string(finding.rank) + ", call " + std::to_string(finding.call) +
         ", fragment " + std::to_string(finding.fragment) + ", '" + finding.step + "': " + finding.explanation;
}

}  // namespace copse::analysis
