// The errors of topology/. A message says where and what is wrong, what was expected, and what to try.
#pragma once

#include <stdexcept>
#include <string>

namespace copse::topology {

class Error : public std::runtime_error {
 public:
  Error(const std::string& where, const std::string& wrong, const std::string& expected, const std::string& remedy)
      : std::runtime_error(where + ": " + wrong + "; expected " + expected + "; " + remedy) {}
};

}  // namespace copse::topology
