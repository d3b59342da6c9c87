// A calibration measures every number of a machine's file several times, in rounds, so that a disturbance or another state of the
// machine meets all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/figures.hpp"
#include "measure/pairs.hpp"
#include "topology/machine.hpp"

namespace copse::measure {

struct Options {
  double seconds = 10;  // no round begins later, once there are three
  // Called before each measurement: which fraction of the time is over, and what comes.
  std::function<void(double, const std::string&)> say;
};

struct Calibration {
  topology::Machine machine;
  topology::CpuSet processors;  // those that this process may use
  std::vector<Neighbourhood> neighbourhoods;
  Figures figures;
  int rounds = 0;
  double seconds = 0;
};

// Throws std::runtime_error if something fails that has to work, topology::Error if the machine cannot be discovered.
[[nodiscard]] Calibration calibrate(const Options& options);

// Returns the machine's file (docs/machines.md). `date` and `version` are for its sources.
[[nodiscard]] std::string machine_file(const Calibration& found, const std::string& date, const std::string& version);

}  // namespace copse::measure
