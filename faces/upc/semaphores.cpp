// Semaphores and transfers that signal (Berkeley UPC's extensions, <copse/bupc.h>).
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include "checks.hpp"
#include "copse/bupc.h"
#include "engine/signal/wait.hpp"
#include "far.hpp"

namespace copse::upc {
namespace {

// What lies in shared memory. A waiting thread takes what it waits for in one step, so no two take the same.
struct Semaphore {
  std::int64_t count = 0;
  std::int64_t flags = 0;
};

constexpr int kAllFlags = BUPC_SEM_BOOLEAN | BUPC_SEM_SPRODUCER | BUPC_SEM_SCONSUMER;

// A semaphore, as one thread uses it.
class Handle {
 public:
  Handle(const Thread& thread, const char* function, bupc_sem_t sem, std::size_t count)
      : thread_(thread), function_(function),
        value_(thread, function, object_at(thread, function, "semaphore", sem.at, "bupc_sem_alloc")) {
    read(thread, function, &flags_, {sem.at.address + offsetof(Semaphore, flags), 0, sem.at.thread}, sizeof flags_);
    if (count > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
      fail(thread, function, "count is " + std::to_string(count) + "; required: less than 2^63");
    if (is_boolean() && count > 1)
      fail(thread, function, "count is " + std::to_string(count) + "; required: at most 1, because the semaphore is boolean");
  }

  void post(std::int64_t count) const {
    const std::int64_t before = value_.fetch_add(count);
    if (is_boolean() && before + count > 1)
      fail(thread_, function_, "the semaphore is 1 already; required: a wait before the next post, because it is boolean");
  }
  [[nodiscard]] bool take(std::int64_t count) const {
    for (std::int64_t there = value_.load(); there >= count;) {
      const std::int64_t before = value_.compare_and_swap(there, there - count);
      if (before == there) return true;
      there = before;
    }
    return false;
  }

 private:
  [[nodiscard]] bool is_boolean() const { return (flags_ & BUPC_SEM_BOOLEAN) != 0; }

  const Thread& thread_;
  const char* function_;
  Word value_;
  std::int64_t flags_ = 0;
};

void post(const char* function, bupc_sem_t sem, std::size_t count) {
  Handle(here(function), function, sem, count).post(static_cast<std::int64_t>(count));
}

// If the process of another thread ends, the process that has forked it notices that, and ends this process, too. So this wait
// need not check whether others are alive.
void wait(const char* function, bupc_sem_t sem, std::size_t count) {
  const Thread& thread = here(function);
  const Handle wanted(thread, function, sem, count);
  const bool crowded = thread.data->capabilities().oversubscribed;
  const auto policy = crowded ? engine::WaitPolicy::oversubscribed() : engine::WaitPolicy::dedicated();
  engine::wait_until(policy, [&] { return wanted.take(static_cast<std::int64_t>(count)); }, [] { return true; });
}

int attempt(const char* function, bupc_sem_t sem, std::size_t count) {
  return Handle(here(function), function, sem, count).take(static_cast<std::int64_t>(count)) ? 1 : 0;
}

void put_and_signal(const char* function, upc_shared dst, const void* src, std::size_t bytes, bupc_sem_t sem, std::size_t count) {
  const Thread& thread = here(function);
  if (dst.thread != sem.at.thread)
    fail(thread, function,
         "dst has affinity to thread " + std::to_string(dst.thread) + "; required: that of the semaphore, which is thread " +
             std::to_string(sem.at.thread));
  write(thread, function, dst, src, bytes);
  post(function, sem, count);
}

}  // namespace
}  // namespace copse::upc

using namespace copse::upc;

extern "C" {

bupc_sem_t bupc_sem_alloc(int flags) {
  const Thread& thread = here("bupc_sem_alloc");
  if ((flags & ~kAllFlags) != 0)
    fail(thread, "bupc_sem_alloc", "flags is " + std::to_string(flags) + "; required: flags of BUPC_SEM_ names, or 0");
  const upc_shared at = new_object(thread, "bupc_sem_alloc", "semaphore", sizeof(Semaphore));
  new (thread.segment->here(at)) Semaphore{0, flags};
  return {at};
}

void bupc_sem_free(bupc_sem_t sem) {
  if (upc_is_null(sem.at)) return;
  const Thread& thread = here("bupc_sem_free");
  give_back(thread, "bupc_sem_free", object_at(thread, "bupc_sem_free", "semaphore", sem.at, "bupc_sem_alloc"));
}

void bupc_sem_post(bupc_sem_t sem) { post("bupc_sem_post", sem, 1); }
void bupc_sem_postN(bupc_sem_t sem, size_t count) { post("bupc_sem_postN", sem, count); }
void bupc_sem_wait(bupc_sem_t sem) { wait("bupc_sem_wait", sem, 1); }
void bupc_sem_waitN(bupc_sem_t sem, size_t count) { wait("bupc_sem_waitN", sem, count); }
int bupc_sem_try(bupc_sem_t sem) { return attempt("bupc_sem_try", sem, 1); }
int bupc_sem_tryN(bupc_sem_t sem, size_t count) { return attempt("bupc_sem_tryN", sem, count); }

void bupc_memput_signal(upc_shared dst, const void* src, size_t bytes, bupc_sem_t sem, size_t count) {
  put_and_signal("bupc_memput_signal", dst, src, bytes, sem, count);
}
void bupc_memput_signal_async(upc_shared dst, const void* src, size_t bytes, bupc_sem_t sem, size_t count) {
  put_and_signal("bupc_memput_signal_async", dst, src, bytes, sem, count);
}

}  // extern "C"
