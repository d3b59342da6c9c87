// Started calls go on whenever their rank is in a call, whichever that is: what the communicators of one rank share for it.
//
// Threads may meet here: any of them moves any communicator on, one at a time. Nobody keeps a turn while it waits, so
// that whoever starts a call never has to wait for a thread that waits for another. One of them may be Copse's own
// (mover.hpp), which helps as long as it is asked to.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "communicator/mover.hpp"
#include "engine/signal/wait.hpp"

namespace copse::communicator {

class Progress {
 public:
  enum class Went : std::uint8_t { nowhere, on, over };

  // A communicator, as far as progress is concerned.
  class Task {
   public:
    Task() = default;
    Task(const Task &) = delete;
    Task &operator=(const Task &) = delete;
    virtual ~Task() = default;

    // Is something under way? False: the task is its owner's alone.
    [[nodiscard]] bool under_way() const { return under_way_.load(std::memory_order_acquire); }
    // What it belongs to: several may belong together.
    [[nodiscard]] virtual const void *whole() const { return this; }

   private:
    friend class Progress;
    // Goes on as far as it comes without waiting; over: nothing is left. Called by whoever has the turn. `helper`: that
    // is Copse's own thread, which must leave alone what the program may rely on to run in its own.
    virtual Went go_on(bool helper) = 0;

    bool try_take() { return !taken_.exchange(true, std::memory_order_acquire); }
    std::atomic<bool> taken_{false}, under_way_{false};
  };

  Progress() = default;
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() { dismiss_helper(); }

  // What else must go on while this rank waits: the MPI. Before the first task.
  void set_other(void (*other)()) { other_ = other; }
  // Every thread may use the wire, Copse's own too.
  void let_any_thread_send() { any_thread_may_send_ = true; }
  [[nodiscard]] bool any_thread_may_send() const { return any_thread_may_send_; }
  // Ranks outnumber processors: whoever waits gets out of the way.
  void set_crowded() {
    const bool cancellable = policy_.cancellable;
    policy_ = engine::WaitPolicy::oversubscribed();
    policy_.cancellable = cancellable;
  }
  // A thread that is cancelled leaves a call in which it waits long. Else the cancellation waits for the call's end.
  void let_cancel() { policy_.cancellable = true; }
  [[nodiscard]] bool cancellable() const { return policy_.cancellable; }

  [[nodiscard]] bool any() const { return count_.load() != 0; }
  [[nodiscard]] bool any_of(const void *whole);

  // Copse's own thread helps from now on, until end_help() has come as often. False if there can be no thread.
  bool ask_for_help();
  void end_help() { helped_.fetch_sub(1); }
  [[nodiscard]] bool helped() const { return helped_.load() > 0; }
  // For good.
  void dismiss_helper();

  // With the task's turn: gives it more to do, and lets it go as far as it comes.
  template <class Body>
  void give(Task &task, Body &&body) {
    take(task);
    turn(task, [&] {
      body();
      return task.go_on(false);
    });
  }
  // Lets the task go on, unless somebody else does.
  void move(Task &task) {
    if (task.under_way() && task.try_take()) turn(task, [&] { return task.go_on(false); });
  }
  // All of them; true: one has moved.
  bool sweep(bool helper = false);
  // For those who wait, now and then.
  void idle() {
    if (any()) sweep();
    if (other_ != nullptr) other_();
  }
  // Before the task dies.
  void remove(Task &task);

  // Waits until ready().
  template <class Ready>
  void until(Ready &&ready) {
    engine::wait_until(policy_, ready, [] { return true; }, [this] { idle(); });
  }

 private:
  void take(Task &task);
  void end_turn(Task &task, Went went);
  // What is done with a turn. An exception gives the turn back, and leaves the task in the list if it was there.
  template <class Body>
  Went turn(Task &task, Body &&body) {
    Went went = Went::nowhere;
    try {
      went = body();
    } catch (...) {
      give_back(task);
      throw;
    }
    end_turn(task, went);
    return went;
  }
  static void give_back(Task &task) { task.taken_.store(false, std::memory_order_release); }

  void (*other_)() = nullptr;
  bool any_thread_may_send_ = false;
  engine::WaitPolicy policy_;
  std::mutex mutex_;           // of the list
  std::vector<Task *> tasks_;  // that are under way
  std::atomic<std::size_t> count_{0};
  std::atomic<int> helped_{0};  // asked for so many times
  std::atomic<bool> joined_{false};
};

}  // namespace copse::communicator
