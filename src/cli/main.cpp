// copse-native: finds the subcommand and runs it.
#include <cstdio>
#include <exception>
#include <vector>

#include "cli/command.hpp"

namespace {

struct Command {
  std::string_view name;
  int (*run)(copse::cli::Arguments);
  std::string_view summary;
};

constexpr Command kCommands[] = {
    {"info", copse::cli::info, "the machine, and which ways of reaching a peer's memory work here"},
    {"env", copse::cli::env, "the COPSE_ variables"},
    {"collectives", copse::cli::collectives, "the collectives"},
    {"algorithms", copse::cli::algorithms, "the registered algorithms"},
    {"heap", copse::cli::heap, "whether the shared heap is active in this process (preload libcopse-heap.so)"},
    {"explain", copse::cli::explain, "what would run, and by which rule: explain --help"},
    {"price", copse::cli::price_calls, "what everything that could run a call would cost on a machine: price --help"},
    {"calibrate", copse::cli::calibrate, "measure this machine, or compare prices with measurements: calibrate --help"},
    {"serve", copse::cli::serve, "a helper process; COPSE_COLLECTIVE_PROCESSORS starts it"},
    {"verify", copse::cli::verify, "prove the registered algorithms with the checker"},
};

void usage(std::FILE* out) {
  std::fprintf(out, "usage: copse-native <command> [--json] | --version; verify has more options: verify --help\n");
  for (const Command& command : kCommands) {
    std::fprintf(out, "  %-10.*s %.*s\n", static_cast<int>(command.name.size()), command.name.data(),
                 static_cast<int>(command.summary.size()), command.summary.data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] == "--help") {
    usage(arguments.empty() ? stderr : stdout);
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] == "--version") {
    std::printf("copse %s\n", COPSE_VERSION);
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name != arguments[0]) continue;
    try {
      return command.run(copse::cli::Arguments(arguments).subspan(1));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "copse-native %s: %s\n", argv[1], error.what());
      return 2;
    }
  }
  std::fprintf(stderr, "copse-native: there is no command '%s'\n", argv[1]);
  usage(stderr);
  return 2;
}
