// What ranks that meet by name say to one another before they share memory.
//
// A caller says who it means to be; rank 0 answers with the memory's descriptor, or says why not. Whoever wrote a message
// may be a stranger, or run another version: nothing in it is believed that the kernel can tell, and every byte is
// looked at before it is used. The head of a message stays the same in all versions, and so does the answer.
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
  std::uint32_t bytes = 0;  // of the whole message
};

struct Hello {
  Head head;
  std::uint64_t layout = 0;  // of what the ranks will share
  std::uint64_t host = 0;    // host_id()
  std::uint64_t job = 0;     // of all of the job's token
  std::int32_t rank = -1, ranks = 0, pid = 0, reserved = 0;
  std::array<char, 96> job_text{};  // as much of it as there is room for
};

struct Answer {
  Head head;
  std::uint64_t host = 0;
  std::int32_t pid = 0;
  std::int32_t refused = 1;
  std::array<char, 256> words{};  // why
};

// The job that this process belongs to: COPSE_JOB or what a launcher has set, as NAME=VALUE; empty if nothing is set.
[[nodiscard]] std::string job_token();

[[nodiscard]] Hello make_hello(int rank, int ranks);
[[nodiscard]] Answer make_answer(std::string_view why_refused);  // empty: it may come in

// What has come of a message so far.
enum class Reading : std::uint8_t { more, whole, foreign, other_version };
[[nodiscard]] Reading read_hello(std::string_view bytes, Hello &hello);
[[nodiscard]] Reading read_answer(std::string_view bytes, Answer &answer);

// Why this caller cannot come in; empty if it can. `pid`: the caller's, as the kernel says.
[[nodiscard]] std::string refusal_of(const Hello &caller, const Hello &rank0, pid_t pid);
// Why this rank 0 cannot be believed; empty if it can.
[[nodiscard]] std::string refusal_of(const Answer &rank0, const Hello &caller, pid_t pid);

// Text of others, fit for one line of a message.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace copse::communicator
