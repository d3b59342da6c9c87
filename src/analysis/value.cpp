// Symbolic values: contributions, and what operators make of them.
#include "analysis/value.hpp"

namespace copse::analysis {

Values::Values(int ranks, int calls)
    : ranks_(ranks), leaves_(static_cast<Id>(1 + calls * ranks)), words_((static_cast<std::uint32_t>(ranks) + 63) / 64) {
  nodes_.reserve(2 * leaves_);
  bits_.reserve(2 * words_ * leaves_);
  nodes_.emplace_back();
  bits_.resize(words_);
  for (int call = 0; call < calls; ++call) {
    for (int rank = 0; rank < ranks; ++rank) {
      Node node;
      node.call = call;
      node.low = node.high = rank;
      node.bits = static_cast<std::uint32_t>(bits_.size());
      bits_.resize(bits_.size() + words_);
      bits_[node.bits + static_cast<std::uint32_t>(rank) / 64] = std::uint64_t{1} << (rank % 64);
      nodes_.push_back(node);
    }
  }
}

Values::Id Values::combine(Id a, Id b) {
  if (a == kNothing || b == kNothing) return kNothing;
  const auto [number, fresh] = combined_.of(std::uint64_t{a} << 32 | b);
  if (!fresh) return leaves_ + number;
  const Node left = nodes_[a], right = nodes_[b];
  Node node;
  node.left = a;
  node.right = b;
  node.call = left.call == right.call ? left.call : kMixed;
  node.ordered = left.ordered && right.ordered && left.high + 1 == right.low;
  node.low = left.low;
  node.high = right.high;
  node.count = left.count + right.count;
  node.distinct = left.distinct && right.distinct;
  node.bits = static_cast<std::uint32_t>(bits_.size());
  bits_.resize(bits_.size() + words_);
  for (std::uint32_t word = 0; word < words_; ++word) {
    const auto l = bits_[left.bits + word], r = bits_[right.bits + word];
    if (l & r) node.distinct = false;
    bits_[node.bits + word] = l | r;
  }
  nodes_.push_back(node);
  return leaves_ + number;
}

bool Values::complete(Id id, int call, int last) const {
  const Node& node = nodes_[id];
  const auto count = static_cast<std::uint32_t>(last) + 1;
  if (id == kNothing || node.call != call || !node.distinct || node.count != count) return false;
  for (std::uint32_t word = 0; word < words_; ++word) {  // the number is right, so check that none is beyond the last
    const std::uint32_t first = word * 64;
    const std::uint64_t allowed = first + 64 <= count ? ~std::uint64_t{0}
                                  : first < count     ? (std::uint64_t{1} << (count - first)) - 1
                                                      : 0;
    if ((bits_[node.bits + word] & ~allowed) != 0) return false;
  }
  return true;
}

void Values::append_text(Id id, std::string& out) const {
  constexpr std::size_t kLongest = 240;
  if (out.size() > kLongest) return;
  if (id == kNothing) {
    out += "nothing";
    return;
  }
  const Node& node = nodes_[id];
  if (node.left == 0) {
    out += std::to_string(node.call) + "." + std::to_string(node.low);
    return;
  }
  out += '(';
  append_text(node.left, out);
  out += " + ";
  append_text(node.right, out);
  out += ')';
  if (out.size() > kLongest && !out.ends_with("...")) out += "...";
}

std::string Values::text(Id id) const {
  std::string out;
  append_text(id, out);
  return out;
}

}  // namespace copse::analysis
