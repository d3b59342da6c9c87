// Ranks offer one another the kin among which they could make a communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "communicator/kin.hpp"

namespace copse::communicator {

// What a rank says to the others about the kin that it offers.
struct KinWord {
  Kin::Id id;  // zeros: it offers no kin
  std::uint64_t ticket = 0;
  Plots::Set free{};
};

// A rank's offer to make a communicator among its kin. It holds them, unless another thread does.
class KinOffer {
 public:
  explicit KinOffer(std::shared_ptr<Kin> kin) {
    if (kin != nullptr && !kin->held.exchange(true)) kin_ = std::move(kin);
  }
  ~KinOffer() {
    if (kin_ != nullptr) kin_->held.store(false);
  }
  KinOffer(const KinOffer&) = delete;
  KinOffer& operator=(const KinOffer&) = delete;

  [[nodiscard]] KinWord word() const;
  // Tells whether all ranks offer the same kin. `words` are those of all ranks, so the answer is the same everywhere.
  [[nodiscard]] static bool is_common(std::span<const KinWord> words);
  [[nodiscard]] const std::shared_ptr<Kin>& kin() const { return kin_; }

 private:
  std::shared_ptr<Kin> kin_;
};

}  // namespace copse::communicator
