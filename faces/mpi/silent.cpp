// Looks in /proc for a rank of this world that lacks this library.
#include "silent.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "real.hpp"

namespace copse::mpi {
namespace {

constexpr std::string_view kThisLibrary = "/libcopse-mpi";  // whatever the MPI's family

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

pid_t parent_of(const std::string& process) {
  const std::string stat = text_of("/proc/" + process + "/stat");
  const std::size_t name_end = stat.rfind(')');  // the name may contain anything
  int parent = 0;
  if (name_end == std::string::npos || std::sscanf(stat.c_str() + name_end + 1, " %*c %d", &parent) != 1) return 0;
  return parent;
}

// Returns the processes between this process's parent and a process that it has started. Returns nothing if this process's
// parent is not an ancestor of that process within four generations.
std::optional<std::vector<std::string>> between_my_parent_and(const std::string& process) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> between;
  pid_t parent = parent_of(process);
  for (; parent > 1 && parent != getppid() && between.size() < kMost; parent = parent_of(between.back()))
    between.push_back(std::to_string(parent));
  return parent == getppid() ? std::optional(between) : std::nullopt;
}

// Returns the value of a variable with which the process was started. It is empty if there is none.
std::string variable_of(const std::string& environment, const char* name) {
  const std::string start = std::string(1, '\0') + name + '=';
  const std::string all = std::string(1, '\0') + environment;
  const std::size_t at = all.find(start);
  return at == std::string::npos ? std::string() : all.substr(at + start.size()).c_str();
}

bool is_rank_of_this_world(const std::string& process) {
  const std::string environment = text_of("/proc/" + process + "/environ");
  const auto own = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (variable_of(environment, "PMIX_NAMESPACE") != own("PMIX_NAMESPACE")) return false;
  for (const char* const name : {"PMI_RANK", "PMIX_RANK"}) {
    const std::string theirs = variable_of(environment, name), mine = own(name);
    if (!theirs.empty() && !mine.empty()) return theirs != mine;
  }
  return false;
}

// Returns the file from which this process has the MPI.
std::string file_of_mpi() {
  const auto address = reinterpret_cast<std::uintptr_t>(real().Iallreduce);
  std::istringstream maps(text_of("/proc/self/maps"));
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2 || address < from || address >= to) continue;
    const std::size_t path = line.find('/');
    if (path != std::string::npos) return line.substr(path);
  }
  return {};
}

}  // namespace

// What a rank starts is no rank, even if it uses the MPI; scripts that start a rank do not use it. A preloaded library is in place
// before the MPI's. So a process that has the MPI but not this library will never have it.
pid_t rank_without_copse() {
  const std::string mpi = file_of_mpi();
  if (mpi.empty()) return 0;
  std::error_code unreadable;
  for (std::filesystem::directory_iterator at("/proc", unreadable), end; !unreadable && at != end; at.increment(unreadable)) {
    const std::string process = at->path().filename();
    const auto pid = static_cast<pid_t>(std::strtol(process.c_str(), nullptr, 10));
    if (pid <= 0 || pid == getpid()) continue;
    const auto between = between_my_parent_and(process);
    if (!between || !is_rank_of_this_world(process)) continue;
    const auto maps_of = [](const std::string& one) { return text_of("/proc/" + one + "/maps"); };
    const auto has_mpi = [&](const std::string& maps) { return maps.find(mpi) != std::string::npos; };
    const std::string maps = maps_of(process);
    if (has_mpi(maps) && maps.find(kThisLibrary) == std::string::npos &&
        std::none_of(between->begin(), between->end(), [&](const std::string& one) { return has_mpi(maps_of(one)); }))
      return pid;
  }
  return 0;
}

}  // namespace copse::mpi
