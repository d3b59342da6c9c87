// Making memory, and mapping what others made.
#include "communicator/common_memory.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace copse::communicator {

using engine::Mapping;

std::shared_ptr<Mapping> map_once(const Card &owner, int owner_fd, std::uint64_t number, std::size_t bytes) {
  static std::mutex mutex;
  static auto &known = *new std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<Mapping>>;  // as in this_machine()
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto &entry) { return entry.second.expired(); });
  std::weak_ptr<Mapping> &entry = known[{owner.process, number}];
  std::shared_ptr<Mapping> mapping = entry.lock();
  if (mapping) return mapping;
  const bool own = owner.pid == getpid();  // then /proc is not needed
  const engine::Descriptor opened = own ? engine::Descriptor{} : engine::open_shared_memory(owner.pid, owner_fd);
  if (!own && !opened) return nullptr;
  mapping = std::make_shared<Mapping>(own ? owner_fd : opened.get(), bytes);
  if (!*mapping) return nullptr;
  entry = mapping;
  return mapping;
}

CommonMemory::CommonMemory(const Card &leader, bool leads, std::size_t bytes) : leader_(leader), bytes_(bytes) {
  if (!leads) return;
  static std::atomic<std::uint64_t> last{kHeapNumber};
  made_ = engine::make_shared_memory("copse", bytes);
  offer_ = {made_.get(), errno, ++last};
}

bool CommonMemory::meet(Bootstrap &bootstrap, int leader) {
  offers_.resize(static_cast<std::size_t>(bootstrap.ranks()));
  if (!bootstrap.allgather(&offer_, offers_.data(), sizeof offer_)) return false;
  const Offer &offer = offers_[static_cast<std::size_t>(leader)];
  if (offer.fd >= 0) mapping_ = map_once(leader_, offer.fd, offer.number, bytes_);
  error_ = errno;
  return true;
}

std::string CommonMemory::why_not_made() const {
  for (std::size_t other = 0; other < offers_.size(); ++other)
    if (offers_[other].fd < 0 && offers_[other].error != 0)
      return "rank " + std::to_string(other) + " could not make common memory (memfd_create: " +
             std::strerror(offers_[other].error) +
             "); let the sandbox allow it, or raise the limits on memory and file sizes (ulimit -f)";
  return {};
}

}  // namespace copse::communicator
