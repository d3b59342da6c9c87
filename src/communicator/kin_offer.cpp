// What ranks say about the kin that they offer.
#include "communicator/kin_offer.hpp"

#include <algorithm>

namespace copse::communicator {

KinWord KinOffer::word() const {
  KinWord word;
  if (kin_ == nullptr) return word;
  word.id = kin_->id;
  word.free = kin_->plots.free_ones(word.ticket);
  return word;
}

bool KinOffer::is_common(std::span<const KinWord> words) {
  const Kin::Id& id = words.front().id;
  return id != Kin::Id{} && std::all_of(words.begin(), words.end(), [&](const KinWord& word) { return word.id == id; });
}

}  // namespace copse::communicator
