// The memory that the ranks of one node share for one communicator: lines, slots and progress words.
//
// A segment is zero when it is made. A line's word of 0 belongs to no ticket (plan::word_of), and a progress word of 0 says
// that ticket 0 is the first that may still be read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/signal/journal.hpp"
#include "engine/signal/line.hpp"
#include "plan/plan.hpp"
#include "plan/rings.hpp"

namespace copse::engine {

using plan::kSlotClasses;
using plan::SlotClass;

// What all ranks of a communicator agree on when it is made.
struct Geometry : plan::Rings {
  std::uint32_t areas = plan::kAreas;
  std::uint32_t helpers = 0;  // the last ranks, to which the others give orders

  [[nodiscard]] std::size_t lines_bytes() const { return std::size_t{areas} * line_depth * sizeof(Line); }
  // Returns the number of calls in a journal. If all ranks sit on one node, a rank ends no call whose ticket is further ahead of
  // another rank's progress than the lines are deep (see keep_in_reach), and it may have begun one more.
  [[nodiscard]] std::uint32_t journal_depth() const { return 2 * line_depth; }
  [[nodiscard]] std::size_t journal_bytes() const {
    return (journal_depth() * sizeof(std::uint64_t) + sizeof(Line) - 1) / sizeof(Line) * sizeof(Line);
  }
  // A ring of orders is as deep as a journal, for the same reason.
  [[nodiscard]] std::size_t orders_bytes() const { return helpers > 0 ? journal_depth() * sizeof(Line) : 0; }
  [[nodiscard]] std::size_t class_bytes(int c) const { return std::size_t{areas} * slots[c].depth * slots[c].bytes; }
  [[nodiscard]] std::size_t rank_bytes() const {
    std::size_t bytes = sizeof(Line) + journal_bytes() + lines_bytes() + orders_bytes();
    for (int c = 0; c < kSlotClasses; ++c) bytes += class_bytes(c);
    return (bytes + 4095) / 4096 * 4096;
  }
};

// A view of the shared memory; owns nothing. `local` numbers the ranks of this node from 0.
class Segment {
 public:
  Segment() = default;
  Segment(std::byte* base, const Geometry& geometry) : base_(base), geometry_(geometry) {
    orders_ = sizeof(Line) + geometry.journal_bytes() + geometry.lines_bytes();
    std::size_t offset = orders_ + geometry.orders_bytes();
    for (int c = 0; c < kSlotClasses; ++c) {
      class_offset_[c] = offset;
      offset += geometry.class_bytes(c);
    }
    stride_ = geometry.rank_bytes();
    news_ = base;
    news_stride_ = stride_;
  }
  // Makes another segment of the same ranks beside `first`. A rank that gives up in one of them has given up in both.
  Segment(std::byte* base, const Geometry& geometry, const Segment& first) : Segment(base, geometry) {
    news_ = first.news_;
    news_stride_ = first.news_stride_;
  }

  static std::size_t bytes(const Geometry& geometry, int local_ranks) {
    return geometry.rank_bytes() * static_cast<std::size_t>(local_ranks);
  }

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] Line& progress(int local) const { return *reinterpret_cast<Line*>(rank_base(local)); }
  // Tells the ranks that wait for this rank why it will not go on. The word is 1 + the rank that this rank found lost, or 1 + its
  // own number if it failed itself. The word is 0 as long as the rank goes on. The word lies in the line of the progress word,
  // which needs no payload.
  [[nodiscard]] std::atomic<std::int32_t>& given_up(int local) const {
    auto* const line = reinterpret_cast<Line*>(news_ + news_stride_ * static_cast<std::size_t>(local));
    return *reinterpret_cast<std::atomic<std::int32_t>*>(line->payload);
  }
  // The processor on which this rank ran when it last began a long wait (this_processor). The word lies beside that of given_up(),
  // but each segment has its own.
  [[nodiscard]] std::atomic<std::int32_t>& processor(int local) const {
    return *reinterpret_cast<std::atomic<std::int32_t>*>(progress(local).payload + sizeof(std::int32_t));
  }
  // The calls that this rank would not make. They lie in the line of the progress word, too, but each segment has its own.
  [[nodiscard]] Refusal& refusal(int local) const {
    return *reinterpret_cast<Refusal*>(progress(local).payload + sizeof(Line) / 2);
  }
  // The calls that this rank has begun last, as a ring of journal_depth() begun_words.
  [[nodiscard]] std::atomic<std::uint64_t>* journal(int local) const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(rank_base(local) + sizeof(Line));
  }
  // The ring of lines of one area.
  [[nodiscard]] Line* lines(int local, int area) const {
    std::byte* const first = rank_base(local) + sizeof(Line) + geometry_.journal_bytes();
    return reinterpret_cast<Line*>(first) + std::size_t(area) * geometry_.line_depth;
  }
  // All lines and slots of a rank, and its orders.
  [[nodiscard]] std::span<std::byte> rings(int local) const {
    std::byte* const first = reinterpret_cast<std::byte*>(lines(local, 0));
    return {first, rank_base(local) + stride_};
  }
  // The line with the order for the call that begins with this ticket.
  [[nodiscard]] Line& order(int local, std::uint64_t ticket) const {
    return reinterpret_cast<Line*>(rank_base(local) + orders_)[ticket & (geometry_.journal_depth() - 1)];
  }
  [[nodiscard]] std::byte* slot(int local, int area, int c, std::uint64_t ticket) const {
    const SlotClass& k = geometry_.slots[c];
    return rank_base(local) + class_offset_[c] + (std::size_t(area) * k.depth + (ticket & (k.depth - 1))) * std::size_t{k.bytes};
  }

 private:
  [[nodiscard]] std::byte* rank_base(int local) const { return base_ + stride_ * static_cast<std::size_t>(local); }

  std::byte* base_ = nullptr;
  std::size_t stride_ = 0;
  std::byte* news_ = nullptr;  // the first segment's progress words (see given_up)
  std::size_t news_stride_ = 0;
  std::size_t orders_ = 0;  // where a rank's orders begin
  std::array<std::size_t, kSlotClasses> class_offset_{};
  Geometry geometry_;
};

}  // namespace copse::engine
