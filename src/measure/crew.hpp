// A crew: threads or processes, each on a processor of its own, that measure something together.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>

namespace copse::measure {

using Clock = std::chrono::steady_clock;
[[nodiscard]] inline double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

// Binds the calling thread. A refusal is ignored, because the system then places the thread, and the spread of the rounds shows
// that.
void bind_to(unsigned processor);

// Memory that forked processes share. It is zero when new. Its pages are there from the beginning.
class Pages {
 public:
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] std::byte* at(std::size_t offset = 0) const { return base_ + offset; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* base_;
};

// Where the members of a crew wait for one another. It may lie in memory that processes share.
class Gate {
 public:
  explicit Gate(int members) : members_(members) {}
  // Returns when all members have come. Throws std::runtime_error if one of them does not come within a minute.
  void meet();

 private:
  const int members_;
  std::atomic<int> came_{0}, turns_{0};
};

// Runs body(0) .. body(n - 1) at the same time, each in a thread on the processor with that index. If bodies throw, throws the
// exception of the first of them. No body may wait for a body that has thrown.
void in_threads(std::span<const unsigned> processors, const std::function<void(std::size_t)>& body);

// Runs body(0) .. body(n - 1) at the same time, each in a forked process on the processor with that index. The results must go
// into Pages. Throws std::runtime_error if a process does not end well.
void in_processes(std::span<const unsigned> processors, const std::function<void(std::size_t)>& body);

}  // namespace copse::measure
