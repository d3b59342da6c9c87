// A job is a call under way that needs more than its arguments. It was started, has tables of blocks, or is in place where
// plans cannot work in place.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "communicator/routes.hpp"

namespace copse::communicator {

// What a rank tells all others before a call if not all ranks know its sizes.
struct Size {
  std::size_t elements : 48 = 0;  // of its block or, for pairs of ranks, of its largest block; an address has as many bits
  std::size_t check : 16 = 0;     // whether two ranks mean the same: see sizes.cpp
};
// What a rank tells another rank in an alltoall if some ranks mean different sizes. `gives` is how many elements it gives to the
// other rank. `takes` is how many elements it takes from the other rank at most.
struct Pair {
  std::size_t gives = 0, takes = 0;
};

// Many fields: a job that is interrupted goes on later with nothing but these. They stand in groups, by the stage that needs them.
struct Job {
  struct Kept {  // copies of a started call's arguments and of what they refer to
    Arguments arguments;
    engine::Combine combine;
    std::array<std::vector<Block>, 2> tables;
  } kept;
  const Arguments* arguments = &kept.arguments;  // stay as they are until the job is over
  std::uint64_t number = 0;  // see engine::Call
  enum class Stage : std::uint8_t { refusing, exchanging, comparing, running, over } stage = Stage::over;
  struct Running {  // what runs in this stage
    engine::Call call;
    const Route* route = nullptr;
    const engine::Program* program = nullptr;
  } now;
  engine::Order order;  // of the call, where the communicator has helpers
  struct Sizes {
    std::vector<std::size_t> known;  // elements of every rank's block
    Size mine;
    std::vector<Size> told;          // what all ranks tell
    std::vector<Pair> pairs;         // what all ranks tell this one, and behind that what this one tells all ranks
    std::vector<std::uint64_t> of_root;  // elements of every rank's block, as the root means them
  } sizes;
  struct Aside {  // memory that replaces the input or, in a reduction, the output: of a call in place, or of blocks of a wrong size
    std::vector<std::byte> memory;
    std::vector<Block> blocks;
  } aside;
  Outcome outcome = Outcome::done;
  engine::CutOff cut_off;  // the block that was too long, if the call was truncated
  double seconds = 0;  // time spent on the call so far, under COPSE_TRACE
  std::atomic<bool> over{true};  // false while a started call has no final outcome

  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // A call that was given up may still be under way on other ranks, which know where `aside` lies. So that is kept for ever.
  ~Job();
};

}  // namespace copse::communicator
