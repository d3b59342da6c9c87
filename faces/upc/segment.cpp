// Makes, maps and divides the shared memory. Boost.Interprocess keeps the books of what is allocated, in the memory itself.
#include "segment.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <cerrno>
#include <new>

#include "communicator/common_memory.hpp"
#include "communicator/shared_bootstrap.hpp"

namespace copse::upc {
namespace {

using Allocator = boost::interprocess::rbtree_best_fit<boost::interprocess::mutex_family>;

constexpr std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
constexpr std::size_t kPage = 65536;  // pages are at most that large on the machines that Copse knows
constexpr std::size_t kAddresses = std::size_t{1} << 45;  // what is left of a process's addresses, with much to spare

Allocator& allocator_at(std::byte* half) { return *reinterpret_cast<Allocator*>(half); }

std::size_t default_half(int threads) {
  const std::size_t memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(memory, kAddresses / static_cast<std::size_t>(threads));
}

}  // namespace

Segment::Segment(int threads, std::size_t half)
    : threads_(threads), half_(rounded(half, kPage)), board_bytes_(rounded(communicator::board_bytes(threads), kStatuses)),
      boards_(rounded(kStatuses + sizeof(std::atomic<int>) * static_cast<std::size_t>(threads), kStatuses)),
      parts_(rounded(boards_ + 2 * board_bytes_, kPage)) {
  static_assert(sizeof(Ending) <= kStatuses);
}

std::unique_ptr<Segment> Segment::make(int threads, std::size_t bytes, std::string& why_not) {
  std::unique_ptr<Segment> segment(new Segment(threads, bytes == 0 ? default_half(threads) : bytes));
  segment->memory_ = engine::make_shared_memory("copse-upc", segment->bytes());
  if (!segment->memory_ || !segment->map()) {
    why_not = "no shared memory of " + std::to_string(segment->bytes()) + " bytes for " + std::to_string(threads) +
              " UPC threads: " + engine::memory_trouble(errno) +
              "; let the sandbox allow memfd_create, raise the limits on memory and file sizes "
              "(ulimit -v, ulimit -f), or set COPSE_UPC_HEAP to less";
    return nullptr;
  }
  new (&segment->ending()) Ending;
  for (int thread = 0; thread < threads; ++thread) {
    new (segment->part(thread) + segment->half_) Allocator(segment->half_, 0);
    new (&segment->status_of(thread)) std::atomic<int>(kRunning);
  }
  new (segment->part(0)) Allocator(segment->half_, 0);
  return segment;
}

bool Segment::map() {
  const engine::FileId file = engine::file_id(memory_.get());
  mapping_ = communicator::map_once(getpid(), memory_.get(), file, bytes(), engine::Size::sealed);
  if (!mapping_) return false;
  region_ = {mapping_->base(), mapping_->bytes(), memory_.get(), file};
  return true;
}

upc_shared Segment::allocate_on_all(std::size_t bytes) const {
  const auto* const found = static_cast<std::byte*>(allocator_at(part(0)).allocate_aligned(bytes, kAlignment));
  return found == nullptr ? upc_null() : upc_shared{static_cast<std::size_t>(found - part(0)), 0, 0};
}

upc_shared Segment::allocate_on(int thread, std::size_t bytes) const {
  const auto* const found = static_cast<std::byte*>(allocator_at(part(thread) + half_).allocate_aligned(bytes, kAlignment));
  return found == nullptr ? upc_null() : upc_shared{static_cast<std::size_t>(found - part(thread)), 0, thread};
}

bool Segment::may_be_block(upc_shared p) const {
  return p.thread >= 0 && p.thread < threads_ && p.address < 2 * half_ && p.address % kAlignment == 0 &&
         (p.address >= half_ || p.thread == 0) && p.address % half_ != 0;
}

void Segment::free(upc_shared p) const { allocator_at(part(p.thread) + (p.address < half_ ? 0 : half_)).deallocate(here(p)); }

}  // namespace copse::upc
