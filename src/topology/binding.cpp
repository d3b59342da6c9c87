// Reads, chooses and sets affinity masks.
#include "topology/binding.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "topology/layout.hpp"

namespace copse::topology {
namespace {

// A mask that is as large as the kernel demands. The kernel refuses a mask smaller than its own (EINVAL).
class Mask {
 public:
  explicit Mask(std::size_t cpus) : words_((cpus + CPU_SETSIZE) / CPU_SETSIZE) {}

  [[nodiscard]] cpu_set_t* data() { return words_.data(); }
  [[nodiscard]] std::size_t bytes() const { return words_.size() * sizeof(cpu_set_t); }
  [[nodiscard]] std::size_t cpus() const { return words_.size() * CPU_SETSIZE; }

 private:
  std::vector<cpu_set_t> words_;
};

}  // namespace

CpuSet current_processors() {
  for (std::size_t cpus = CPU_SETSIZE; cpus <= std::size_t{64} * CPU_SETSIZE; cpus *= 2) {
    Mask mask(cpus - 1);
    if (sched_getaffinity(0, mask.bytes(), mask.data()) != 0) {
      if (errno == EINVAL) continue;
      return {};
    }
    CpuSet found;
    for (unsigned cpu = 0; cpu < mask.cpus(); ++cpu) {
      if (CPU_ISSET_S(cpu, mask.bytes(), mask.data())) found.push_back(cpu);
    }
    return found;
  }
  return {};
}

namespace {

bool set_processors(const CpuSet& cpus) {
  Mask mask(cpus.back());
  for (const unsigned cpu : cpus) CPU_SET_S(cpu, mask.bytes(), mask.data());
  return sched_setaffinity(0, mask.bytes(), mask.data()) == 0;
}

// The masks that Copse has set in this process. A thread inherits the mask of the thread that creates it. So a thread
// that a bound one has started must not be mistaken for one that its user has confined.
class OwnMasks {
 public:
  void add(const CpuSet& cpus) {
    const std::lock_guard lock(mutex_);
    masks_.insert(cpus);
  }
  bool contains(const CpuSet& cpus) {
    const std::lock_guard lock(mutex_);
    return masks_.contains(cpus);
  }

 private:
  std::mutex mutex_;
  std::set<CpuSet> masks_;
};

OwnMasks& own_masks() {
  static auto& masks = *new OwnMasks;  // never destroyed: the program's destructors may still call
  return masks;
}

CpuSet all_processors(const Machine& machine) { return machine.processors_in(Level::node, 0); }

// Returns, for instance, "processors 0-3,8", in the notation of taskset and the kernel.
std::string list_text(const CpuSet& cpus) {
  std::string out = cpus.size() == 1 ? "processor " : "processors ";
  for (std::size_t begin = 0; begin < cpus.size();) {
    std::size_t end = begin + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    if (begin > 0) out += ',';
    out += std::to_string(cpus[begin]);
    if (end - begin > 1) out += '-' + std::to_string(cpus[end - 1]);
    begin = end;
  }
  return out;
}

// Returns the numbers in a file of the kernel, such as "0-1,3", or none if there is no such file.
std::vector<unsigned> numbers_in(const std::string& name) {
  constexpr unsigned kMost = 65536;
  std::vector<unsigned> all;
  std::ifstream file(name);
  for (unsigned first = 0; file >> first; file.ignore()) {
    unsigned last = first;
    if (file.peek() == '-') file.ignore() >> last;
    if (!file || last - first > kMost) return {};
    for (; first <= last; ++first) all.push_back(first);
    if (file.peek() != ',') break;
  }
  return all;
}

}  // namespace

BindingPolicy binding_policy_from(std::string_view text, std::string_view origin) {
  if (text == "none") return BindingPolicy::none;
  if (text == "numa") return BindingPolicy::numa;
  if (text == "core") return BindingPolicy::core;
  throw Error(std::string(origin), "'" + std::string(text) + "' is not a binding policy", "none, numa or core",
              "unset it for the default, numa");
}

std::string needless_here(BindingPolicy policy) {
  if (policy == BindingPolicy::none) return "the policy is none";
  if (policy != BindingPolicy::numa) return "";
  const std::string folder = "/sys/devices/system/node/";
  const std::vector<unsigned> regions = numbers_in(folder + "has_cpu");
  if (regions.size() == 1) return "there is only one NUMA region";
  const CpuSet mine = current_processors();
  for (const unsigned region : regions) {
    const std::vector<unsigned> all = numbers_in(folder + "node" + std::to_string(region) + "/cpulist");
    const auto has = [&](unsigned cpu) { return std::find(all.begin(), all.end(), cpu) != all.end(); };
    if (!mine.empty() && std::all_of(mine.begin(), mine.end(), has)) return "already confined to " + list_text(mine);
  }
  return "";
}

CpuSet processors_for(const Machine& machine, BindingPolicy policy, int local_rank, int local_ranks) {
  const auto core = static_cast<std::size_t>(block_core(machine, local_rank, local_ranks));
  if (policy == BindingPolicy::none) return all_processors(machine);
  if (policy == BindingPolicy::core) return machine.processors_in(Level::core, static_cast<std::int32_t>(core));
  return machine.processors_in(Level::numa, machine.place_of(machine.cores()[core]).at(Level::numa));
}

Binding bind_this_thread(const Machine& machine, BindingPolicy policy, int local_rank, int local_ranks) {
  const CpuSet wanted = processors_for(machine, policy, local_rank, local_ranks);
  if (!machine.is_this_machine()) {
    return {false, "not bound: " + machine.name() + " is a description, not the machine that runs", machine.place_of(wanted)};
  }
  const auto left = [&](const std::string& why) { return Binding{false, "not bound: " + why, current_place(machine)}; };
  if (policy == BindingPolicy::none) return left("the policy is none");
  const CpuSet before = current_processors();
  if (before.empty()) return left(std::string("the affinity mask cannot be read: ") + std::strerror(errno));
  const CpuSet all = all_processors(machine);
  const bool is_free = std::includes(before.begin(), before.end(), all.begin(), all.end());
  if (!is_free && !own_masks().contains(before)) return left("already confined to " + list_text(before));
  if (is_free && wanted == all) {
    return left(std::string("there is only one ") + (policy == BindingPolicy::numa ? "NUMA region" : "core"));
  }
  if (!set_processors(wanted)) {
    return left("the system refuses " + list_text(wanted) + ": " + std::strerror(errno));
  }
  own_masks().add(wanted);
  return {true, "bound to " + list_text(wanted), current_place(machine)};
}

Place current_place(const Machine& machine) {
  return machine.place_of(machine.is_this_machine() ? current_processors() : CpuSet{});
}

}  // namespace copse::topology
