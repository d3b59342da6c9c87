// Checks the promises: a value, or one line that says what was wrong and quotes the place.
#include "parsers.hpp"

#include "choose/settings.hpp"
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

}  // namespace

std::string read_as_settings(const std::string& value) {
  for (const choose::Variable& variable : choose::variables()) {
    const std::string wrong = read_entry(std::string(variable.name) + "=" + value, variable.name);
    if (!wrong.empty()) return wrong;
  }
  return read_entry("COPSE_" + value, "COPSE_");
}

std::string read_as_machine(const std::string& text) {
  try {
    const topology::Machine machine = topology::Machine::from(text);
    if (machine.processors().empty()) return "a machine without processors";
    if (machine.regions().empty()) return "a machine without memory";
  } catch (const topology::Error& error) {
    if (!std::string_view(error.what()).starts_with("COPSE_TOPOLOGY")) return error.what();
  }
  return {};
}

}  // namespace copse::test
