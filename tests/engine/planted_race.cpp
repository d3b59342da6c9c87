// A race that ThreadSanitizer must find; otherwise the tests that it passes prove nothing. A line without memory orders
// hands a payload over. The payload is copied as the engine copies: by memcpy, with a length known only at run time.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "engine/signal/line.hpp"

namespace {

template <class T>
struct RelaxedAtomic {
  std::atomic<T> value{};
  void store(T next, std::memory_order) { value.store(next, std::memory_order_relaxed); }
  [[nodiscard]] T load(std::memory_order) const { return value.load(std::memory_order_relaxed); }
};

}  // namespace

int main(int argc, char**) {
  copse::engine::BasicLine<RelaxedAtomic> line{};
  std::byte sent[copse::plan::kLinePayloadBytes]{}, received[copse::plan::kLinePayloadBytes]{};
  const std::size_t bytes = std::min(sizeof sent, 40 + static_cast<std::size_t>(argc));
  std::thread writer([&] {
    std::memcpy(line.payload, sent, bytes);
    line.post(0);
  });
  std::thread reader([&] {
    while (!line.reached(0)) std::this_thread::yield();
    std::memcpy(received, line.payload, bytes);
  });
  writer.join();
  reader.join();
  return 0;
}
