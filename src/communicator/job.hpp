// A call under way that needs more than its arguments: one that was started, one with tables of blocks, or one that is in place
// where plans cannot be.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "communicator/routes.hpp"

namespace copse::communicator {

// What a rank tells all others before a call whose sizes are not known to all.
struct Size {
  std::size_t elements : 48 = 0;  // of its block; of pairs, of the largest. Addresses have as many bits.
  std::size_t check : 16 = 0;     // of pairs: see sizes.cpp
};
// What a rank tells another of an alltoall if they do not mean the same: elements that it gives it, and takes of it at most.
struct Pair {
  std::size_t gives = 0, takes = 0;
};

struct Job {
  Arguments arguments;
  std::uint64_t number = 0;  // of the call: see engine::Call
  enum class Stage : std::uint8_t { refusing, exchanging, comparing, running, over } stage = Stage::over;
  struct Running {  // in this stage
    engine::Call call;
    const Route *route = nullptr;
    const engine::Program *program = nullptr;
  } now;
  struct Kept {  // copies of what the arguments of a started call refer to
    engine::Combine combine;
    std::array<std::vector<Block>, 2> tables;
  } kept;
  struct Sizes {
    std::vector<std::size_t> known;  // of all ranks' blocks
    Size mine;
    std::vector<Size> told;          // by all
    std::vector<Pair> pairs;         // what all tell this rank; then what it tells them
  } sizes;
  struct Aside {  // memory instead of the input of an alltoall, or of the output of a reduce_scatter
    std::vector<std::byte> memory;
    std::vector<Block> blocks;
  } aside;
  Outcome outcome = Outcome::done;
  engine::CutOff cut_off;        // of a call that was truncated
  double seconds = 0;            // spent on it so far; under COPSE_TRACE
  std::atomic<bool> over{true};  // of a call that was started: the outcome stands
};

}  // namespace copse::communicator
