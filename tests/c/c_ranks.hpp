// Runs ranks with handles of the C interface, for tests. The ranks are threads or processes.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "../engine/ranks.hpp"
#include "copse/copse.h"

namespace copse::test {

// Returns the name of a communicator that nobody else joins.
inline std::string fresh_name() {
  static int number = 0;
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

// What takes longer than this has hung, or nearly. On a quiet machine nothing takes a tenth of a second.
inline constexpr double kSoon = 20;  // seconds
inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// One process tells another, forked after this object was made, that it may go on.
class Word {
 public:
  Word() {
    if (pipe(ends_) != 0) std::abort();
  }
  Word(const Word&) = delete;
  Word& operator=(const Word&) = delete;
  ~Word() {
    for (const int end : ends_) close(end);
  }
  void give() const { static_cast<void>(!write(ends_[1], "", 1)); }
  void await() const {  // for a minute at most: the other one may have died
    pollfd given{ends_[0], POLLIN, 0};
    static_cast<void>(poll(&given, 1, 60000));
  }

 private:
  int ends_[2]{};
};

// Returns an empty text if no rank or process complains.
inline std::string all_well(const std::vector<std::string>& complaints) {
  std::string result;
  for (std::size_t i = 0; i < complaints.size(); ++i)
    if (!complaints[i].empty()) result += "number " + std::to_string(i) + ": " + complaints[i] + "\n";
  return result;
}

// Runs `body` in as many threads as their meeting has ranks. Returns the complaints of `body`.
inline std::string with_meeting(int ranks, const std::function<std::string(copse_meeting*, int)>& body) {
  copse_meeting* meeting = nullptr;
  if (copse_meeting_create(ranks, &meeting) != COPSE_OK) return "no meeting";
  std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { wrong[static_cast<std::size_t>(rank)] = body(meeting, rank); });
  for (std::thread& thread : threads) thread.join();
  copse_meeting_free(meeting);
  return all_well(wrong);
}

// Runs `body` on every rank of a communicator of threads. Returns the complaints of `body`.
inline std::string with_threads(int ranks, const std::function<std::string(copse_comm*)>& body) {
  return with_meeting(ranks, [&](copse_meeting* meeting, int rank) -> std::string {
    copse_comm* comm = nullptr;
    if (copse_comm_create_threads(meeting, rank, &comm) != COPSE_OK) return copse_comm_message(nullptr);
    std::string wrong;
    if (copse_comm_rank(comm) != rank || copse_comm_ranks(comm) != ranks) wrong = "has another rank than it was given";
    if (wrong.empty()) wrong = body(comm);
    copse_comm_free(comm);
    return wrong;
  });
}

// Does the same with processes.
inline std::string with_processes(int ranks, const std::function<std::string(copse_comm*)>& body) {
  const std::string name = fresh_name();
  return all_well(in_processes(ranks, [&](int rank) -> std::string {
    copse_comm* comm = nullptr;
    if (copse_comm_join(name.c_str(), rank, ranks, 60, &comm) != COPSE_OK) return copse_comm_message(nullptr);
    std::string wrong = body(comm);
    copse_comm_free(comm);
    return wrong;
  }));
}

// Checks that a call ended with this status and a message of one line that contains these words. Returns what is wrong.
inline std::string refused(copse_status status, copse_status expected, std::initializer_list<const char*> words,
                           const copse_comm* comm = nullptr) {
  const std::string message = copse_comm_message(comm);
  std::string wrong;
  if (status != expected) wrong = "status " + std::to_string(status) + " instead of " + std::to_string(expected) + "; ";
  for (const char* word : words)
    if (message.find(word) == std::string::npos) wrong += std::string("no '") + word + "' in the message; ";
  if (message.find('\n') != std::string::npos) wrong += "more than a line; ";
  return wrong.empty() ? wrong : wrong + "message: " + message;
}

struct Variable {  // it is set while this object lives
  const char* name;
  Variable(const char* variable, const char* value) : name(variable) { setenv(variable, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name); }
};

}  // namespace copse::test
