// Checks the promises: a value, or one line that says what was wrong and quotes the place.
#include "parsers.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "choose/settings.hpp"
#include "topology/hwloc.hpp"
#include "topology/machine.hpp"

// LeakSanitizer calls this. When hwloc (2.9) refuses a description, it leaks what it has read of it.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() { return "leak:libhwloc.so"; }

namespace copse::test {
namespace {

std::string read_entry(const std::string& entry, std::string_view name) {
  const char* const environment[] = {"HOME=/", entry.c_str(), nullptr};
  std::string error;
  const auto settings = choose::read_settings(environment, error);
  if (settings) {
    if (!error.empty()) return "settings and an error: " + error;
    for (const choose::Forced& forced : settings->forced) {
      if (forced.algorithm == nullptr || forced.algorithm->collective != forced.collective)
        return "an algorithm of another collective";
      if (forced.carrier && !forced.algorithm->carries(*forced.carrier)) return "a carrier that it has not";
      if (forced.radix && (*forced.radix < 2 || *forced.radix > 64)) return "an impossible radix";
    }
    const bool fixed = settings->fragment.mode == choose::Fragmentation::Mode::fixed;
    if (fixed != (settings->fragment.bytes > 0)) return "a fragment of nothing";
    if (settings->nodes < 1) return "no nodes";
    return {};
  }
  if (error.empty()) return "refused without a word";
  if (!error.starts_with(name)) return "the error does not begin with the variable: " + error;
  return {};
}

// Some damaged files crash hwloc itself (2.9). Tells whether this one does not, by a process of its own.
bool hwloc_survives(const char* file) {
  const topology::Hwloc& hwloc = topology::hwloc();
  const pid_t child = fork();
  if (child == 0) {
    for (const int sign : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM}) signal(sign, SIG_DFL);  // a fuzzer has handlers
    const rlimit none{};
    setrlimit(RLIMIT_CORE, &none);
    alarm(10);
    hwloc_topology_t topology = nullptr;
    hwloc.topology_init(&topology);
    hwloc.topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc.topology_set_xml(topology, file) == 0) hwloc.topology_load(topology);
    hwloc.topology_destroy(topology);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

std::string read_machine(const std::string& text, bool& accepted) {
  accepted = false;
  try {
    const topology::Machine machine = topology::Machine::from(text);
    accepted = true;
    if (machine.processors().empty()) return "a machine without processors";
    if (machine.regions().empty()) return "a machine without memory";
  } catch (const topology::Error& error) {
    if (!std::string_view(error.what()).starts_with("COPSE_TOPOLOGY")) return error.what();
  }
  return {};
}

}  // namespace

std::string read_as_settings(const std::string& value) {
  for (const choose::Variable& variable : choose::variables()) {
    const std::string wrong = read_entry(std::string(variable.name) + "=" + value, variable.name);
    if (!wrong.empty()) return wrong;
  }
  return read_entry("COPSE_" + value, "COPSE_");
}

std::string read_as_machine(const std::string& text) {
  bool accepted = false;
  return read_machine(text, accepted);
}

std::string read_as_topology_file(std::string_view bytes, bool& accepted) {
  accepted = false;
  const int file = memfd_create("copse-test", MFD_CLOEXEC);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  std::string wrong;
  if (write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) wrong = "the file cannot be written";
  else if (hwloc_survives(path.c_str())) wrong = read_machine(path, accepted);
  close(file);
  return wrong;
}

}  // namespace copse::test
