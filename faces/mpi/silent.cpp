// Looks in /proc for a rank of this world that lacks this library.
#include "silent.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "real.hpp"

namespace copse::mpi {
namespace {

constexpr std::string_view kThisLibrary = "/libcopse-mpi";  // whatever the MPI's family

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has(const std::string& process, const std::string_view library) {
  return text_of("/proc/" + process + "/maps").find(library) != std::string::npos;
}

pid_t parent_of(const std::string& process) {
  const std::string stat = text_of("/proc/" + process + "/stat");
  const std::size_t name_end = stat.rfind(')');  // the name may contain anything
  int parent = 0;
  if (name_end == std::string::npos || std::sscanf(stat.c_str() + name_end + 1, " %*c %d", &parent) != 1) return 0;
  return parent;
}

// Tells whether a process was started by this process's parent, with nothing between them but scripts and the like. What a rank
// starts is no rank, even if it uses the MPI.
bool is_from_my_parent(const std::string& process, const std::string& mpi) {
  constexpr int kMostBetween = 4;
  pid_t parent = parent_of(process);
  for (int between = 0; between < kMostBetween && parent > 1 && parent != getppid(); ++between) {
    const std::string above = std::to_string(parent);
    if (has(above, mpi)) return false;
    parent = parent_of(above);
  }
  return parent == getppid();
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

// A preloaded library is in place before the MPI's. So a process that has the MPI but not this library will never have it.
pid_t rank_without_copse() {
  const std::string mpi = file_of_mpi();
  if (mpi.empty()) return 0;
  std::error_code unreadable;
  for (std::filesystem::directory_iterator at("/proc", unreadable), end; !unreadable && at != end; at.increment(unreadable)) {
    const std::string process = at->path().filename();
    const auto pid = static_cast<pid_t>(std::strtol(process.c_str(), nullptr, 10));
    if (pid <= 0 || pid == getpid() || !is_rank_of_this_world(process) || !has(process, mpi) || has(process, kThisLibrary))
      continue;
    if (is_from_my_parent(process, mpi)) return pid;
  }
  return 0;
}

}  // namespace copse::mpi
