// The bounds, pieces and cases of rules.
#include "choose/rule.hpp"

#include <array>
#include <bit>

namespace copse::choose {
namespace {

constexpr std::size_t KiB = 1024, kNoBound = Bounds{}.to;

std::string text_of(const Bounds& bounds, const char* what) {
  const std::string unit = std::string(" ") + what + (bounds.together ? " of all ranks together" : "");
  if (bounds.from == 0 && bounds.to == kNoBound) return {};
  if (bounds.to == kNoBound) return "over " + std::to_string(bounds.from - 1) + unit;
  if (bounds.from == 0) return "up to " + std::to_string(bounds.to) + unit;
  return "over " + std::to_string(bounds.from - 1) + " up to " + std::to_string(bounds.to) + unit;
}

}  // namespace

Bounds Bounds::of_one(int ranks) const {
  if (!together || to == kNoBound) return *this;
  return {from, to / std::bit_ceil(static_cast<std::size_t>(ranks))};
}

const char* name_of(Pieces pieces) {
  constexpr std::array names = {"whole", "staged", "large", "strips", "fixed"};
  return names[static_cast<std::size_t>(pieces)];
}

std::size_t fragment_bytes_of(const Rule& rule, const Situation& situation) {
  switch (rule.pieces) {
    case Pieces::whole: return 0;
    case Pieces::staged: return (situation.oversubscribed || situation.ranks == 2 ? 64 : 32) * KiB;
    case Pieces::large: return 64 * KiB;
    case Pieces::strips: return 16 * KiB * static_cast<std::size_t>(situation.ranks);
    case Pieces::fixed: return rule.fragment_bytes;
  }
  return 0;
}

std::string case_of(const Rule& rule) {
  std::string text;
  const auto add = [&text](const std::string& word) { text += word.empty() || text.empty() ? word : ", " + word; };
  add(text_of(rule.bytes, "bytes"));
  add(text_of(rule.ranks, "ranks"));
  for (int i = 0; i < kFacts; ++i) {
    const auto fact = static_cast<Fact>(1U << static_cast<unsigned>(i));
    if ((rule.with & fact) != 0) add(std::string("with ") + name_of(fact));
    if ((rule.without & fact) != 0) add(std::string("without ") + name_of(fact));
  }
  return text.empty() ? "all else" : text;
}

}  // namespace copse::choose
