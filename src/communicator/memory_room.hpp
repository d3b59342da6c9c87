// Whether there is memory for another communicator: below the user's limit (COPSE_MEMORY), and in the cgroups of the ranks.
// Common memory is charged when it is touched. A process whose cgroup has no more is killed then, so the ranks ask before.
#pragma once

#include <cstdint>
#include <string>

namespace copse::communicator {

// What a communicator may cost each rank, in bytes. Most cost less (docs/memory.md).
inline constexpr std::uint64_t kRoomOfRank = std::uint64_t{4} << 20;

// The memory of Copse that this process has touched, in bytes.
struct Held {
  std::uint64_t common = 0, heap = 0;
};
[[nodiscard]] Held held();

// Tells whether this process may hold kRoomOfRank more common memory, if it may hold `limit` bytes. If `limit` is 0, there is no
// limit.
[[nodiscard]] bool has_room(std::uint64_t limit);

// Returns how many bytes the cgroups of this process leave it, or UINT64_MAX if none limits it. Files that the kernel keeps in
// memory do not count, because it drops them when memory is needed. `root` is the root of the file system.
[[nodiscard]] std::uint64_t left_by_cgroups(const std::string& root);
// Calls left_by_cgroups() with the root of this system.
[[nodiscard]] std::uint64_t left_by_cgroups();

}  // namespace copse::communicator
