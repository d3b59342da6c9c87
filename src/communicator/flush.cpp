// Writes out the program's streams in a thread of its own, which may be left behind.
#include "communicator/flush.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

namespace copse::communicator {

void flush_streams() {
  try {
    const auto done = std::make_shared<std::atomic<bool>>(false);
    std::thread([done] {
      std::fflush(nullptr);
      done->store(true);
    }).detach();
    for (int i = 0; i < 1000 && !done->load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } catch (const std::exception&) {  // no thread, or no memory: what was printed may be lost, but not the status
  }
}

}  // namespace copse::communicator
