// Figures: what was measured, by its place in a machine's file ("levels[0].flag_ns"). Each round of a calibration adds one value to
// each place. The rounds lie seconds apart, so that their spread tells how sure a number is.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace copse::measure {

struct Figure {
  double value = 0;  // the median over the rounds
  double spread = 0;  // the middle half of the rounds, from its least to its greatest value, relative to the median
};

// Returns the median and the spread of some values, or zeros if there are no values.
[[nodiscard]] Figure figure_of(std::vector<double> values);

class Figures {
 public:
  void add(const std::string& place, double value) { rounds_[place].push_back(value); }
  [[nodiscard]] bool has(const std::string& place) const { return rounds_.contains(place); }
  // Returns the figure of a place. It is 0 if the place was not measured.
  [[nodiscard]] Figure at(const std::string& place) const;
  [[nodiscard]] const std::map<std::string, std::vector<double>>& rounds() const { return rounds_; }

 private:
  std::map<std::string, std::vector<double>> rounds_;
};

}  // namespace copse::measure
