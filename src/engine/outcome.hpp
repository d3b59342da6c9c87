// How a call ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace copse::engine {

// pending: a call that was started is not done yet.
// truncated: another rank sent more than there was room for. The call is over, and the communicator is sound.
// outside: nothing has been done. The MPI's own collective is to make the call, on all ranks.
// refused: a rank would not make this call. The call is over, the communicator is sound, and the output holds nothing.
// peer_lost: a process has ended, or its node no longer answers.
// peer_failed: a rank has given up, for a reason that it knows.
// no_memory: this rank ran out of memory.
// threw: this rank's part ended in an exception.
enum class Outcome : std::uint8_t {
  done,
  pending,
  truncated,
  outside,
  refused,
  peer_lost,
  peer_failed,
  wire_failed,
  reach_failed,
  no_memory,
  threw
};
// Tells whether the call is over and another one can follow.
inline bool is_over(Outcome outcome) {
  return outcome == Outcome::done || outcome == Outcome::truncated || outcome == Outcome::outside || outcome == Outcome::refused;
}

// A block that is longer than the room that its receiver has. `given` elements go from one rank to another.
struct CutOff {
  static constexpr std::size_t kTooMuch = SIZE_MAX;  // given by a rank of another node; how much is not told
  int from = -1, to = -1;
  std::size_t given = 0, room = 0;
};

}  // namespace copse::engine
