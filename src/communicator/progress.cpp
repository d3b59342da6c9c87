// Takes and ends turns at tasks, and keeps the list of those that are under way.
#include "communicator/progress.hpp"

#include <algorithm>
#include <new>

namespace copse::communicator {

void Progress::take(Task& task) {
  constexpr bool kCancellable = false;  // a call may be half begun
  engine::wait_until(policy(kCancellable), [&] { return task.try_take(); }, [] { return true; });
}

// After a turn, the task is in the list if something is left of it, and only then.
void Progress::end_turn(Task& task, Went went) {
  const bool over = went == Went::over, changes = task.under_way() == over;
  {
    const struct End {  // gives the turn back, even if the list cannot grow
      Task& task;
      ~End() { give_back(task); }
    } end{task};
    if (changes) {
      const std::lock_guard lock(mutex_);
      if (over) {
        std::erase(tasks_, &task);
      } else {
        tasks_.push_back(&task);
      }
      count_.store(tasks_.size());
      task.under_way_.store(!over, std::memory_order_release);
    }
  }
  if (changes && !over && helped()) Mover::here().wake();
}

bool Progress::sweep(bool helper) {
  bool moved = false;
  for (std::size_t i = 0;; ++i) {
    Task* task = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (i >= tasks_.size()) return moved;
      task = tasks_[i];
      if (!task->try_take()) continue;  // taken with the list locked, so that remove() waits for the end of this turn
    }
    moved = turn(*task, [&] { return task->go_on(helper); }) != Went::nowhere || moved;
  }
}

bool Progress::any_of(const void* whole) {
  const std::lock_guard lock(mutex_);
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const Task* task) { return task->whole() == whole; });
}

void Progress::add(Task& task) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    known_.push_back(&task);
  } catch (const std::bad_alloc&) {
  }
}

void Progress::let_rest() {
  const std::lock_guard lock(mutex_);
  for (Task* each : known_)
    if (!each->under_way()) each->rest();
}

void Progress::remove(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(known_, &task);
    std::erase(tasks_, &task);
    count_.store(tasks_.size());
  }
  take(task);
}

bool Progress::ask_for_help() {
  if (!joined_.load()) {
    if (!Mover::here().join(*this)) return false;
    joined_.store(true);
  }
  helped_.fetch_add(1);
  if (any()) Mover::here().wake();
  return true;
}

void Progress::dismiss_helper() {
  helped_.store(0);
  if (joined_.exchange(false)) Mover::here().leave(*this);
}

}  // namespace copse::communicator
