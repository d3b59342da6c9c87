// Meeting in memory, and by name.
#include "communicator/shared_bootstrap.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "engine/reach/process.hpp"
#include "engine/signal/wait.hpp"

namespace copse::communicator {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPinnedBytes = 440;

}  // namespace

// Rounds are numbered from 1. In round n a rank (1) waits until all have read round n-1, (2) writes its bytes and
// posts n, (3) waits until all have posted n, (4) reads them and says that it has.
struct alignas(64) Board {
  std::atomic<std::uint64_t> posted, read;
  std::atomic<pid_t> process;  // 0 until the rank has come
  std::atomic<bool> left;      // it takes part in no further round
  std::byte pinned[kPinnedBytes];
};

std::size_t board_bytes(int ranks) { return sizeof(Board) * static_cast<std::size_t>(ranks); }

namespace {

class MemoryBootstrap final : public Bootstrap {
 public:
  MemoryBootstrap(Board *boards, int rank, int ranks, double timeout_seconds, std::shared_ptr<void> keep)
      : boards_(boards), rank_(rank), ranks_(ranks), timeout_(timeout_seconds), keep_(std::move(keep)) {
    boards_[rank_].process.store(getpid(), std::memory_order_relaxed);
  }
  ~MemoryBootstrap() override {
    // A forked child that frees what it inherited is not this rank, and has not the boards.
    if (process_ == getpid()) boards_[rank_].left.store(true, std::memory_order_release);  // partner: gone
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }

  bool allgather(const void *mine, void *all, std::size_t bytes) override {
    for (std::size_t at = 0; at < bytes; at += kPinnedBytes) {
      const std::size_t piece = std::min(kPinnedBytes, bytes - at);
      ++round_;
      Board &board = boards_[rank_];
      if (!wait_all(&Board::read, round_ - 1)) return false;
      std::memcpy(board.pinned, static_cast<const std::byte *>(mine) + at, piece);
      board.posted.store(round_, std::memory_order_release);  // partner: wait_all
      if (!wait_all(&Board::posted, round_)) return false;
      for (int other = 0; other < ranks_; ++other)
        std::memcpy(static_cast<std::byte *>(all) + static_cast<std::size_t>(other) * bytes + at,
                    boards_[other].pinned, piece);
      board.read.store(round_, std::memory_order_release);  // partner: wait_all
    }
    return true;
  }

 private:
  bool wait_all(std::atomic<std::uint64_t> Board::*word, std::uint64_t round) {
    const auto end = Clock::now() + std::chrono::duration<double>(timeout_);
    for (int other = 0; other < ranks_; ++other) {
      const auto there = [&] { return (boards_[other].*word).load(std::memory_order_acquire) >= round; };
      const bool seen = engine::wait_until(engine::WaitPolicy::oversubscribed(), there,
                                           [&] { return Clock::now() < end && !gone(other); });
      if (!seen && !there()) return false;  // it may have posted, and then gone
    }
    return true;
  }
  [[nodiscard]] bool gone(int other) const {
    if (boards_[other].left.load(std::memory_order_acquire)) return true;
    const pid_t process = boards_[other].process.load(std::memory_order_relaxed);
    return process != 0 && process != getpid() && engine::process_ended(process);
  }

  Board *boards_;
  int rank_, ranks_;
  double timeout_;
  pid_t process_ = getpid();
  std::shared_ptr<void> keep_;
  std::uint64_t round_ = 0;
};

bool waits_for_others(const Board *boards, int rank, int ranks) {
  const auto absent = [](const Board &board) { return board.process.load(std::memory_order_relaxed) == 0; };
  return !boards[rank].left.load(std::memory_order_acquire) && std::any_of(boards, boards + ranks, absent);
}

struct Invitation {
  std::int32_t pid, fd, ranks;
};

sockaddr_un abstract_address(const std::string &name, socklen_t &length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "copse-" + name;  // behind a zero byte: abstract, no file
  std::memcpy(address.sun_path + 1, path.data(), path.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
  return address;
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::max<long long>(0, left));
}

// Is there something to read before the end? Signals do not cut the wait short.
bool readable(const engine::Descriptor &descriptor, Clock::time_point end) {
  pollfd state{descriptor.get(), POLLIN, 0};
  int found;
  do found = poll(&state, 1, milliseconds_until(end));
  while (found < 0 && errno == EINTR);
  return found > 0;
}

// Rank 0: invites the others. Empty, or why not all have come.
std::string invite(const engine::Descriptor &listener, const Invitation &invitation, Clock::time_point end) {
  for (int came = 1; came < invitation.ranks;) {
    // A caller that cannot be taken in stays in the queue, and the listener readable: the clock alone ends that.
    if (Clock::now() >= end || !readable(listener, end))
      return "only " + std::to_string(came) + " of " + std::to_string(invitation.ranks) + " ranks came in time";
    const engine::Descriptor caller(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!caller && errno != EINTR && errno != EAGAIN && errno != ECONNABORTED)
      return std::string("cannot take in a rank that calls (accept4: ") + std::strerror(errno) +
             "); let the sandbox allow it, or raise the limit on open files (ulimit -n)";
    if (caller && send(caller.get(), &invitation, sizeof invitation, MSG_NOSIGNAL) == sizeof invitation) ++came;
  }
  return {};
}

}  // namespace

std::unique_ptr<Bootstrap> meet_in_memory(void *memory, int rank, int ranks, double timeout_seconds,
                                          std::shared_ptr<void> keep) {
  return std::make_unique<MemoryBootstrap>(static_cast<Board *>(memory), rank, ranks, timeout_seconds,
                                           std::move(keep));
}

// Each communicator has boards of its own: its rounds begin at 1 again, and what the boards of an earlier one say would
// be taken for them. Bootstraps keep their boards alone, so that a communicator that lives on keeps no later ones.
struct Meeting::Gathering {
  std::shared_ptr<Board[]> boards;
  std::shared_ptr<Gathering> next;
};

std::shared_ptr<Meeting::Gathering> Meeting::gathering(int ranks) {
  auto made = std::make_shared<Gathering>();
  made->boards.reset(new Board[static_cast<std::size_t>(ranks)]());
  return made;
}

Meeting::Meeting(int ranks) {
  const auto none = std::make_shared<Gathering>();
  none->next = gathering(ranks);
  last_.assign(static_cast<std::size_t>(ranks), none);
}

std::unique_ptr<Bootstrap> Meeting::come(int rank, double timeout_seconds) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Gathering> &last = last_[static_cast<std::size_t>(rank)];
  if (last->boards && waits_for_others(last->boards.get(), rank, ranks())) return nullptr;
  if (!last->next) last->next = gathering(ranks());
  const std::shared_ptr<Board[]> &boards = last->next->boards;
  auto bootstrap = meet_in_memory(boards.get(), rank, ranks(), timeout_seconds, boards);
  last = last->next;  // it has come, and if it fails now, the others see that it has left
  return bootstrap;
}

std::unique_ptr<Bootstrap> meet_by_name(const std::string &name, int rank, int ranks, double timeout_seconds,
                                        std::string &why_not) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(timeout_seconds));
  const auto failed = [&](const std::string &why) {
    why_not = "joining '" + name + "' as rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": " + why;
    return nullptr;
  };
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(name, length);
  const auto *generic = reinterpret_cast<const sockaddr *>(&address);
  const std::size_t bytes = board_bytes(ranks);
  engine::Descriptor memory;

  if (rank == 0) {
    memory = engine::make_shared_memory("copse-meeting", bytes);
    if (!memory) return failed(std::string("cannot make common memory (memfd_create): ") + std::strerror(errno));
    const engine::Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listener) return failed(std::string("cannot make a socket: ") + std::strerror(errno));
    if (bind(listener.get(), generic, length) != 0 || listen(listener.get(), ranks) != 0)
      return failed(errno == EADDRINUSE ? std::string("the name is in use by another group; choose another")
                                        : std::string(std::strerror(errno)));
    const std::string trouble = invite(listener, {getpid(), memory.get(), ranks}, end);
    if (!trouble.empty()) return failed(trouble);
  } else {
    Invitation invitation{};
    while (true) {
      const engine::Descriptor line(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (line && connect(line.get(), generic, length) == 0) {
        if (readable(line, end) &&
            recv(line.get(), &invitation, sizeof invitation, MSG_WAITALL) == sizeof invitation)
          break;
      }
      if (Clock::now() >= end) return failed("rank 0 did not come in time");
      const timespec pause{0, 2'000'000};
      nanosleep(&pause, nullptr);
    }
    if (invitation.ranks != ranks)
      return failed("rank 0 expects " + std::to_string(invitation.ranks) + " ranks; give every rank the same number");
    memory = engine::open_shared_memory(invitation.pid, invitation.fd);
    if (!memory) return failed(std::string("cannot open the memory of rank 0: ") + std::strerror(errno));
  }
  auto mapping = std::make_shared<engine::Mapping>(memory.get(), bytes);
  if (!*mapping) return failed(std::string("cannot map the common memory: ") + std::strerror(errno));
  void *base = mapping->base();
  auto bootstrap = meet_in_memory(base, rank, ranks, timeout_seconds, std::move(mapping));
  // Rank 0 must keep its descriptor open until all have mapped the memory: a first round makes sure of it.
  const std::uint8_t here = 1;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(ranks));
  if (!bootstrap->allgather(&here, all.data(), 1)) return failed("not all ranks mapped the common memory in time");
  return bootstrap;
}

}  // namespace copse::communicator
