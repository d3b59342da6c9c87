// Starts helper processes, and lets them go.
#include "helpers.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "communicator/desk.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "world.hpp"

namespace copse::mpi {
namespace {

using communicator::DeskName;
using engine::Descriptor;

auto& known = *new HelpersHere;  // never destroyed (session.hpp)
bool are_ranks = false;          // the helpers of all nodes are ranks
// A descriptor by which helpers learn of this rank's end: the pipe to a helper that this process has started, or a socket for
// goodbyes. The program may have closed it by its number, and opened a file under that number.
struct Lifeline {
  int fd;
  engine::FileId file;
  [[nodiscard]] bool is_open() const { return engine::file_id(fd) == file; }
};
auto& lifelines = *new std::vector<Lifeline>;

void keep(Descriptor&& descriptor) {
  const engine::FileId file = engine::file_id(descriptor.get());
  lifelines.push_back({descriptor.release(), file});
}

// Returns the path of the helpers' program, which lies beside this library or in the build's folder of programs. The path is empty
// if the program is in neither place.
std::string program() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&start_helpers), &info) == 0 || info.dli_fname == nullptr) return {};
  std::string folder(info.dli_fname);
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  for (const char* name : {"copse-native", "../bin/copse-native"})
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  return {};
}

// The environment of a helper, which runs no part of the program and needs none of what is preloaded into it.
std::vector<char*> environment() {
  std::vector<char*> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (std::strncmp(*entry, "LD_PRELOAD=", 11) != 0) result.push_back(*entry);
  result.push_back(nullptr);
  return result;
}

// Starts one helper, on `processor` if that is not negative. Returns why that failed, or an empty text.
std::string start_one(const std::string& path, int processor, DeskName& desk_name) {
  const Descriptor desk = communicator::open_desk(desk_name);
  int ends[2] = {-1, -1};
  if (!desk || pipe2(ends, O_CLOEXEC) != 0) return std::string("no socket or pipe for it: ") + std::strerror(errno);
  const Descriptor theirs(ends[0]);
  Descriptor ours(ends[1]);
  // The helper inherits copies with these numbers. They are above both originals, so that making one copy overwrites neither.
  const int first = std::max({2, desk.get(), theirs.get()}) + 1, second = first + 1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, desk.get(), first);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), second);
  std::array words{path, std::string("serve"), std::to_string(first), std::to_string(second), std::to_string(processor)};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  if (processor < 0) arguments.pop_back();
  arguments.push_back(nullptr);
  std::vector<char*> variables = environment();
  pid_t child = -1;
  const int error = posix_spawn(&child, path.c_str(), &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return path + " could not be started: " + std::strerror(error);
  int status = 0;  // this child leaves a helper behind, and ends
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return path + " serve failed";
  keep(std::move(ours));
  return {};
}

// Tells whether the system lets this process run on the processor. A cpuset cgroup may forbid it.
bool may_run_on(int cpu) {
  cpu_set_t before, only;
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (sched_getaffinity(0, sizeof before, &before) != 0) return true;  // more processors than the mask holds; the helper will see
  const bool may = sched_setaffinity(0, sizeof only, &only) == 0;
  if (may) static_cast<void>(sched_setaffinity(0, sizeof before, &before));
  return may;
}

// Returns the processors on which helpers run: those that the user has named, or the last processors to which no rank of the node
// is bound. The latter ascend, because the first helper serves the first ranks. -1 stands for any processor.
std::vector<int> processors_for(int count, const cpu_set_t& taken) {
  std::vector<int> result = settings().collective_processors.processors;
  for (int& cpu : result) {
    if (may_run_on(cpu)) continue;
    note(kHelpers, "processor " + std::to_string(cpu) + " may not be used here; that helper runs on any processor");
    cpu = -1;
  }
  if (result.empty()) {
    const auto all = std::min(static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)), CPU_SETSIZE);
    for (int cpu = all; cpu-- > 0 && static_cast<int>(result.size()) < count;)
      if (CPU_ISSET(cpu, &taken) == 0 && may_run_on(cpu)) result.push_back(cpu);
    std::sort(result.begin(), result.end());
  }
  result.resize(static_cast<std::size_t>(count), -1);
  return result;
}

cpu_set_t taken_by_all(MPI_Comm node, int ranks) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  static_cast<void>(sched_getaffinity(0, sizeof mine, &mine));
  std::vector<cpu_set_t> all(static_cast<std::size_t>(ranks));
  const int bytes = static_cast<int>(sizeof mine);
  real().Allgather(&mine, bytes, raw_of(MPI_BYTE), all.data(), bytes, raw_of(MPI_BYTE), raw_of(node));
  for (const cpu_set_t& set : all) CPU_OR(&mine, &mine, &set);
  return mine;
}

// Starts the helpers of a node. Only the first rank of the node calls this. Returns what the trace says about them.
std::string start_all(int count, const cpu_set_t& taken) {
  const std::string path = program();
  if (path.empty()) return "none: copse-native is not beside the preload library";
  std::string places;
  for (const int processor : processors_for(count, taken)) {
    if (const std::string why = start_one(path, processor, known.desks[static_cast<std::size_t>(known.count)]); !why.empty())
      return std::to_string(known.count) + " started, then " + why;
    ++known.count;
    places +=
        (places.empty() ? "" : ", ") + (processor < 0 ? std::string("any processor") : "processor " + std::to_string(processor));
  }
  return std::to_string(count) + " on each node; here on " + places;
}

}  // namespace

const HelpersHere& helpers_here() { return known; }

// Only helpers that are ranks reach one another between nodes.
bool may_have_helpers(bool one_node) { return are_ranks || (one_node && known.count > 0); }

void start_helpers() {
  const NodeRanks node;
  if (!node.made()) return;
  const cpu_set_t taken = taken_by_all(node.comm(), node.ranks());
  const int count = std::min(settings().collective_processors.of_node(node.ranks()), choose::kHelpersMost);
  if (node.rank() == 0) note(kHelpers, node.ranks() == 1 ? "none for a rank that is alone on its node" : start_all(count, taken));
  real().Bcast(&known, static_cast<int>(sizeof known), raw_of(MPI_BYTE), 0, raw_of(node.comm()));
}

void use_helpers(const std::vector<DeskName>& desks) {
  known.count = static_cast<std::int32_t>(desks.size());
  std::copy(desks.begin(), desks.end(), known.desks.begin());
  are_ranks = true;
  if (Descriptor line = communicator::open_line()) keep(std::move(line));  // there may be no descriptor left at the end
}

// A helper that is a rank leaves MPI when all ranks of its node do, and so cannot wait for the end of their processes.
void dismiss_helpers() {
  const bool has_line = are_ranks && !lifelines.empty() && lifelines.front().is_open();
  const Descriptor another = are_ranks && !has_line ? communicator::open_line() : Descriptor{};
  for (int i = 0; are_ranks && i < known.count; ++i) {
    const DeskName& desk = known.desks[static_cast<std::size_t>(i)];
    static_cast<void>(communicator::say_goodbye(has_line ? lifelines.front().fd : another.get(), desk));
  }
  for (const Lifeline& lifeline : lifelines)
    if (lifeline.is_open()) close(lifeline.fd);
  lifelines.clear();
  known.count = 0;
}

}  // namespace copse::mpi
