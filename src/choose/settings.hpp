// The user's choices: every COPSE_ variable has a row in settings.def.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "choose/forced.hpp"

namespace copse::choose {

struct Table;

// How messages are cut (NUMACol 3): not at all, in pieces of a size, or in halves above 8 KiB.
struct Fragmentation {
  enum class Mode : unsigned char { chosen, none, fixed, halves } mode = Mode::chosen;
  std::size_t bytes = 0;  // for Mode::fixed
};

enum class ReachLimit : unsigned char { any, staged, kernel, direct };

// Whether slots are written past the caches: if a trial finds that faster, never, or always.
enum class Stores : unsigned char { measured, cached, streamed };

// Whether waiting ranks keep their processors: unless there are more ranks than processors, always, or never.
enum class Waiting : unsigned char { chosen, spinning, yielding };

inline constexpr int kHelpersMost = 64;  // on a node
// So many started calls of a communicator may be with its helpers at a time.
inline constexpr int kServedStreams = 4;

inline constexpr std::string_view kAmongLaunched = "out:";  // the value begins so if helpers are ranks that the launcher starts
// The helper processes of a node (CDCP): a number of them, one for so many ranks, or one on each of some processors.
struct CollectiveProcessors {
  int number = 0;            // 0: none, unless the others say so
  int ranks_for_each = 0;
  std::vector<int> processors;
  bool among_launched = false;  // helpers are some of the ranks that the launcher starts, not processes beside them
  [[nodiscard]] bool any() const { return of_node(1) > 0; }
  // Returns how many helpers start beside the ranks of a node.
  [[nodiscard]] int of_node(int ranks) const {
    if (!processors.empty()) return static_cast<int>(processors.size());
    return ranks_for_each > 0 ? (ranks + ranks_for_each - 1) / ranks_for_each : number;
  }
  // Returns how many of the ranks that are launched on a node become helpers. One rank at least stays in the program.
  [[nodiscard]] int of_launched(int ranks) const {
    const int wanted = ranks_for_each > 0 ? (ranks + ranks_for_each) / (ranks_for_each + 1) : number;
    return std::min(wanted, ranks - 1);
  }
};

// Whether other ways than those that the rules choose are tried in the program's own calls. `reordering`: also ways that combine
// numbers in another order.
enum class Learn : unsigned char { never, always, reordering, eagerly };

// Many fields: one for each COPSE_ variable.
struct Settings {
  bool disable = false;
  bool check = false;
  bool trace = false;
  bool quiet = true;
  bool progress_thread = false;
  Learn learn = Learn::always;
  std::optional<std::uint32_t> join_at;  // from which call on a communicator an MPI program is served; none: when it pays
  std::string learned;  // the file of what was learned; empty: none
  std::vector<Forced> forced;
  std::shared_ptr<const Table> table;  // null: none
  Fragmentation fragment;
  ReachLimit reach = ReachLimit::any;
  Stores slots = Stores::measured;
  Waiting waiting = Waiting::chosen;
  CollectiveProcessors collective_processors;
  int nodes = 1;  // pretend that the ranks sit on several nodes
  int node_timeout = 300;  // seconds; 0: for ever
  std::string topology;
  std::string bind = "numa";
  std::size_t memory = 0;  // bytes; 0: no limit
  std::string mpi;  // as in Table::mpi: its collectives can make blocking calls; empty: none. Set by the face, has no variable
  int upc_threads = 1, upc_processes = 1;
  std::size_t upc_heap = 0;        // bytes; 0: as much as the machine has
  int helpers = 0;                 // the last ranks of a communicator that serve the others; set by the face, has no variable
  int streams = 1;                 // of a communicator with helpers: 1 or kServedStreams; set by the face, has no variable
  std::uint64_t first_ticket = 0;  // for tests: as if so many fragments had been sent before; has no variable

  std::uint64_t fingerprint = 0;  // of all settings that must be equal on all ranks

  [[nodiscard]] const Forced* forced_for(algorithms::Collective collective) const;
};

// A variable, as the documentation and `copse info --env` show it.
struct Variable {
  std::string_view name, values, standard, meaning;  // `standard`: the value while it is not set
};
[[nodiscard]] const std::vector<Variable>& variables();

// Reads every COPSE_ variable of `environment` (NAME=VALUE strings, a null-terminated list). If one is wrong, the
// result is empty and `error` is one line that says what is wrong, what was expected, and what to try.
[[nodiscard]] std::optional<Settings> read_settings(const char* const* environment, std::string& error);

}  // namespace copse::choose
