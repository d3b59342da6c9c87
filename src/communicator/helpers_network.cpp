// Callers and helpers agree on a stream.
#include "communicator/helpers_network.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace copse::communicator {

namespace {
using Offered = std::array<std::int32_t, 8>;  // streams; -1 stands for none
}

// The first helper offers some streams, because a helper may still have a wire of an earlier communicator over one of them: then
// messages may still come there.
HelpersStream agree_on_stream(Bootstrap& bootstrap, HelpersNetwork* network) {
  HelpersStream agreed;
  const std::int32_t mine = network == nullptr ? -1 : network->number();
  std::vector<std::int32_t> all(static_cast<std::size_t>(bootstrap.ranks()));
  if (!bootstrap.allgather(&mine, all.data(), sizeof mine)) return agreed;
  std::size_t giver = all.size();  // the first helper by its number
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] >= 0 && (giver == all.size() || all[rank] < all[giver])) giver = rank;
  if (giver == all.size()) return agreed;
  Offered mine_offered{};
  mine_offered.fill(-1);
  std::vector<std::int32_t> held;
  if (giver == static_cast<std::size_t>(bootstrap.rank())) {
    held = network->offer(mine_offered.size());
    std::copy(held.begin(), held.end(), mine_offered.begin());
  }
  std::vector<Offered> offers(all.size());
  const bool offered = bootstrap.allgather(&mine_offered, offers.data(), sizeof mine_offered);
  std::uint32_t free = (1U << mine_offered.size()) - 1;
  for (std::size_t i = 0; i < mine_offered.size(); ++i)
    if (offered && network != nullptr && !network->is_free(offers[giver][i])) free &= ~(1U << i);
  std::vector<std::uint32_t> masks(all.size());
  if (offered && bootstrap.allgather(&free, masks.data(), sizeof free)) {
    for (const std::uint32_t mask : masks) free &= mask;
    if (free != 0) agreed.stream = offers[giver][static_cast<std::size_t>(std::countr_zero(free))];
  }
  if (network != nullptr && agreed.stream >= 0) network->take(agreed.stream);
  if (!held.empty()) network->withdraw(held);
  agreed.numbers = std::move(all);
  return agreed;
}

}  // namespace copse::communicator
