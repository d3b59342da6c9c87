// What a plan may not contain, whatever the other ranks do. It is found without running the plan.
#pragma once

#include <vector>

#include "analysis/script.hpp"
#include "analysis/verdict.hpp"

namespace copse::analysis {

// Appends what is illegal in the rank's plan of that call: its ranges, ranks, areas, nodes, lags, destinations.
void check_rules(const Case& subject, int call, int rank, const plan::Plan& plan, std::vector<Finding>& findings);

}  // namespace copse::analysis
