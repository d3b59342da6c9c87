// Another process of this machine, and whether it still lives: the contract with the operating system.
//
// A process id is a number that the system gives away again. So a process is known by its id and the time of its
// start, and it is watched through a pidfd, which stays with the process that it was opened for. Where no pidfd is to
// be had (no descriptors left, a sandbox), the time of the start is read again at every look.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace copse::engine {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t started = 0;  // clock ticks after the boot; 0: /proc does not tell
};
[[nodiscard]] ProcessId this_process();

class Process {
 public:
  // Whoever asks for the same process gets the same object, so that a process holds one descriptor for each of its
  // peers. Never null.
  [[nodiscard]] static std::shared_ptr<Process> find(ProcessId id);

  explicit Process(ProcessId id);
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const { return id_.pid; }

  // True once it has ended, whether or not its parent has taken note. Costs a few system calls; threads may ask at once.
  [[nodiscard]] bool ended();

  // Before the system is asked to do something to the process by its number. It lets an answer stand that is a few
  // milliseconds old: the system gives out all other numbers before it gives out one again.
  [[nodiscard]] bool ended_lately();

 private:
  void open();
  [[nodiscard]] bool holds_descriptor() const;
  [[nodiscard]] bool ended_by_number() const;

  const ProcessId id_;
  std::mutex mutex_;  // of the descriptor
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::atomic<std::int64_t> seen_{0};  // alive, by the coarse clock in ns
};

}  // namespace copse::engine
