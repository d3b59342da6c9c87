// copse-native info: shows the machine, where this process may run, and what works here.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "choose/recorded.hpp"
#include "choose/settings.hpp"
#include "cli/output.hpp"
#include "cli/probes.hpp"
#include "topology/binding.hpp"
#include "topology/layout.hpp"
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

// What this command finds out.
struct Findings {
  topology::Machine machine;
  topology::CpuSet processors;  // processors that this process may use
  std::vector<std::pair<std::string, int>> place;  // level and number of each part of the machine that has all of them
  std::vector<ReachRow> reaches;
  std::string like;  // the recorded machine whose rows ranks on all cores use; empty: none
  std::string bind;
  Probe binding;
  std::string private_pages, shared_pages;  // the kernel's settings for huge pages
};

std::vector<ReachRow> reaches_under(ReachLimit limit) {
  return {
      {"staged", "common memory: a memfd through /proc/<pid>/fd", probe_common_memory(), true},
      {"kernel", "process_vm_readv, process_vm_writev", probe_kernel_reach(),
       limit == ReachLimit::any || limit == ReachLimit::kernel},
      {"direct", "shared heap: libcopse-heap.so", probe_shared_heap(), limit == ReachLimit::any || limit == ReachLimit::direct},
  };
}

std::string like_which(const topology::Machine& machine) {
  const auto cores = static_cast<int>(machine.cores().size());
  const int like = choose::most_like(topology::place_block(machine, 1, cores));
  return like == choose::kLikeNone ? std::string() : std::string(choose::recorded()[static_cast<std::size_t>(like)].name);
}

Findings look(const choose::Settings& settings) {
  // COPSE_TOPOLOGY may describe another machine. Memory and processors are always those of the running one.
  const auto here = topology::Machine::discover_with_network();
  const auto usable = usable_processors(here);
  const auto confined = here.place_of(usable);
  Findings found{settings.topology.empty() ? here : topology::Machine::from(settings.topology),
                 usable,
                 {},
                 reaches_under(settings.reach),
                 {},
                 settings.bind,
                 probe_binding(),
                 chosen_in("/sys/kernel/mm/transparent_hugepage/enabled"),
                 chosen_in("/sys/kernel/mm/transparent_hugepage/shmem_enabled")};
  found.like = like_which(found.machine);
  for (const auto level : topology::kAllLevels)
    if (confined.at(level) != topology::kNotConfined && here.count(level) != 0)
      found.place.emplace_back(level_name(level), confined.at(level));
  return found;
}

void print_text(const Findings& found) {
  const auto or_unknown = [](const std::string& text) { return text.empty() ? "?" : text.c_str(); };
  std::string place;
  for (const auto& [level, number] : found.place)
    place.append(place.empty() ? "" : ", ").append(level).append(" ").append(std::to_string(number));
  std::printf("Copse         %s\n", COPSE_VERSION);
  std::printf("machine       %s\n", found.machine.summary().c_str());
  std::printf("kind          %s\n", found.machine.kind().c_str());
  std::printf("most like     %s\n", found.like.empty() ? "no recorded machine" : found.like.c_str());
  std::printf("this process  %zu processors; in %s\n", found.processors.size(), place.c_str());
  std::printf("waiting       more than %zu ranks on this node yield the processor at once\n", found.processors.size());
  std::printf("huge pages    private memory: %s; shared memory: %s\n", or_unknown(found.private_pages),
              or_unknown(found.shared_pages));
  std::printf("binding       COPSE_BIND=%s; allowed: %s\n\n", found.bind.c_str(),
              found.binding.works ? "yes" : found.binding.why_not.c_str());
  std::vector<std::vector<std::string>> rows{{"reach", "by", "works", "allowed", "why not"}};
  for (const ReachRow& row : found.reaches)
    rows.push_back({row.name, row.by, yes_no(row.probe.works), yes_no(row.allowed), row.probe.why_not});
  print_table(rows);
}

void print_json(const Findings& found) {
  std::string numbers, place;
  for (const unsigned cpu : found.processors) numbers.append(numbers.empty() ? "" : ", ").append(std::to_string(cpu));
  for (const auto& [level, number] : found.place)
    place.append(place.empty() ? "" : ", ").append(quoted(level)).append(": ").append(std::to_string(number));
  std::vector<std::string> rows;
  for (const ReachRow& row : found.reaches)
    rows.push_back("{\"reach\": " + quoted(row.name) + ", \"by\": " + quoted(row.by) + ", \"works\": " + boolean(row.probe.works) +
                   ", \"allowed\": " + boolean(row.allowed) + ", \"why_not\": " + quoted(row.probe.why_not) + "}");
  std::printf("{\"version\": %s,\n\"summary\": %s,\n\"kind\": %s,\n\"like\": %s,\n\"machine\": %s,\n",
              quoted(COPSE_VERSION).c_str(), quoted(found.machine.summary()).c_str(), quoted(found.machine.kind()).c_str(),
              or_null(found.like).c_str(), found.machine.json().c_str());
  std::printf("\"process\": {\"processors\": [%s], \"place\": {%s}, \"oversubscribed_from\": %zu},\n", numbers.c_str(),
              place.c_str(), found.processors.size() + 1);
  std::printf("\"reaches\": %s,\n", json_list(rows).c_str());
  std::printf("\"huge_pages\": {\"private\": %s, \"shared\": %s},\n", or_null(found.private_pages).c_str(),
              or_null(found.shared_pages).c_str());
  std::printf("\"binding\": {\"policy\": %s, \"allowed\": %s, \"why_not\": %s}}\n", quoted(found.bind).c_str(),
              boolean(found.binding.works), quoted(found.binding.why_not).c_str());
}

}  // namespace

int info(Arguments arguments) {
  const bool json = only_json(arguments);
  std::string mistake;
  const auto settings = choose::read_settings(environ, mistake);
  if (!settings) throw std::runtime_error(mistake);
  json ? print_json(look(*settings)) : print_text(look(*settings));
  return 0;
}

}  // namespace copse::cli
