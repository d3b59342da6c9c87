// Checks the promises: what is accepted can be used, and everything else is refused by one line with file and line.
#include "files.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <string_view>

#include "choose/chooser.hpp"
#include "choose/table.hpp"
#include "price/price.hpp"

// LeakSanitizer calls this. When hwloc (2.9) refuses a description, it leaks what it has read of it.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() { return "leak:libhwloc.so"; }

namespace copse::test {
namespace {

using algorithms::Collective;
using plan::Carrier;

constexpr const char* kFile = "f.json";
constexpr std::size_t kMostCores = 512;  // a test does not price calls on larger machines

// Tells what is wrong with the message of a refusal.
std::string fault_of(std::string_view message) {
  const std::string_view place = std::string_view(kFile);
  std::size_t at = place.size() + 1;
  if (!message.starts_with(place) || at >= message.size() || message[at - 1] != ':') return "a refusal without a file";
  const std::size_t first = at;
  while (at < message.size() && std::isdigit(static_cast<unsigned char>(message[at])) != 0) ++at;
  if (at == first || !message.substr(at).starts_with(": ")) return "a refusal without a line";
  if (at + 2 == message.size()) return "a refusal without a reason";
  if (message.size() > 1100) return "a refusal that is as long as the file";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  return std::any_of(message.begin(), message.end(), is_control) ? "a refusal of several lines" : "";
}

std::string fault_with(const price::Parameters& machine, Collective collective, std::string_view algorithm, Carrier carrier) {
  price::Question question;
  analysis::Variant& variant = question.variant;
  variant.row = algorithms::find(collective, algorithm);
  variant.carrier = carrier;
  variant.ranks = 5;
  variant.places = std::make_shared<topology::Placement>(analysis::make_placement(0, machine.machine, 1, variant.ranks));
  variant.plans = analysis::build_plans(variant);
  question.bytes = 100'000;
  question.fragment_bytes = 30'000;
  question.calls = 2;
  question.reach = machine.kernel ? price::Reach::kernel : price::Reach::loads;
  const double ns = price::price(question, machine).ns;
  return std::isfinite(ns) && ns >= 0 ? "" : std::string(algorithm) + " takes " + std::to_string(ns) + " ns";
}

}  // namespace

std::string read_as_priced_machine(const std::string& text, bool& accepted) {
  accepted = false;
  try {
    const price::Parameters machine = price::Parameters::from(text::Json::parse(text, kFile));
    accepted = true;
    if (machine.machine.cores().empty()) return "a machine without cores";
    if (machine.machine.cores().size() > kMostCores) return {};
    for (const Carrier carrier : {Carrier::get, Carrier::slot})
      if (const std::string fault = fault_with(machine, Collective::broadcast, "flat", carrier); !fault.empty()) return fault;
    return fault_with(machine, Collective::allreduce, "tiled_hierarchical", Carrier::get);
  } catch (const text::FileError& error) {
    return accepted ? std::string("refused too late: ") + error.what() : fault_of(error.what());
  }
}

std::string read_as_table(const std::string& text, bool& accepted) {
  accepted = false;
  choose::Settings settings;
  try {
    auto table = std::make_shared<choose::Table>();
    table->read(text::Json::parse(text, kFile), kFile);
    accepted = true;
    for (const choose::Rule& rule : table->rules)
      if (rule.line < 1) return "a row without a line";
    settings.table = std::move(table);
  } catch (const text::FileError& error) {
    return fault_of(error.what());
  }
  choose::Situation situation;
  for (const bool reach : {false, true}) {
    situation.ranks = reach ? 8 : 2;
    situation.addressable = situation.anywhere = situation.mpi = reach;
    for (const Collective collective : {Collective::broadcast, Collective::allreduce, Collective::alltoall})
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{120}, std::size_t{65536}, std::size_t{1} << 40}) {
        const choose::Decision decision = choose::choose(settings, situation, collective, bytes, {});
        if (decision.algorithm == nullptr || !decision.algorithm->carries(decision.carrier)) return "a choice that cannot run";
        if (decision.from > bytes || decision.to < bytes) return "a choice for other sizes";
        if (decision.rule->file == settings.table->file.c_str()) static_cast<void>(settings.table->reason_of(*decision.rule));
      }
  }
  return {};
}

}  // namespace copse::test
