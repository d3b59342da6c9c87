// Another process of this machine, and whether it is still alive: the contract with the operating system.
//
// The system reuses process ids. So a process is identified by its id and its start time, and it is watched through a pidfd,
// which stays with the process that it was opened for. If no pidfd can be had (no descriptors left, a sandbox), the start
// time is read again at every check.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "engine/reach/descriptor.hpp"

namespace copse::engine {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t started = 0;  // clock ticks after the boot; 0: /proc does not tell
};
[[nodiscard]] ProcessId this_process();
[[nodiscard]] ProcessId process_of(pid_t pid);
// Tells whether a process belongs to this process's PID namespace. `pid` is what the kernel says of it: 0 for a process of a
// namespace that cannot be seen from here. A process of a namespace inside this one has an id here, too, but does not
// belong to it. A process that has ended does not belong to it either. Returns nothing, with errno, if /proc cannot be read, for
// instance because this process has no descriptor left.
[[nodiscard]] std::optional<bool> shares_pid_namespace(pid_t pid);
// A process has an id in its PID namespace and in each one around it. Returns how many of them /proc/<pid>/status lists, of which
// the first is that of the namespace that /proc belongs to. Returns 0 if the text does not say. The text may hold anything.
[[nodiscard]] std::ptrdiff_t ids_in(std::string_view status);

class Process {
 public:
  // Returns the object of a process. All callers that ask for one process share one object, so that this process holds one
  // descriptor for each of its peers. The result is never null.
  [[nodiscard]] static std::shared_ptr<Process> find(ProcessId id);

  explicit Process(ProcessId id);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const { return id_.pid; }

  // Returns true once the process has ended, whether or not its parent has taken note. Costs a few system calls. Several
  // threads may call it at once.
  [[nodiscard]] bool ended();

  // Kills the process if it has been stopped (SIGSTOP) for `longest`, so that nobody waits for it for ever. This is for processes
  // of Copse's own, after ended() was false. At most one second is counted between two looks, because the caller may have been
  // stopped as well.
  void end_if_stopped(std::chrono::milliseconds longest);

  // Tells whether the process has ended, with an answer that may be a few milliseconds old. This is for callers that are about to
  // name the process to the system by its number. Such an answer is good enough, because the system gives out all other numbers
  // before it gives out a number again.
  [[nodiscard]] bool ended_lately();

 private:
  void open();
  [[nodiscard]] bool holds_descriptor() const;
  [[nodiscard]] bool ended_by_number() const;

  const ProcessId id_;
  std::mutex mutex_;  // protects all that is not atomic
  KeptDescriptor fd_;
  std::int64_t looked_ = 0, stopped_for_ = -1;  // in ns of the coarse clock; -1: it was not stopped at the last look
  std::atomic<std::int64_t> seen_{0};  // when it was last alive, in ns of the coarse clock
};

}  // namespace copse::engine
