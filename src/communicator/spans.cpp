// Looks for buffers that overlap.
#include "communicator/spans.hpp"

#include <algorithm>

namespace copse::communicator {

std::string Overlap::text() const {
  if (first->name == second->name) return std::string("blocks of ") + first->name + " overlap";
  return std::string(first->name) + " and " + second->name + " overlap by " + std::to_string(bytes) + " bytes (of " +
         std::to_string(first->end - first->begin) + " and " + std::to_string(second->end - second->begin) + ")";
}

std::optional<Overlap> first_overlap(std::vector<Span>& spans) {
  if (spans.size() < 2) return {};
  if (spans.size() == 2 && (spans[0].end <= spans[1].begin || spans[1].end <= spans[0].begin)) [[likely]]
    return {};
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  const Span* reaches[2] = {nullptr, nullptr};  // the spans that reach furthest so far: one that is read, one that is written
  for (const Span& span : spans) {
    for (const bool written : {false, true}) {
      const Span* other = reaches[written];
      if (other == nullptr || !(written || span.written) || other->end <= span.begin) continue;
      return Overlap{other, &span, std::min(other->end, span.end) - span.begin};
    }
    const Span*& furthest = reaches[span.written];
    if (furthest == nullptr || span.end > furthest->end) furthest = &span;
  }
  return {};
}

}  // namespace copse::communicator
