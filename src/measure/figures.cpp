// Medians and spreads.
#include "measure/figures.hpp"

#include <algorithm>
#include <cmath>

namespace copse::measure {
namespace {

// Returns the value at a fraction of the way from the least to the greatest. Where that place falls between two values, the result
// lies between them.
double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

Figure figure_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double median = quantile(values, 0.5);
  const double middle = quantile(values, 0.75) - quantile(values, 0.25);
  return {median, median > 0 ? middle / median : 0};
}

Figure Figures::at(const std::string& place) const {
  const auto found = rounds_.find(place);
  return found == rounds_.end() ? Figure{} : figure_of(found->second);
}

}  // namespace copse::measure
