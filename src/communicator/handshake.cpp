// Writes, reads and judges the messages of ranks that meet by name.
#include "communicator/handshake.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#include "communicator/card.hpp"
#include "communicator/shared_bootstrap.hpp"

namespace copse::communicator {
namespace {

template <std::size_t N>
void write_text(std::array<char, N>& room, std::string_view text) {
  std::copy_n(text.data(), std::min(text.size(), N - 1), room.data());
}

template <std::size_t N>
std::string text_in(const std::array<char, N>& room) {
  return printable({room.data(), strnlen(room.data(), N)});
}

template <class Message>
Reading read_message(std::string_view bytes, Message& message) {
  static_assert(std::is_trivially_copyable_v<Message>);
  const Head expected;
  if (bytes.substr(0, expected.magic.size()) !=
      std::string_view(expected.magic.data(), expected.magic.size()).substr(0, bytes.size()))
    return Reading::foreign;
  if (bytes.size() < sizeof(Head)) return Reading::more;
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.version != expected.version) return Reading::other_version;
  if (head.bytes != sizeof(Message) || bytes.size() > sizeof(Message)) return Reading::foreign;
  if (bytes.size() < sizeof(Message)) return Reading::more;
  std::memcpy(&message, bytes.data(), sizeof message);
  return Reading::whole;
}

constexpr const char* kOtherNamespace =
    "rank 0 sits in another PID namespace or container; processes that share memory need one: start both in one container, or let "
    "the containers share it (docker run --pid=container:NAME, shareProcessNamespace)";

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

std::string job_token() {
  for (const char* name : {"COPSE_JOB", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    if (const char* value = std::getenv(name); value != nullptr && *value != 0) return std::string(name) + "=" + value;
  return {};
}

Hello make_hello(int rank, int ranks) {
  Hello hello;
  hello.head.bytes = sizeof hello;
  hello.build = build_id();
  hello.host = host_id();
  const std::string job = job_token();
  hello.job = job.empty() ? 0 : std::hash<std::string>{}(job);
  write_text(hello.job_text, job);
  hello.rank = rank;
  hello.ranks = ranks;
  hello.pid = getpid();
  return hello;
}

Answer make_answer(std::string_view why_refused) {
  Answer answer;
  answer.head.bytes = sizeof answer;
  answer.host = host_id();
  answer.pid = getpid();
  answer.refused = why_refused.empty() ? 0 : 1;
  write_text(answer.words, why_refused);
  return answer;
}

Reading read_hello(std::string_view bytes, Hello& hello) { return read_message(bytes, hello); }
Reading read_answer(std::string_view bytes, Answer& answer) { return read_message(bytes, answer); }

std::string refusal_of(const Hello& caller, const Hello& rank0, pid_t pid) {
  if (caller.build != rank0.build) return "rank 0 runs another build of Copse; give all ranks the same library";
  if (pid == 0 || caller.host != rank0.host || caller.pid != pid) return kOtherNamespace;
  if (caller.job != rank0.job) {
    const std::string theirs = text_in(rank0.job_text), mine = text_in(caller.job_text);
    return "rank 0 belongs to another job (" + (theirs.empty() ? "no job's token" : theirs) + ") than this rank (" +
           (mine.empty() ? "no job's token" : mine) + "); choose another name, or set COPSE_JOB alike for all ranks";
  }
  if (caller.ranks != rank0.ranks)
    return "rank 0 expects " + std::to_string(rank0.ranks) + " ranks; give every rank the same number";
  if (caller.rank < 1 || caller.rank >= rank0.ranks)
    return "rank " + std::to_string(caller.rank) + " cannot call rank 0; expected 1 to " + std::to_string(rank0.ranks - 1);
  return {};
}

std::string refusal_of(const Answer& rank0, const Hello& caller, pid_t pid) {
  if (rank0.refused != 0) {
    const std::string words = text_in(rank0.words);
    return words.empty() ? "rank 0 refuses this rank and does not say why" : words;
  }
  if (pid == 0 || rank0.host != caller.host || rank0.pid != pid) return kOtherNamespace;
  return {};
}

}  // namespace copse::communicator
