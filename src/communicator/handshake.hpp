// Ranks that meet by name exchange these messages before they share memory.
//
// A caller says which rank it is. Rank 0 answers with the descriptor of the memory, or says why not. The writer of a message
// may be a stranger, or run another version. So what the kernel can tell is never believed from a message, only compared, and every
// byte is checked before it is used. The head of a message and the answer stay the same in all versions.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace copse::communicator {

struct Head {
  std::array<char, 8> magic{'c', 'o', 'p', 's', 'e', 0x1b, 'm', 't'};
  std::uint32_t version = 1;
  std::uint32_t bytes = 0;  // size of the whole message
};

struct Hello {
  Head head;
  std::uint64_t build = 0;  // build_id()
  std::uint64_t host = 0;  // host_id()
  std::uint64_t job = 0;  // hash of the whole job token; 0: there is none
  std::int32_t rank = -1, ranks = 0, pid = 0, reserved = 0;
  std::array<char, 96> job_text{};  // the beginning of the job token, for error messages
};

struct Answer {
  Head head;
  std::uint64_t host = 0;
  std::int32_t pid = 0;
  std::int32_t refused = 1;
  std::array<char, 256> words{};  // why it was refused
};

// Returns the job that this process belongs to, as NAME=VALUE. That is COPSE_JOB or what a launcher has set. Empty if nothing
// is set.
[[nodiscard]] std::string job_token();

[[nodiscard]] Hello make_hello(int rank, int ranks);
[[nodiscard]] Answer make_answer(std::string_view why_refused);  // empty: the caller may come in

// What a reader knows of a message by the bytes that have come so far. `more`: the rest has not come yet.
enum class Reading : std::uint8_t { more, whole, foreign, other_version };
[[nodiscard]] Reading read_hello(std::string_view bytes, Hello& hello);
[[nodiscard]] Reading read_answer(std::string_view bytes, Answer& answer);

// Says why this caller cannot come in. The text is empty if it can. `pid` is the caller's process id, as the kernel tells it; 0: it
// is of another PID namespace.
[[nodiscard]] std::string refusal_of(const Hello& caller, const Hello& rank0, pid_t pid);
// Says why rank 0 refuses this caller, or why its answer cannot be believed. The text is empty if neither is so. `pid` is the
// process id of rank 0, likewise.
[[nodiscard]] std::string refusal_of(const Answer& rank0, const Hello& caller, pid_t pid);

// Returns a text from another process in a form that fits in a message: bytes that cannot be printed are replaced.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace copse::communicator
