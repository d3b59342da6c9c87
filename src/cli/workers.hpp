// Workers: threads that run many independent tasks and now and then report how far they are.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace copse::cli {

struct Tasks {
  std::size_t count = 0;
  int threads = 0;                                 // 0: as many as there are processors
  std::function<std::string(std::size_t)> run;     // returns what failed, or an empty text
  std::function<std::string(std::size_t)> where;   // what the task is about, for the progress line
};
// Starts the tasks in order, so the long ones should come first. Returns what failed first, or an empty text.
std::string run(const Tasks& tasks);

}  // namespace copse::cli
