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
  if (!changes || over) return;
  if (helped()) Mover::here().wake();
  else if (watched()) Mover::here().rouse();
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
    added_.awake.push_back(&task);
  } catch (const std::bad_alloc&) {
  }
}

// A program may have thousands of communicators that rest. Only some of them are looked at each time.
void Progress::let_rest() {
  constexpr std::size_t kLooks = 8;
  const std::lock_guard lock(mutex_);
  const auto rests = [](Task* task) { return !task->under_way() && task->rest(); };
  const auto move_to = [](std::vector<Task*>& others, std::vector<Task*>& from, std::size_t i) {
    others.push_back(from[i]);
    from[i] = from.back();
    from.pop_back();
  };
  try {
    for (std::size_t i = added_.awake.size(); i-- > 0;)
      if (rests(added_.awake[i])) move_to(added_.resting, added_.awake, i);
    for (std::size_t look = std::min(kLooks, added_.resting.size()); look > 0; --look) {
      added_.next_look = added_.next_look > 0 ? std::min(added_.next_look, added_.resting.size()) - 1 : added_.resting.size() - 1;
      if (!rests(added_.resting[added_.next_look])) move_to(added_.awake, added_.resting, added_.next_look);
    }
  } catch (const std::bad_alloc&) {  // this task stays in its list
  }
}

void Progress::remove(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(added_.awake, &task);
    std::erase(added_.resting, &task);
    std::erase(tasks_, &task);
    count_.store(tasks_.size());
  }
  take(task);
}

bool Progress::join_mover() {
  if (!joined_.load()) {
    if (!Mover::here().join(*this)) return false;
    joined_.store(true);
  }
  return true;
}

bool Progress::ask_for_help() {
  if (!join_mover()) return false;
  helped_.fetch_add(1);
  if (any()) Mover::here().wake();
  return true;
}

bool Progress::watch() {
  if (watched()) return true;
  if (!join_mover()) return false;
  watched_.store(true);
  if (any()) Mover::here().rouse();
  return true;
}

void Progress::dismiss_helper() {
  helped_.store(0);
  watched_.store(false);
  if (joined_.exchange(false)) Mover::here().leave(*this);
}

}  // namespace copse::communicator
