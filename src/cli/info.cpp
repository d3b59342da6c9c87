// copse-native info: shows the machine, where this process may run, and what works here.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

#include "choose/settings.hpp"
#include "cli/output.hpp"
#include "cli/probes.hpp"
#include "topology/binding.hpp"
#include "topology/machine.hpp"

namespace copse::cli {
namespace {

using choose::ReachLimit;

struct ReachRow {
  const char* name;
  const char* by;
  Probe probe;
  bool allowed;  // COPSE_REACH allows it
};

const char* yes_no(bool value) { return value ? "yes" : "no"; }
const char* boolean(bool value) { return value ? "true" : "false"; }

topology::CpuSet usable_processors(const topology::Machine& here) {
  topology::CpuSet usable = topology::current_processors();
  if (usable.empty())  // the affinity mask cannot be read
    for (const auto& processor : here.processors()) usable.push_back(processor.number);
  return usable;
}

// Returns the word in brackets, by which the kernel marks the active one of several settings. Returns an empty text if
// there is no such file.
std::string chosen_in(const char* path) {
  std::ifstream file(path);
  std::string word;
  while (file >> word)
    if (word.front() == '[' && word.back() == ']') return word.substr(1, word.size() - 2);
  return {};
}

std::string or_null(const std::string& text) { return text.empty() ? "null" : quoted(text); }

}  // namespace

int info(Arguments arguments) {
  const bool json = only_json(arguments);
  std::string mistake;
  const auto settings = choose::read_settings(environ, mistake);
  if (!settings) throw std::runtime_error(mistake);
  // COPSE_TOPOLOGY may describe another machine. Memory and processors are always those of the running one.
  const auto here = topology::Machine::discover();
  const auto machine = settings->topology.empty() ? here : topology::Machine::from(settings->topology);

  const auto usable = usable_processors(here);
  const auto confined = here.place_of(usable);
  std::string place, place_json;
  for (const auto level : topology::kAllLevels) {
    if (confined.at(level) == topology::kNotConfined || here.count(level) == 0) continue;
    place.append(place.empty() ? "" : ", ").append(level_name(level)).append(" ");
    place += std::to_string(confined.at(level));
    place_json.append(place_json.empty() ? "" : ", ").append(quoted(level_name(level))).append(": ");
    place_json += std::to_string(confined.at(level));
  }

  const auto limit = settings->reach;
  const ReachRow reaches[] = {
      {"staged", "common memory: a memfd through /proc/<pid>/fd", probe_common_memory(), true},
      {"kernel", "process_vm_readv, process_vm_writev", probe_kernel_reach(),
       limit == ReachLimit::any || limit == ReachLimit::kernel},
      {"direct", "shared heap: libcopse-heap.so", probe_shared_heap(),
       limit == ReachLimit::any || limit == ReachLimit::direct},
  };
  const Probe binding = probe_binding();
  const std::string anonymous = chosen_in("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string shared = chosen_in("/sys/kernel/mm/transparent_hugepage/shmem_enabled");

  if (!json) {
    std::printf("Copse         %s\n", COPSE_VERSION);
    std::printf("machine       %s\n", machine.summary().c_str());
    std::printf("this process  %zu processors; in %s\n", usable.size(), place.c_str());
    std::printf("waiting       more than %zu ranks on this node yield the processor at once\n", usable.size());
    std::printf("huge pages    private memory: %s; shared memory: %s\n", anonymous.empty() ? "?" : anonymous.c_str(),
                shared.empty() ? "?" : shared.c_str());
    std::printf("binding       COPSE_BIND=%s; allowed: %s\n\n", settings->bind.c_str(),
                binding.works ? "yes" : binding.why_not.c_str());
    std::vector<std::vector<std::string>> rows{{"reach", "by", "works", "allowed", "why not"}};
    for (const ReachRow& row : reaches)
      rows.push_back({row.name, row.by, yes_no(row.probe.works), yes_no(row.allowed), row.probe.why_not});
    print_table(rows);
    return 0;
  }
  std::vector<std::string> rows, processors;
  for (const ReachRow& row : reaches)
    rows.push_back("{\"reach\": " + quoted(row.name) + ", \"by\": " + quoted(row.by) +
                   ", \"works\": " + boolean(row.probe.works) + ", \"allowed\": " + boolean(row.allowed) +
                   ", \"why_not\": " + quoted(row.probe.why_not) + "}");
  std::string numbers;
  for (const unsigned cpu : usable) numbers.append(numbers.empty() ? "" : ", ").append(std::to_string(cpu));
  std::printf("{\"version\": %s,\n\"summary\": %s,\n\"machine\": %s,\n", quoted(COPSE_VERSION).c_str(), quoted(machine.summary()).c_str(),
              machine.json().c_str());
  std::printf("\"process\": {\"processors\": [%s], \"place\": {%s}, \"oversubscribed_from\": %zu},\n", numbers.c_str(),
              place_json.c_str(), usable.size() + 1);
  std::printf("\"reaches\": %s,\n", json_list(rows).c_str());
  std::printf("\"huge_pages\": {\"private\": %s, \"shared\": %s},\n", or_null(anonymous).c_str(),
              or_null(shared).c_str());
  std::printf("\"binding\": {\"policy\": %s, \"allowed\": %s, \"why_not\": %s}}\n", quoted(settings->bind).c_str(),
              boolean(binding.works), quoted(binding.why_not).c_str());
  return 0;
}

}  // namespace copse::cli
