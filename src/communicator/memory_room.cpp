// Reads what this process holds (proc(5), smaps) and what its cgroups leave it (the kernel's cgroup-v2 and cgroup-v1/memory).
#include "communicator/memory_room.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace copse::communicator {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// The names of a controller's files, and of two lines of its statistics. Files in memory include common memory, which the kernel
// cannot drop.
struct Names {
  const char *limit, *used, *files, *common;
};
constexpr Names kSecond{"memory.max", "memory.current", "file", "shmem"};
constexpr Names kFirst{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache", "total_shmem"};

// Returns the number in a file, or nothing if the file has none ("max").
std::optional<std::uint64_t> number_of(const std::string& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

std::uint64_t droppable(const std::string& folder, const Names& names) {
  std::ifstream in(folder + "/memory.stat");
  std::uint64_t files = 0, common = 0, number = 0;
  for (std::string name; in >> name >> number;) {
    if (name == names.files) files = number;
    if (name == names.common) common = number;
  }
  return files - std::min(files, common);
}

// Returns what the cgroup `path` and those above it leave. Inside a container `path` may be one of the host's, which is not
// there. The uppermost folder is then the container's own.
std::uint64_t left_below(const std::string& mount, std::string path, const Names& names) {
  std::uint64_t left = kNoLimit;
  while (true) {
    const std::string folder = mount + path;
    const auto limit = number_of(folder + '/' + names.limit);
    // The first version has a number that no machine reaches where there is no limit.
    if (limit && *limit < std::uint64_t{1} << 60) {
      const std::uint64_t used = number_of(folder + '/' + names.used).value_or(0), files = droppable(folder, names);
      const std::uint64_t needed = used - std::min(used, files);
      left = std::min(left, *limit - std::min(*limit, needed));
    }
    if (path.empty()) return left;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

Held held() {
  static constexpr std::string_view kHeap = "/memfd:copse-heap", kCommon = "/memfd:copse";
  Held found;
  std::ifstream maps("/proc/self/smaps");
  std::uint64_t* counted = nullptr;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long kilobytes = 0;
    if (line.find(kHeap) != std::string::npos) {
      counted = &found.heap;
    } else if (line.find(kCommon) != std::string::npos) {
      counted = &found.common;
    } else if (counted != nullptr && std::sscanf(line.c_str(), "Rss: %llu", &kilobytes) == 1) {
      *counted += kilobytes << 10;
      counted = nullptr;
    }
  }
  return found;
}

std::uint64_t left_by_cgroups(const std::string& root) {
  std::ifstream in(root + "/proc/self/cgroup");
  std::uint64_t left = kNoLimit;
  for (std::string line; std::getline(in, line);) {  // number:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const std::string path = line.size() == second + 2 ? std::string() : line.substr(second + 1);
    if (controllers == ",,") {
      left = std::min(left, left_below(root + "/sys/fs/cgroup", path, kSecond));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left, left_below(root + "/sys/fs/cgroup/memory", path, kFirst));
    }
  }
  return left;
}

std::uint64_t left_by_cgroups() {
  static const bool limits = left_by_cgroups("") != kNoLimit;  // it takes 50 us to ask
  return limits ? left_by_cgroups("") : kNoLimit;
}

bool has_room(std::uint64_t limit) { return limit == 0 || held().common + kRoomOfRank <= limit; }

}  // namespace copse::communicator
