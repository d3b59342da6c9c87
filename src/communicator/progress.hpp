// Progress is what the communicators of one rank share, so that started calls go on whenever their rank is in any call.
//
// Several threads may meet here. Any of them moves any communicator on, but only one at a time moves the same one. No thread
// keeps a turn while it waits. So a thread that starts a call never has to wait for a thread that waits for another call. One
// of the threads may be Copse's own (mover.hpp), which helps as long as it is asked to.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "communicator/mover.hpp"
#include "engine/scratch.hpp"
#include "engine/signal/wait.hpp"

namespace copse::communicator {

// Many fields: whoever waits asks several of these flags, and must find them in one place.
class Progress final : public Mover::Client {
 public:
  enum class Went : std::uint8_t { nowhere, on, over };

  // A communicator, as far as progress is concerned.
  class Task {
   public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;

    // Tells whether something is under way. If not, only the task's owner touches it.
    [[nodiscard]] bool under_way() const { return under_way_.load(std::memory_order_acquire); }
    // Returns what the task belongs to. Several tasks may belong together.
    [[nodiscard]] virtual const void* whole() const { return this; }

   private:
    friend class Progress;
    // Gives back memory that the task does not need now, if it has done nothing for several of these calls. Returns whether it
    // rests: it has given its memory back, and has done nothing since. Nothing is under way, and the owner is not in the task.
    virtual bool rest() { return false; }
    // Goes on as far as it gets without waiting. Returns `over` if nothing is left. Only a thread that has the turn calls this.
    // With `helper`, that is Copse's own thread, which must leave alone what the program may expect to run in its own threads.
    virtual Went go_on(bool helper) = 0;

    bool try_take() { return !taken_.exchange(true, std::memory_order_acquire); }
    std::atomic<bool> taken_{false}, under_way_{false};
  };

  Progress() = default;
  ~Progress() { dismiss_helper(); }

  // Sets what else must go on while this rank waits: the MPI. Must be called before the first task.
  void set_other(void (*other)()) { other_ = other; }
  // Says that every thread may use the wire, Copse's own included.
  void let_any_thread_send() { any_thread_may_send_ = true; }
  [[nodiscard]] bool any_thread_may_send() const { return any_thread_may_send_; }
  // Says that no two threads of this rank are in calls at a time.
  void take_one_thread() { one_thread_ = true; }
  [[nodiscard]] bool has_one_thread() const { return one_thread_; }
  // Says that ranks outnumber processors. Whoever waits then gets out of the way.
  void set_crowded() { crowded_ = true; }
  // Lets a cancelled thread leave a call in which it waits long. Otherwise the cancellation waits for the end of the call.
  void let_cancel() { cancellable_ = true; }
  [[nodiscard]] bool cancellable() const { return cancellable_; }

  // The memory that calls of this rank compute in.
  [[nodiscard]] engine::ScratchPool& scratches() { return scratches_; }

  [[nodiscard]] bool any() const override { return count_.load() != 0; }
  [[nodiscard]] bool any_of(const void* whole);

  // From now on, Copse's own thread helps until end_help() has been called as often as this. Returns false if there can be no
  // thread.
  bool ask_for_help();
  void end_help() { helped_.fetch_sub(1); }
  [[nodiscard]] bool helped() const override { return helped_.load() > 0; }
  // From now on, Copse's own thread looks every millisecond as long as something is under way. This is for programs whose threads
  // may wait where nothing moves calls. Returns false if there can be no thread.
  bool watch();
  [[nodiscard]] bool watched() const override { return watched_.load(); }
  // Ends all help for good, however often it was asked for.
  void dismiss_helper();

  // Takes the task's turn. `body` gives the task more to do, and then the task goes on as far as it gets.
  template <class Body>
  void give(Task& task, Body&& body) {
    take(task);
    turn(task, [&] {
      body();
      return task.go_on(false);
    });
  }
  // Lets the task go on, unless another thread has its turn.
  void move(Task& task) {
    if (task.under_way() && task.try_take()) turn(task, [&] { return task.go_on(false); });
  }
  // Lets all tasks go on. Returns whether one has moved.
  bool sweep(bool helper) override;
  // Whoever waits calls this now and then.
  void idle() {
    if (any()) sweep(false);
    if (other_ != nullptr) other_();
  }
  // Adds a task to the tasks that let_rest() asks. If there is no memory for that, the task is never asked.
  void add(Task& task) noexcept;
  // Asks tasks that have done nothing lately to give back memory. No other thread may be in a task.
  void let_rest();
  // Must be called before the task is destroyed, whether it was added or not.
  void remove(Task& task);

  // Waits until ready() is true.
  template <class Ready>
  void until(Ready&& ready) {
    engine::wait_until(policy(cancellable()), ready, [] { return true; }, [this] { idle(); });
  }

 private:
  [[nodiscard]] engine::WaitPolicy policy(bool cancellable) const {
    engine::WaitPolicy result = crowded_ ? engine::WaitPolicy::oversubscribed() : engine::WaitPolicy::dedicated();
    result.cancellable = cancellable;
    return result;
  }
  bool join_mover();
  void take(Task& task);
  void end_turn(Task& task, Went went);
  // Runs `body` with the turn, and ends the turn. An exception gives the turn back, and the task stays in the list if it was
  // there.
  template <class Body>
  Went turn(Task& task, Body&& body) {
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
  static void give_back(Task& task) { task.taken_.store(false, std::memory_order_release); }

  void (*other_)() = nullptr;
  bool any_thread_may_send_ = false, one_thread_ = false;
  std::atomic<bool> crowded_{false}, cancellable_{false};
  engine::ScratchPool scratches_;
  std::mutex mutex_;  // protects the lists
  std::vector<Task*> tasks_;  // those that are under way
  struct {
    std::vector<Task*> awake, resting;
    std::size_t next_look = 0;  // among those that rest
  } added_;
  std::atomic<std::size_t> count_{0};
  std::atomic<int> helped_{0};  // how often help is asked for and not ended
  std::atomic<bool> watched_{false}, joined_{false};
};

}  // namespace copse::communicator
