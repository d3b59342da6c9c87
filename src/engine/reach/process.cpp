// The lives of processes on Linux: pidfd, and /proc/<pid>/stat.
#include "engine/reach/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "engine/reach/known.hpp"
#include "engine/signal/cancel.hpp"

namespace copse::engine {
namespace {

constexpr std::int64_t kStandsFor = 10'000'000;  // ns

std::int64_t coarse_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Returns the whole text of a file of /proc, whose size is not known in advance. On failure, it is empty and errno is set.
std::string text_of(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::string text;
  std::array<char, 1024> part{};
  for (;;) {
    const ssize_t got = read(file.get(), part.data(), part.size());
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    else if (got == 0) return text;
    else if (errno != EINTR) return {};
  }
}

struct Stat {
  pid_t pid = 0;
  char state = 0;
  long threads = 0;
  std::uint64_t started = 0;
};

// Reads fields 1, 3, 20 and 22 of proc(5). All are 0 if they cannot be read. The name in field 2 may contain anything.
Stat stat_of(const std::string& process) {
  Stat result;
  const std::string text = text_of("/proc/" + process + "/stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  result.pid = static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10));
  const int read =
      std::sscanf(text.c_str() + name_end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %lu",
                  &result.state, &result.threads, &result.started);
  return read == 3 ? result : Stat{};
}

bool readable(int fd) {
  pollfd state{fd, POLLIN, 0};
  return poll(&state, 1, 0) > 0;
}

}  // namespace

ProcessId this_process() {
  const Stat mine = stat_of("self");
  const pid_t pid = getpid();
  return {pid, mine.pid == pid ? mine.started : 0};  // otherwise /proc belongs to another PID namespace
}

ProcessId process_of(pid_t pid) { return {pid, this_process().started != 0 ? stat_of(std::to_string(pid)).started : 0}; }

std::ptrdiff_t ids_in(std::string_view status) {
  const std::size_t line = status.find("\nNSpid:");
  if (line == std::string_view::npos) return 0;
  const std::size_t end = status.find('\n', line + 1);
  if (end == std::string_view::npos) return 0;  // cut off
  const std::string_view ids = status.substr(line, end - line);
  return std::count(ids.begin(), ids.end(), '\t');
}

// Two processes in view share a namespace if they have equally many ids. Another user chooses how long the text about his process
// is, by its groups for instance.
std::optional<bool> shares_pid_namespace(pid_t pid) {
  if (pid <= 0) return false;
  const std::string mine = text_of("/proc/self/status");
  if (mine.empty()) return errno == ENOENT ? std::optional(true) : std::nullopt;  // without /proc, nothing can be found out
  const std::ptrdiff_t ids = ids_in(mine);
  if (ids == 0) return true;  // this kernel does not say
  const std::string theirs = text_of("/proc/" + std::to_string(pid) + "/status");
  if (theirs.empty() && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) return std::nullopt;
  return ids == ids_in(theirs);
}

std::shared_ptr<Process> Process::find(ProcessId id) {
  static std::mutex mutex;
  static auto& known = *new Known<std::pair<pid_t, std::uint64_t>, Process>;  // never destroyed: late calls
  const std::lock_guard lock(mutex);
  std::weak_ptr<Process>& entry = known.at({id.pid, id.started});
  std::shared_ptr<Process> process = entry.lock();
  if (!process) entry = process = std::make_shared<Process>(id);
  return process;
}

Process::Process(ProcessId id) : id_(id) { open(); }

Process::~Process() {
  if (!fd_) return;
  const CancelDeferred deferred;
  bool ours = false;
  try {
    ours = holds_descriptor();
  } catch (const std::bad_alloc&) {  // it stays open, because it may be the program's
  }
  fd_.drop(ours);
}

// The id may already belong to another process, but then the start time differs.
void Process::open() {
  if (id_.pid <= 0 || !KeptDescriptor::may_keep_one_more()) return;
  KeptDescriptor opened(Descriptor(static_cast<int>(syscall(SYS_pidfd_open, id_.pid, 0))));  // close-on-exec
  if (!opened) return;
  const Stat now = stat_of(std::to_string(id_.pid));
  if (id_.started != 0 && now.pid != 0 && now.started != id_.started) return;
  fd_ = std::move(opened);
}

// A program may close descriptors that it has not opened, and open files under their numbers. Until Linux 6.9, all pidfds
// share one inode, and only fdinfo tells whose this one is.
bool Process::holds_descriptor() const {
  if (!fd_.is_sound()) return false;
  struct statfs system{};
  constexpr long kPidfs = 0x50494446;
  if (fstatfs(fd_.get(), &system) == 0 && static_cast<long>(system.f_type) == kPidfs) return true;
  const std::string info = text_of("/proc/self/fdinfo/" + std::to_string(fd_.get()));
  if (info.empty())  // no /proc, or no descriptor to look with; then it is at least some pidfd
    return syscall(SYS_pidfd_send_signal, fd_.get(), 0, nullptr, 0) == 0 || errno != EBADF;
  const std::size_t at = info.find("\nPid:\t");
  if (at == std::string::npos) return false;
  const long pid = std::strtol(info.c_str() + at + 6, nullptr, 10);
  // -1: a process that has ended and of which its parent has taken note. It is this one if this one has ended.
  return pid == id_.pid || (pid == -1 && ended_by_number());
}

bool Process::ended() {
  const CancelDeferred deferred;  // callers are in the middle of a copy
  const std::lock_guard lock(mutex_);
  if (fd_ && !holds_descriptor()) {
    fd_.drop(false);
    open();
  }
  bool over = fd_ && readable(fd_.get());
  if (!fd_ || (over && !holds_descriptor())) over = ended_by_number();
  if (!over) seen_.store(coarse_now());
  return over;
}

bool Process::ended_lately() { return coarse_now() - seen_.load() > kStandsFor && ended(); }

void Process::end_if_stopped(std::chrono::milliseconds longest) {
  const std::lock_guard lock(mutex_);
  constexpr std::int64_t kSecond = 1'000'000'000;
  const Stat now = stat_of(std::to_string(id_.pid));
  const std::int64_t time = coarse_now();
  const std::int64_t since = std::min(kSecond, time - std::exchange(looked_, time));
  const bool stopped = now.pid != 0 && now.started == id_.started && now.state == 'T';  // not 't', as under a debugger
  stopped_for_ = !stopped ? -1 : stopped_for_ < 0 ? 0 : stopped_for_ + since;
  if (!stopped || stopped_for_ < std::chrono::nanoseconds(longest).count()) return;
  if (fd_) syscall(SYS_pidfd_send_signal, fd_.get(), SIGKILL, nullptr, 0);
  else kill(id_.pid, SIGKILL);  // its start time was the right one a moment ago
}

bool Process::ended_by_number() const {
  if (id_.pid <= 0) return true;
  if (id_.started != 0) {
    const Stat now = stat_of(std::to_string(id_.pid));
    // The first thread of a process stays as a zombie until the last thread has ended.
    if (now.pid != 0) return now.started != id_.started || (std::strchr("ZX", now.state) != nullptr && now.threads <= 1);
    if (errno == ENOENT || errno == ESRCH) return kill(id_.pid, 0) != 0;
  }
  return kill(id_.pid, 0) != 0 && errno == ESRCH;
}

}  // namespace copse::engine
