// A machine as data: how it is built, and how long its memory, its processors and its network take. One JSON file describes one
// machine. docs/machines.md explains every member; `copse calibrate` writes such a file for the machine at hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"
#include "topology/machine.hpp"

namespace copse::price {

inline constexpr double kUnbounded = 1e9;  // bytes per ns
inline constexpr double kLine = 64;        // bytes

// Times are in ns, rates in bytes per ns, which is the same as GB/s.

// How fast bytes come. The first line (64 bytes) comes after `line_ns`, and the others at the rate `one` of a single reader.
// Readers at the same time share the rate `all`. (HMPI 2.1 has a + b m for m lines and one reader, a + B t m for t readers. There,
// a is line_ns - b.)
struct Stream {
  double line_ns = 0;
  double one = kUnbounded, all = kUnbounded;
};

// What two ranks pay to reach each other's caches, where this is the innermost level that has both.
struct Nearness {
  topology::Level level{};
  std::uint64_t distance = 0;  // if not 0, only for regions that are at least so far apart in the machine's distances
  double flag_ns = 0;          // from the store of a word until the other rank sees it
  Stream read;                 // of what the other rank has written
  double write = kUnbounded;   // stores into lines that the other rank has read
  // What `read.all` bounds. `all` is everything that passes the level. `links` is what goes from one part of the level to another,
  // as over a link between the two. `ports` is what goes out of a part, and likewise what goes into it.
  enum class Scope : std::uint8_t { all, links, ports } shared = Scope::all;
  // Whether bytes that a rank reads from elsewhere stay in the level's cache, as in a cache that includes the inner caches. Ranks
  // that read the same bytes at the same time then get them there, so these bytes come over links and out of memories only once
  // (HMPI 2.2 and 3.1).
  bool keeps_reads = false;
};

// The kernel's copy between processes. Concurrent copies slow down each other's handling of pages.
struct KernelCopy {
  double call_ns = 0, page_ns = 0;
  double contention = 0;  // the fraction by which each other copy at the same time lengthens the time of a page
  double rate = kUnbounded;
};

// The network between nodes, by the parameters of LogGP.
struct Network {
  double latency_ns = 0, overhead_ns = 0, gap_ns = 0;
  double rate = kUnbounded;
};

// What the processor does itself.
struct Steps {
  double call_ns = 0;  // to enter a call and to return from it
  double step_ns = 0;  // a step, besides what it waits for and moves
  double wait_ns = 0;  // to look at one word
  double turn_ns = 0;  // to pass a processor on to another rank
};

// Many fields: what a machine's file has.
struct Parameters {
  std::string name, title;
  std::vector<std::string> sources;  // of the numbers, a sentence each
  bool measured = false;  // by `copse calibrate`; otherwise from publications
  topology::Machine machine;
  Steps steps;
  std::vector<Nearness> nearness;  // from the inner levels to the outer ones, and for a level by distance
  Stream own;  // what a rank reads of its own caches
  Stream memory;  // of one region
  std::optional<Stream> last;  // of the last cache, for a copy whose buffers do not fit in the second cache
  std::map<std::string, double> reduce;  // rates by "operator:type"; "" for all others
  std::optional<KernelCopy> kernel;
  std::optional<Network> network;
  std::map<std::string, double> spread;  // relative, by the place of a number: "levels[0].flag_ns"

  // Throws text::FileError if the document does not describe a machine.
  static Parameters from(const text::Json& document);

  [[nodiscard]] const Nearness& between(const topology::Place& a, const topology::Place& b) const;
  [[nodiscard]] double reduction_rate(const std::string& operation, const std::string& type) const;
};

// The machines that Copse knows. `text` is the JSON file.
struct Recorded {
  std::string_view name, text;
};
[[nodiscard]] const std::vector<Recorded>& recorded();

// Reads a recorded machine by its name, or a file by its path (with a slash or ".json" in it). Throws std::invalid_argument if
// there is no such machine, text::FileError if the file is wrong.
[[nodiscard]] Parameters parameters_of(const std::string& name_or_file);

}  // namespace copse::price
