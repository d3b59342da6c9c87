// copse-native serve: a helper process. The preload libraries start it; it is not for people.
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "choose/settings.hpp"
#include "cli/command.hpp"
#include "communicator/helper.hpp"

namespace copse::cli {
namespace {

int number_in(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) throw std::invalid_argument("expected a number");
  return number;
}

// Goes on in a child of this process, because the process that has started this one expects no further child. Keeps only these
// descriptors, because whoever has started the program may wait until its streams are closed.
void detach(std::vector<int> kept) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child > 0) _exit(0);
  setsid();
  const int nothing = open("/dev/null", O_RDWR);
  for (const int stream : {0, 1, 2}) dup2(nothing, stream);
  std::sort(kept.begin(), kept.end());
  unsigned next = 3;
  for (const int fd : kept) {
    if (fd < 0) continue;
    if (static_cast<unsigned>(fd) > next) close_range(next, static_cast<unsigned>(fd) - 1, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  close_range(next, ~0U, 0);
}

// Makes the system wake this process if it is stopped when the lifeline is closed. Otherwise it would outlive the program.
void wake_at_the_end(int lifeline) {
  static_cast<void>(fcntl(lifeline, F_SETOWN, getpid()));
  static_cast<void>(fcntl(lifeline, F_SETSIG, SIGCONT));
  static_cast<void>(fcntl(lifeline, F_SETFL, fcntl(lifeline, F_GETFL) | O_ASYNC));
}

// Binds this process to the processor. If `processor` is negative or may not be used, lets it run everywhere, because the process
// that started it may be bound.
void move_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (processor < 0 || cpu == processor) CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0 && processor >= 0) move_to(-1);
}

}  // namespace

int serve(Arguments arguments) {
  if (arguments.size() < 2 || arguments.size() > 3)
    throw std::invalid_argument("expected two descriptors and perhaps a processor; COPSE_COLLECTIVE_PROCESSORS starts helpers");
  const int desk = number_in(arguments[0]), lifeline = number_in(arguments[1]);
  if (desk < 3 || lifeline < 3 || desk == lifeline) throw std::invalid_argument("expected two descriptors above 2");
  const int processor = arguments.size() == 3 ? number_in(arguments[2]) : -1;
  std::string error;
  const auto settings = choose::read_settings(environ, error);
  if (!settings) throw std::invalid_argument(error);
  // The parent waits for this process, so its number belongs to no other process yet.
  const auto starter = static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0));
  detach({desk, lifeline, starter});
  wake_at_the_end(lifeline);
  move_to(processor);
  communicator::help({.desk = desk, .lifeline = lifeline, .starter = starter}, *settings);
  return 0;
}

}  // namespace copse::cli
