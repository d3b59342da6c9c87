// The rows of the registry as parameters of a test.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"

namespace copse::analysis {

using RowTest = testing::TestWithParam<const algorithms::Algorithm*>;

// The collective and the algorithm, as the name of a test.
inline std::string label(const testing::TestParamInfo<const algorithms::Algorithm*>& info) {
  return std::string(name_of(info.param->collective)).append("_").append(info.param->name);
}

inline std::vector<const algorithms::Algorithm*> rows(std::span<const algorithms::Algorithm> among = algorithms::every()) {
  std::vector<const algorithms::Algorithm*> result;
  for (const auto& row : among) result.push_back(&row);
  return result;
}

}  // namespace copse::analysis
