// Workers: many tasks that do not depend on each other, taken by threads, with a word now and then of how far they are.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace copse::cli {

struct Tasks {
  std::size_t count = 0;
  int threads = 0;                                 // 0: as many as processors
  std::function<std::string(std::size_t)> run;     // says what failed, if anything did
  std::function<std::string(std::size_t)> where;   // what the task is about, for people
};
// Begins them in their order, so the long ones should come first.
void run(const Tasks& tasks);

}  // namespace copse::cli
