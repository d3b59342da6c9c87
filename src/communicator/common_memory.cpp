// Makes memory, and maps memory that others have made.
#include "communicator/common_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "engine/reach/known.hpp"

namespace copse::communicator {

using engine::Mapping;

std::shared_ptr<Mapping> map_once(pid_t owner, int owner_fd, engine::FileId file, std::size_t bytes, engine::Size size) {
  static std::mutex mutex;
  // This is never destroyed, for the same reason as the machine in card.cpp: calls may come from destructors that run later.
  // The keys have a process id, because what the parent of a fork has mapped may not be mapped in the child.
  static auto& known = *new engine::Known<std::pair<pid_t, engine::FileId>, Mapping>;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Mapping>& entry = known.at({getpid(), file});
  std::shared_ptr<Mapping> mapping = entry.lock();
  const bool own = owner == getpid();  // /proc is not needed for memory of this process
  if (mapping ? mapping->bytes() != bytes : own && engine::file_id(owner_fd) != file) {
    errno = ESTALE;
    return nullptr;
  }
  if (mapping) return mapping;
  const engine::Descriptor opened = own ? engine::Descriptor{} : engine::open_shared_memory(owner, owner_fd, file, bytes, size);
  if (!own && !opened) return nullptr;
  mapping = std::make_shared<Mapping>(own ? owner_fd : opened.get(), bytes);
  if (!*mapping) return nullptr;
  entry = mapping;
  return mapping;
}

std::shared_ptr<Mapping> share_memory(Bootstrap& bootstrap, const Card& leader, int leader_rank, std::size_t bytes,
                                      std::string& why_not) {
  CommonMemory memory(leader);
  if (leader_rank == bootstrap.rank()) memory.make(bytes);
  std::vector<std::uint8_t> mapped(static_cast<std::size_t>(bootstrap.ranks()));
  const bool met = memory.meet(bootstrap);
  if (met) memory.open(leader_rank, bytes);
  const std::uint8_t mine = memory.mapping() ? 1 : 0;
  if (!met || !bootstrap.allgather(&mine, mapped.data(), sizeof mine)) {
    why_not = kNotGathered;
    return nullptr;
  }
  const auto at = std::find(mapped.begin(), mapped.end(), 0);
  if (at == mapped.end()) return memory.mapping();
  why_not = memory.why_not_made();
  if (why_not.empty()) why_not = "rank " + std::to_string(at - mapped.begin()) + " could not map more common memory";
  return nullptr;
}

void CommonMemory::make(std::size_t bytes) {
  made_ = engine::make_shared_memory("copse", bytes);
  offer_ = {made_.get(), errno, engine::file_id(made_.get()), {}};
}

void CommonMemory::tell(const Survey& survey, std::size_t at) {
  offer_.facts = survey.facts;
  if (offer_.fd < 0 || survey.places.empty()) return;
  const std::size_t bytes = survey.places.size() * sizeof survey.places.front();
  errno = ESTALE;
  if (engine::file_id(made_.get()) == offer_.file &&
      pwrite(made_.get(), survey.places.data(), bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes))
    return;
  offer_.error = errno;
  offer_.fd = -1;
}

bool CommonMemory::meet(Bootstrap& bootstrap) {
  offers_.resize(static_cast<std::size_t>(bootstrap.ranks()));
  return bootstrap.allgather(&offer_, offers_.data(), sizeof offer_);
}

void CommonMemory::open(int leader, std::size_t bytes) {
  const Offer& offer = offers_[static_cast<std::size_t>(leader)];
  if (offer.fd >= 0) mapping_ = map_once(leader_.pid, offer.fd, offer.file, bytes, engine::Size::sealed);
  error_ = errno;
}

std::string CommonMemory::why_not_made() const {
  for (std::size_t other = 0; other < offers_.size(); ++other)
    if (offers_[other].fd < 0 && offers_[other].error != 0)
      return "rank " + std::to_string(other) + " could not make common memory (" + std::strerror(offers_[other].error) +
             "); let the sandbox allow memfd_create, or raise the limits on memory and file sizes (ulimit -f)";
  return {};
}

}  // namespace copse::communicator
