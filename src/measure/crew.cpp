// Starts threads and processes, and lets them meet.
#include "measure/crew.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/signal/wait.hpp"

namespace copse::measure {
namespace {

constexpr std::chrono::seconds kPatience{60};

}  // namespace

void bind_to(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (processor >= CPU_SETSIZE) return;
  CPU_SET(processor, &set);
  static_cast<void>(sched_setaffinity(0, sizeof set, &set));
}

Pages::Pages(std::size_t bytes)
    : bytes_(bytes), base_(static_cast<std::byte*>(
                         mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0))) {
  if (base_ == MAP_FAILED) throw std::bad_alloc();
}
Pages::~Pages() { munmap(base_, bytes_); }

void Gate::meet() {
  const int turn = turns_.load(std::memory_order_acquire);
  if (came_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    came_.store(0, std::memory_order_relaxed);
    turns_.store(turn + 1, std::memory_order_release);  // pairs with the loads of those who wait
    return;
  }
  const auto end = Clock::now() + kPatience;
  const bool came = engine::wait_until(
      engine::WaitPolicy::dedicated(), [&] { return turns_.load(std::memory_order_acquire) != turn; },
      [&] { return Clock::now() < end; });
  if (!came) throw std::runtime_error("a thread or process that takes part in the measurement has not come for a minute");
}

void in_threads(std::span<const unsigned> processors, const std::function<void(std::size_t)>& body) {
  std::exception_ptr first;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (std::size_t member = 0; member < processors.size(); ++member) {
    threads.emplace_back([&, member] {
      bind_to(processors[member]);
      try {
        body(member);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

void in_processes(std::span<const unsigned> processors, const std::function<void(std::size_t)>& body) {
  std::fflush(nullptr);  // otherwise the children would print buffered output again
  std::vector<pid_t> children;
  const auto end_all = [&] {
    for (const pid_t child : children) kill(child, SIGKILL);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
  };
  for (std::size_t member = 0; member < processors.size(); ++member) {
    const pid_t child = fork();
    if (child < 0) {
      const int error = errno;
      end_all();
      throw std::runtime_error(std::string("fork failed: ") + std::strerror(error));
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      bind_to(processors[member]);
      try {
        body(member);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "copse-native calibrate: %s\n", error.what());
        _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  // If a process fails, the others are ended, because they would wait for it.
  while (!children.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    std::erase(children, ended);
    if (ended >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    end_all();
    throw std::runtime_error("a process that takes part in the measurement has failed");
  }
}

}  // namespace copse::measure
