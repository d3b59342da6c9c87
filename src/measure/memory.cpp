// Measures one processor's caches, memory and reductions, by the engine's kernels.
#include "measure/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "engine/kernels/kernels.hpp"
#include "engine/signal/line.hpp"
#include "text/words.hpp"

namespace copse::measure {
namespace {

constexpr std::size_t kLine = 64, kPage = 4096, kStrip = 65536;

// Measures on the processor, in a thread of its own.
template <class Body>
double on(unsigned processor, Body&& body) {
  double result = 0;
  in_threads(std::array{processor}, [&](std::size_t) { result = body(); });
  return result;
}

// Makes a chain: each line holds the offset of the next line. The chain visits all lines once, in a random order, but all lines of
// a page one after the other. So it meets new pages as seldom as a program that reads much.
void make_chain(std::byte* base, std::size_t bytes) {
  std::minstd_rand random(1);
  std::vector<std::size_t> pages(bytes / kPage), lines(kPage / kLine), order;
  std::iota(pages.begin(), pages.end(), 0);
  std::iota(lines.begin(), lines.end(), 0);
  std::shuffle(pages.begin(), pages.end(), random);
  for (const std::size_t page : pages) {
    std::shuffle(lines.begin(), lines.end(), random);
    for (const std::size_t line : lines) order.push_back(page * kPage + line * kLine);
  }
  for (std::size_t i = 0; i < order.size(); ++i) *reinterpret_cast<std::size_t*>(base + order[i]) = order[(i + 1) % order.size()];
}

// Returns the time of a step along the chain, in ns. The end of the walk depends on every step, so the compiler can leave none
// out.
double walk(const std::byte* base, std::size_t steps) {
  static std::atomic<std::size_t> end{0};
  std::size_t at = 0;
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < steps; ++i) at = *reinterpret_cast<const std::size_t*>(base + at);
  end.store(at, std::memory_order_relaxed);
  return ns_since(begin) / static_cast<double>(steps);
}

// The least time of several runs, in ns.
template <class Run>
double least_ns(int times, Run&& run) {
  double least = 1e18;
  for (int time = 0; time < times; ++time) {
    const auto begin = Clock::now();
    run();
    if (time > 0) least = std::min(least, ns_since(begin));
  }
  return least;
}

std::size_t physical_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size) : std::size_t{1} << 30;
}

}  // namespace

double own_line_ns(unsigned processor) {
  constexpr std::size_t kBytes = 4 * kPage;  // half of the smallest first cache
  const Pages memory(kBytes);
  make_chain(memory.at(), kBytes);
  return on(processor, [&] {
    double least = 1e9;
    for (int time = 0; time < 8; ++time) least = std::min(least, walk(memory.at(), 8 * kBytes / kLine));
    return least;
  });
}

double own_rate(unsigned processor, std::size_t cache_bytes) {
  const std::size_t bytes = std::max(kPage, cache_bytes / 4 / kPage * kPage);
  const Pages memory(2 * bytes);
  return on(processor, [&] {
    const std::size_t repeated = std::max<std::size_t>(1, kStrip / bytes);
    const double ns = least_ns(12, [&] {
      for (std::size_t i = 0; i < repeated; ++i)
        for (std::size_t at = 0; at < bytes; at += kStrip)
          kernels::copy(memory.at(bytes + at), memory.at(at), std::min(kStrip, bytes - at));
    });
    return static_cast<double>(bytes * repeated) / ns;
  });
}

double last_rate(std::span<const unsigned> processors, std::size_t bytes) {
  const Pages memory(2 * bytes * processors.size());
  std::vector<double> times(processors.size());
  Gate gate(static_cast<int>(processors.size()));
  in_threads(processors, [&](std::size_t member) {
    std::byte *const from = memory.at(2 * bytes * member), *const to = from + bytes;
    gate.meet();
    times[member] = least_ns(6, [&] {
      for (std::size_t at = 0; at < bytes; at += kStrip) kernels::copy(to + at, from + at, std::min(kStrip, bytes - at));
    });
    gate.meet();
  });
  double sum = 0;
  for (const double time : times) sum += static_cast<double>(bytes) / time;
  return sum;
}

double last_line_ns(unsigned processor, std::size_t bytes) {
  const Pages memory(2 * bytes);
  make_chain(memory.at(), memory.bytes());
  return on(processor, [&] {
    double least = 1e9;
    for (int time = 0; time < 2; ++time) least = std::min(least, walk(memory.at(), memory.bytes() / kLine));
    return least;
  });
}

std::map<std::string, double> reduction_rates(unsigned processor, std::size_t cache_bytes) {
  const std::size_t bytes = std::max(kPage, std::min(kStrip, cache_bytes / 8 / kPage * kPage));
  const Pages memory(3 * bytes);
  std::map<std::string, double> rates;
  in_threads(std::array{processor}, [&](std::size_t) {
    for (int op = 0; op < COPSE_OP_COUNT; ++op) {
      for (int type = 0; type < COPSE_TYPE_COUNT; ++type) {
        const auto operation = static_cast<copse_op>(op);
        const auto element = static_cast<copse_type>(type);
        const kernels::Reduce kernel = kernels::reduce_kernel(operation, element);
        if (kernel == nullptr) continue;
        const std::size_t count = bytes / kernels::type_size(element);
        const double ns = least_ns(4, [&] { kernel(memory.at(), memory.at(bytes), memory.at(2 * bytes), count); });
        rates[text::lower(kernels::op_name(operation)) + ":" + text::lower(kernels::type_name(element))] =
            static_cast<double>(bytes) / ns;
      }
    }
  });
  return rates;
}

// The memory is twice as large as the caches, so that nothing is still in a cache when it is read again. But it is never a large
// part of the machine's memory.
Memory::Memory(std::vector<unsigned> processors, std::size_t cache_bytes)
    : processors_(std::move(processors)),
      part_(std::max(std::min(2 * cache_bytes, physical_bytes() / 16) / processors_.size(), 16 * kStrip) / kStrip * kStrip),
      pages_(part_ * processors_.size()) {}

double Memory::line_ns() const {
  constexpr std::size_t kSteps = 100000;
  make_chain(pages_.at(), pages_.bytes());
  return on(processors_.front(), [&] { return walk(pages_.at(), kSteps); });
}

double Memory::rate(std::size_t readers) const {
  std::vector<double> times(readers);
  Gate gate(static_cast<int>(readers));
  // One reader goes through all parts, so that it finds none of them in a cache.
  const std::size_t bytes = readers == 1 ? pages_.bytes() : part_;
  in_threads(std::span(processors_).first(readers), [&](std::size_t reader) {
    std::vector<std::byte> here(kStrip);
    gate.meet();
    const auto begin = Clock::now();
    for (std::size_t at = 0; at < bytes; at += kStrip) kernels::copy(here.data(), pages_.at(reader * part_ + at), kStrip);
    times[reader] = ns_since(begin);
  });
  double sum = 0;
  for (const double time : times) sum += static_cast<double>(bytes) / time;
  return sum;
}

double Memory::rate_of_one() const { return rate(1); }
double Memory::rate_of_all() const { return rate(processors_.size()); }

}  // namespace copse::measure
