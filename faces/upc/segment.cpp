// Makes, maps and divides the shared memory. Boost.Interprocess keeps the books of what is allocated, in the memory itself.
#include "segment.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <cerrno>
#include <new>
#include <utility>

#include "communicator/common_memory.hpp"
#include "communicator/shared_bootstrap.hpp"

namespace copse::upc {
namespace {

using Allocator = boost::interprocess::rbtree_best_fit<boost::interprocess::mutex_family>;

constexpr std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
constexpr std::size_t kPage = 65536;  // pages are at most that large on the machines that Copse knows
constexpr std::size_t kLeastSlice = 4096;  // of a thread's addresses: its books need hundreds of bytes
constexpr std::size_t kAddresses = std::size_t{1} << 45;  // what is left of a process's addresses, with much to spare

Allocator& allocator_at(std::byte* begin) { return *reinterpret_cast<Allocator*>(begin); }

}  // namespace

std::size_t Segment::most_half(const Places& places) {
  const std::size_t memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t threads = places.here().size();
  // A network may need all that it can reach in memory at once.
  return places.on_several_nodes() ? memory / (4 * threads) : std::min(memory, kAddresses / threads);
}

Segment::Segment(Places places, std::size_t half)
    : places_(std::move(places)), half_(rounded(half, kPage)),
      board_bytes_(rounded(communicator::board_bytes(static_cast<int>(places_.here().size())), kStatuses)),
      boards_(rounded(kStatuses + sizeof(std::atomic<std::int64_t>) * places_.here().size(), kStatuses)),
      parts_(rounded(boards_ + 2 * board_bytes_, kPage)) {
  static_assert(sizeof(Ending) <= kStatuses && sizeof(Desk) <= kAlignment);
}

std::unique_ptr<Segment> Segment::make(Places places, std::size_t half, std::string& why_not) {
  std::unique_ptr<Segment> segment(new Segment(std::move(places), half));
  if (const std::size_t least = 2 * kLeastSlice * static_cast<std::size_t>(segment->threads());
      segment->places_.on_several_nodes() && segment->half_ < least) {
    why_not = "COPSE_UPC_HEAP is " + std::to_string(half) + "; required: at least " + std::to_string(least) + " bytes for " +
              std::to_string(segment->threads()) + " UPC threads on several nodes, which divide half of it";
    return nullptr;
  }
  segment->memory_ = engine::make_shared_memory("copse-upc", segment->bytes());
  if (!segment->memory_ || !segment->map()) {
    why_not = "no shared memory of " + std::to_string(segment->bytes()) + " bytes for " +
              std::to_string(segment->places_.here().size()) + " UPC threads: " + engine::memory_trouble(errno) +
              "; let the sandbox allow memfd_create, raise the limits on memory and file sizes "
              "(ulimit -v, ulimit -f), or set COPSE_UPC_HEAP to less";
    return nullptr;
  }
  new (&segment->ending()) Ending;
  for (const int thread : segment->places_.here()) {
    new (segment->part(thread) + segment->half_) Allocator(segment->half_, 0);
    if (const Slice slice = segment->slice_of(thread); slice.bytes > 0)
      new (segment->part(thread) + slice.begin) Allocator(slice.bytes, 0);
    new (&segment->status_of(thread)) std::atomic<std::int64_t>(kRunning);
  }
  return segment;
}

std::unique_ptr<Segment> Segment::join(Places places, std::size_t half, const Offer& offer, std::string& why_not) {
  std::unique_ptr<Segment> segment(new Segment(std::move(places), half));
  segment->memory_ = engine::open_shared_memory(offer.owner, offer.fd, offer.file, segment->bytes(), engine::Size::sealed);
  if (segment->memory_ && segment->map()) return segment;
  why_not = "the shared memory of the UPC threads, which process " + std::to_string(offer.owner) +
            " has made, cannot be mapped: " + engine::memory_trouble(errno);
  return nullptr;
}

Segment::Offer Segment::offer() const { return {getpid(), memory_.get(), region_.file}; }

bool Segment::map() {
  const engine::FileId file = engine::file_id(memory_.get());
  mapping_ = communicator::map_once(getpid(), memory_.get(), file, bytes(), engine::Size::sealed);
  if (!mapping_) return false;
  region_ = {mapping_->base(), mapping_->bytes(), memory_.get(), file};
  return true;
}

std::span<std::byte> Segment::of_this_process() const {
  const auto [first, end] = places_.of_this_process();
  return {part(first), static_cast<std::size_t>(end - first) * 2 * half_};
}

Segment::Slice Segment::slice_of(int thread) const {
  if (!places_.on_several_nodes()) return {kAlignment, thread == 0 ? half_ - kAlignment : 0};
  const std::size_t middle = half_ / 2;
  if (thread == 0) return {kAlignment, middle - kAlignment};
  const std::size_t bytes = middle / static_cast<std::size_t>(threads()) / kAlignment * kAlignment;
  return {middle + static_cast<std::size_t>(thread) * bytes, bytes};
}

upc_shared Segment::allocate_on_all(int thread, std::size_t bytes) const {
  const int by = divider_for(thread);
  const Slice slice = slice_of(by);
  const auto* const found = static_cast<std::byte*>(allocator_at(part(by) + slice.begin).allocate_aligned(bytes, kAlignment));
  return found == nullptr ? upc_null() : upc_shared{static_cast<std::size_t>(found - part(by)), 0, 0};
}

upc_shared Segment::allocate_on(int thread, std::size_t bytes) const {
  if (bytes > half_) return upc_null();  // the allocator's own sums would wrap around
  const auto* const found = static_cast<std::byte*>(allocator_at(part(thread) + half_).allocate_aligned(bytes, kAlignment));
  return found == nullptr ? upc_null() : upc_shared{static_cast<std::size_t>(found - part(thread)), 0, thread};
}

bool Segment::may_be_block(upc_shared p) const {
  return p.thread >= 0 && p.thread < threads() && p.address < 2 * half_ && p.address % kAlignment == 0 &&
         (p.address >= half_ || p.thread == 0) && p.address % half_ != 0 && owner_of(p) < threads();
}

int Segment::owner_of(upc_shared p) const {
  if (p.address >= half_) return p.thread;
  const std::size_t middle = half_ / 2;
  return p.address < middle || !places_.on_several_nodes() ? 0 : static_cast<int>((p.address - middle) / slice_of(1).bytes);
}

void Segment::free(upc_shared p) const {
  const int owner = owner_of(p);
  const std::size_t begin = p.address < half_ ? slice_of(owner).begin : half_;
  allocator_at(part(owner) + begin).deallocate(part(owner) + p.address);
}

}  // namespace copse::upc
