// Gathers the trace on rank 0, if all ranks take part, and prints it. Also prints the last line before an abort.
#include "report.hpp"

#include <cxxabi.h>

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <sstream>
#include <vector>

#include "communicator/memory_room.hpp"
#include "settings.hpp"
#include "world.hpp"

namespace copse::mpi {
namespace {

std::mutex mutex;
auto& trace = *new communicator::Trace;  // never destroyed (session.hpp), like the maps below
std::chrono::steady_clock::time_point begin;
auto& notes = *new std::map<std::pair<std::string, std::string>, int>;  // counts how often that was said

auto& peaks = *new std::map<std::string, std::uint64_t>;  // the most that any rank has
std::atomic<bool> all_report{false};  // see expect_report_of_all

// Writes the trace as lines of tab-separated fields, to be sent to rank 0.
std::string pack_trace() {
  std::ostringstream out;
  out.precision(17);
  const auto table = [&](char kind, const auto& tallies) {
    for (const auto& [key, tally] : tallies)
      if (tally.calls > 0)
        out << kind << '\t' << key.first << '\t' << key.second << '\t' << tally.calls << '\t' << tally.bytes << '\t'
            << tally.seconds << '\n';
  };
  table('r', trace.ran);
  table('p', trace.passed_on);
  for (const auto& [part, tally] : trace.start) out << "s\t" << part << "\t-\t" << tally.calls << "\t0\t" << tally.seconds << '\n';
  for (const auto& [key, times] : notes) out << "n\t" << key.first << '\t' << key.second << '\t' << times << "\t0\t0\n";
  for (const std::string& line : trace.learned) out << "l\t" << line << "\t-\t0\t0\t0\n";
  for (const auto& [what, most] : peaks) out << "m\t" << what << "\t-\t" << most << "\t0\t0\n";
  return out.str();
}

void merge(const std::string& packed) {
  std::istringstream in(packed);
  std::string kind, first, second;
  communicator::Tally tally;
  while (std::getline(in, kind, '\t') && std::getline(in, first, '\t') && std::getline(in, second, '\t') &&
         in >> tally.calls >> tally.bytes >> tally.seconds) {
    in.ignore();
    if (kind == "r") trace.ran[{first, second}] += tally;
    if (kind == "p") trace.passed_on[{first, second}] += tally;
    if (kind == "s") trace.start[first] += tally;
    if (kind == "m") peaks[first] = std::max(peaks[first], tally.calls);
    if (kind == "l") trace.learned.push_back(first);
    if (kind == "n") notes[{first, second}] += static_cast<int>(tally.calls);
  }
}

// Returns the texts of all ranks on rank 0. This is collective over the world.
std::string gather_on_rank_0(const std::string& mine, int ranks) {
  const int size = static_cast<int>(mine.size());
  std::vector<int> sizes(static_cast<std::size_t>(ranks)), offsets(sizes.size());
  real().Gather_(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, world());
  int total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    offsets[i] = total;
    total += sizes[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  real().Gatherv_(mine.data(), size, MPI_CHAR, all.data(), sizes.data(), offsets.data(), MPI_CHAR, 0, world());
  return all;
}

void print_table(const char* heading, const std::map<std::pair<std::string, std::string>, communicator::Tally>& rows) {
  if (rows.empty()) return;
  std::fprintf(stderr, "copse: %-14s %-44s %12s %16s %12s %12s\n", "call", heading, "calls", "bytes", "seconds", "us/call");
  for (const auto& [key, tally] : rows)
    std::fprintf(stderr, "copse: %-14s %-44s %12llu %16llu %12.6f %12.2f\n", key.first.c_str(), key.second.c_str(),
                 static_cast<unsigned long long>(tally.calls), static_cast<unsigned long long>(tally.bytes), tally.seconds,
                 tally.seconds * 1e6 / static_cast<double>(tally.calls));
}

double seconds_in(const std::map<std::pair<std::string, std::string>, communicator::Tally>& rows) {
  double sum = 0;
  for (const auto& [key, tally] : rows) sum += tally.seconds;
  return sum;
}

void print(int ranks) {
  print_table("ran by (algorithm, carrier)", trace.ran);
  print_table("passed on to the MPI because", trace.passed_on);
  for (const std::string& line : trace.learned) std::fprintf(stderr, "copse: %s\n", line.c_str());
  if (trace.ran.empty() && trace.passed_on.empty()) std::fprintf(stderr, "copse: no collective call was made\n");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr,
               "copse: these calls took %.2f %% of the ranks' time, which was %d x %.3f seconds from MPI_Init to "
               "MPI_Finalize\n",
               100 * (seconds_in(trace.ran) + seconds_in(trace.passed_on)) / (ranks * seconds), ranks, seconds);
  for (const auto& [part, tally] : trace.start)
    std::fprintf(stderr, "copse: start: %s: %llu times, %.1f us each\n", part.c_str(), static_cast<unsigned long long>(tally.calls),
                 tally.seconds * 1e6 / static_cast<double>(tally.calls));
  const auto most = [](const char* what) { return static_cast<unsigned long long>(peaks[what]); };
  std::fprintf(stderr,
               "copse: at MPI_Finalize no rank has more than %llu KiB of common memory, %llu KiB of shared heap and %llu "
               "descriptors of these\n",
               most("common"), most("heap"), most("descriptors"));
  for (const auto& [key, times] : notes)
    std::fprintf(stderr, "copse: %s: %s (%d times)\n", key.first.c_str(), key.second.c_str(), times);
}

constexpr int kReadMost = 3;  // seconds

// Waits, for so long at most, until the launcher has read what this rank has written.
void wait_until_read(int descriptor) {
  constexpr int kPolls = 1000 * kReadMost;
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  int unread = 0;
  for (int poll = 0; poll < kPolls && ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0; ++poll) usleep(1000);
}

void say(const CommState& state, std::string_view call, std::string_view why) {
  const char* const kind = state.groups.any() ? "an intercommunicator (ranks counted through both groups)" : "a communicator";
  std::fprintf(stderr, "copse: rank %d: %.*s on %s of %d ranks: %.*s\n", state.rank, static_cast<int>(call.size()), call.data(),
               kind, state.ranks, static_cast<int>(why.size()), why.data());
}

}  // namespace

void begin_trace() { begin = std::chrono::steady_clock::now(); }

void count_passed_on(algorithms::Collective collective, std::string_view why, std::size_t bytes, double seconds) {
  const std::lock_guard lock(mutex);
  trace.passed_on[{std::string(algorithms::name_of(collective)), std::string(why)}].add(bytes, seconds);
}

void count_start(std::string_view part, double seconds) {
  const std::lock_guard lock(mutex);
  trace.start[std::string(part)].add(0, seconds);
}

void count_start(const std::map<std::string, communicator::Tally>& parts) {
  const std::lock_guard lock(mutex);
  for (const auto& [part, tally] : parts) trace.start[part] += tally;
}

void note(std::string_view subject, std::string_view text) {
  const std::lock_guard lock(mutex);
  ++notes[{std::string(subject), std::string(text)}];
}

void remember(const CommState& state) {
  if (!settings().trace || !state.copse) return;
  const auto& capabilities = state.copse->capabilities();
  if (!capabilities.threads && !capabilities.heap && !capabilities.heap_why_not.empty())
    note("no direct reach", capabilities.heap_why_not);
  if (!capabilities.threads && !capabilities.kernel && !capabilities.kernel_why_not.empty())
    note("no kernel reach", capabilities.kernel_why_not);
  if (state.devices)
    note("devices", "some rank has a device's driver: before each call the ranks agree whether all buffers are in host memory");
  if (capabilities.streamed) note("slots", "written past the caches at first (COPSE_SLOTS)");
  if (capabilities.nodes > 1)
    note("wire", "a communicator over " + std::to_string(capabilities.nodes) + " nodes, joined by the MPI's own messages");
  remember(state.copse->trace());
  if (state.strict_lane) remember(state.strict_lane->trace());
  if (state.served) remember(state.served->trace());
}

void remember(const communicator::Trace& more) {
  const std::lock_guard lock(mutex);
  trace.merge(more);
}

void note_resources() {
  const communicator::Held held = communicator::held();
  peaks = {{"common", held.common >> 10}, {"heap", held.heap >> 10}, {"descriptors", 0}};
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", unreadable))
    if (std::filesystem::read_symlink(entry, unreadable).string().starts_with("/memfd:copse")) ++peaks["descriptors"];
}

void expect_report_of_all() { all_report.store(true); }

void print_report(bool all_have_met) {
  int rank = 0;
  const int ranks = world_size();
  real().Comm_rank_(world(), &rank);
  const bool alone = ranks > 1 && !all_have_met && !all_report.load();
  const std::string all = alone ? pack_trace() : gather_on_rank_0(pack_trace(), ranks);
  if (!alone && rank != 0) return;
  trace = {};
  notes.clear();
  peaks.clear();
  merge(all);
  if (alone) {
    std::fprintf(stderr, "copse: trace of rank %d alone: MPI_Init has bypassed Copse, and some ranks may not trace\n", rank);
  } else {
    std::fprintf(stderr, "copse: trace of %d ranks; calls, bytes and seconds are sums over all ranks\n", ranks);
  }
  print(alone ? 1 : ranks);
}

// On an abort MPICH's launcher drops output that it has not yet forwarded.
void abort_all(int status) {
  wait_until_read(STDOUT_FILENO);
  wait_until_read(STDERR_FILENO);
  real().Abort_(MPI_COMM_WORLD, status);
  std::_Exit(status);  // MPICH 5's MPI_Abort may return before the launcher has ended this process
}

void give_up(const CommState& state, std::string_view call, std::string_view why) {
  say(state, call, why);
  abort_all(1);
}

void give_up(const char* call, const std::exception* error) {
  int rank = 0, initialised = 0;
  if (real().Initialized_ != nullptr) real().Initialized_(&initialised);  // null if find_real() failed early
  if (initialised != 0) real().Comm_rank_(world(), &rank);
  const bool memory = dynamic_cast<const std::bad_alloc*>(error) != nullptr;
  const char* why = memory ? "this rank has no memory left" : error == nullptr ? "an exception of an unknown kind" : error->what();
  if (initialised != 0) {
    std::fprintf(stderr, "copse: rank %d: %s: %s\n", rank, call, why);
    abort_all(1);
  }
  std::fprintf(stderr, "copse: %s: %s\n", call, why);
  // An exit would not do: before MPI_Init, MPICH's launcher lets the other ranks wait for a rank that has exited.
  std::abort();
}

// no_sanitize: when a cancelled thread unwinds, there is no exception object, so the reference to it is null.
__attribute__((cold, no_sanitize("null"))) void give_up_caught(const char* call) {
  try {
    throw;
  } catch (const std::exception& error) {
    give_up(call, &error);
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    give_up(call, nullptr);
  }
}

void give_up_together(const CommState& state, std::string_view call, std::string_view why) {
  if (state.rank == 0) {
    say(state, call, why);
  } else {
    sleep(2 * kReadMost + 1);  // rank 0 ends the program within this time
  }
  abort_all(1);
}

}  // namespace copse::mpi
