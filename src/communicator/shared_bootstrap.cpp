// Ranks meet in memory.
#include "communicator/shared_bootstrap.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/reach/process.hpp"
#include "engine/signal/wait.hpp"

namespace copse::communicator {
namespace {

constexpr std::size_t kPinnedBytes = 440;

}  // namespace

// Rounds are numbered from 1. In round n, a rank (1) waits until all have read round n-1, (2) writes its bytes and posts n, (3)
// waits until all have posted n, (4) reads their bytes and says that it has.
struct alignas(64) Board {
  std::atomic<std::uint64_t> posted, read;
  std::atomic<std::uint64_t> process;  // 0 until it is known which process is the rank, or whether it has come
  std::atomic<bool> left;      // the rank takes part in no further round
  std::byte pinned[kPinnedBytes];
};

std::size_t board_bytes(int ranks) { return sizeof(Board) * static_cast<std::size_t>(ranks); }

namespace {

// word_of() packs a ProcessId into one word, and process_in() unpacks it. Linux has process ids below 2^22.
constexpr unsigned kPidBits = 22;
std::uint64_t word_of(engine::ProcessId process) { return process.started << kPidBits | static_cast<std::uint32_t>(process.pid); }
engine::ProcessId process_in(std::uint64_t word) { return {static_cast<pid_t>(word & ((1U << kPidBits) - 1)), word >> kPidBits}; }

}  // namespace

void expect_on_board(void* memory, int rank, engine::ProcessId process) {
  static_cast<Board*>(memory)[rank].process.store(word_of(process), std::memory_order_relaxed);
}

void leave_board(void* memory, int rank) {
  static_cast<Board*>(memory)[rank].left.store(true, std::memory_order_release);  // partner: gone
}

namespace {

class MemoryBootstrap final : public Bootstrap {
 public:
  MemoryBootstrap(Board* boards, int rank, int ranks, Deadline deadline, std::shared_ptr<void> keep)
      : boards_(boards), rank_(rank), ranks_(ranks), deadline_(deadline), keep_(std::move(keep)),
        processes_(static_cast<std::size_t>(ranks)) {
    expect_on_board(boards_, rank_, engine::this_process());
  }
  ~MemoryBootstrap() override {
    // A forked child that frees what it inherited is not this rank, and does not have the boards.
    if (process_ == getpid()) leave_board(boards_, rank_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }

  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    for (std::size_t at = 0; at < bytes && !broken_; at += kPinnedBytes) {
      const std::size_t piece = std::min(kPinnedBytes, bytes - at);
      ++round_;
      Board& board = boards_[rank_];
      if (!wait_all(&Board::read, round_ - 1)) break;
      std::memcpy(board.pinned, static_cast<const std::byte*>(mine) + at, piece);
      board.posted.store(round_, std::memory_order_release);  // partner: wait_all
      if (!wait_all(&Board::posted, round_)) break;
      for (int other = 0; other < ranks_; ++other)
        std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(other) * bytes + at, boards_[other].pinned, piece);
      board.read.store(round_, std::memory_order_release);  // partner: wait_all
    }
    return !broken_;
  }

  void settle(std::function<void()> idle, std::function<bool()>) override {
    deadline_ = Deadline::never();
    idle_ = std::move(idle);
  }

 private:
  // Returns false if some rank will never come. Then the ranks are out of step for good.
  bool wait_all(std::atomic<std::uint64_t> Board::* word, std::uint64_t round) {
    const auto idle = [&] {
      if (idle_) idle_();
    };
    for (int other = 0; other < ranks_ && !broken_; ++other) {
      const auto there = [&] { return (boards_[other].*word).load(std::memory_order_acquire) >= round; };
      const bool seen = engine::wait_until(
          engine::WaitPolicy::oversubscribed(), there, [&] { return !deadline_.passed() && !gone(other); }, idle);
      broken_ = !seen && !there();  // it may have posted, and then gone
    }
    return !broken_;
  }
  [[nodiscard]] bool gone(int other) {
    const Board& board = boards_[other];
    if (board.left.load(std::memory_order_acquire)) return true;
    const std::uint64_t word = board.process.load(std::memory_order_relaxed);
    if (word == 0 || process_in(word).pid == getpid()) return false;
    auto& process = processes_[static_cast<std::size_t>(other)];
    if (!process) process = engine::Process::find(process_in(word));
    return process->ended();
  }

  Board* boards_;
  int rank_, ranks_;
  pid_t process_ = getpid();
  Deadline deadline_;
  std::function<void()> idle_;
  std::shared_ptr<void> keep_;
  std::vector<std::shared_ptr<engine::Process>> processes_;  // of the ranks that have been waited for
  std::uint64_t round_ = 0;
  bool broken_ = false;
};

bool waits_for_others(const Board* boards, int rank, int ranks) {
  const auto absent = [](const Board& board) { return board.process.load(std::memory_order_relaxed) == 0; };
  return !boards[rank].left.load(std::memory_order_acquire) && std::any_of(boards, boards + ranks, absent);
}

}  // namespace

void leave_board_of(int descriptor, int rank) {
  const std::uint8_t yes = 1;
  const std::size_t at = static_cast<std::size_t>(rank) * sizeof(Board) + offsetof(Board, left);
  // If this fails, the others wait until their deadline.
  [[maybe_unused]] const ssize_t written = pwrite(descriptor, &yes, sizeof yes, static_cast<off_t>(at));
}

std::unique_ptr<Bootstrap> meet_in_memory(void* memory, int rank, int ranks, Deadline deadline, std::shared_ptr<void> keep) {
  return std::make_unique<MemoryBootstrap>(static_cast<Board*>(memory), rank, ranks, deadline, std::move(keep));
}

// The meeting of the ranks for one communicator. Each communicator has boards of its own, because its rounds begin at 1 again, and
// the words on the boards of an earlier communicator would be taken for its own. A bootstrap keeps only its own boards, so that a
// communicator that lives on keeps no later ones.
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

std::unique_ptr<Bootstrap> Meeting::come(int rank, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Gathering>& last = last_[static_cast<std::size_t>(rank)];
  if (last->boards && waits_for_others(last->boards.get(), rank, ranks())) return nullptr;
  if (!last->next) last->next = gathering(ranks());
  const std::shared_ptr<Board[]>& boards = last->next->boards;
  auto bootstrap = meet_in_memory(boards.get(), rank, ranks(), deadline, boards);
  last = last->next;  // this rank has come; if it fails now, the others see that it has left
  return bootstrap;
}

}  // namespace copse::communicator
