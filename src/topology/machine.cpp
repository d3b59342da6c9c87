// Reads a machine from hwloc.
#include "topology/machine.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include "topology/hwloc.hpp"
#include "topology/recorded.hpp"

namespace copse::topology {
namespace {

// A description of a larger machine is taken for a mistake. Otherwise it could use up all memory.
constexpr std::uint64_t kMostProcessors = 16384;
constexpr std::uint64_t kMostChildren = 4096;  // of one object; hwloc takes half a minute to put 16384 side by side
constexpr std::size_t kLongestDescription = 4096;  // hwloc's own have a few hundred characters

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Topology new_topology(unsigned long flags = 0) {
  hwloc_topology_t raw = nullptr;
  if (hwloc().topology_init(&raw) != 0) throw Error("hwloc", "cannot be initialised", "memory", "free some and try again");
  Topology topology(raw, hwloc().topology_destroy);
  // Some of hwloc's back ends would move the calling thread from processor to processor during discovery.
  if (hwloc().topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING | flags) != 0)
    throw Error("hwloc", "it does not know how to leave threads where they run", "hwloc 2.5 or later", "install a newer one");
  return topology;
}

hwloc_obj_t ancestor(hwloc_obj_t object, hwloc_obj_type_t type) {
  while (object != nullptr && object->type != type) object = object->parent;
  return object;
}

// Splits a synthetic string into its pieces, at spaces that are not within brackets or parentheses.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  std::string piece;
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (std::isspace(static_cast<unsigned char>(c)) != 0 && depth <= 0) {  // to hwloc, the end of a line separates, too
      if (!piece.empty()) pieces.push_back(std::exchange(piece, {}));
    } else {
      piece += c;
    }
  }
  if (!piece.empty()) pieces.push_back(piece);
  return pieces;
}

std::string known_names() {
  std::string names;
  for (const RecordedMachine& machine : recorded_machines()) {
    names += (names.empty() ? "" : ", ") + std::string(machine.name);
  }
  return names;
}

// Returns the Levenshtein distance.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view text) {
  const auto machines = recorded_machines();
  const auto nearest = std::min_element(machines.begin(), machines.end(),
                                        [&](const auto& a, const auto& b) { return edits(text, a.name) < edits(text, b.name); });
  return std::string(nearest->name);
}

// Returns the number of objects that a piece of a synthetic string asks for. "core:4" and "4" ask for four. "[numa]"
// adds an object to one parent.
std::uint64_t arity_of(const std::string& piece) {
  const std::size_t colon = piece.find(':');
  const std::size_t begin = colon == std::string::npos ? 0 : colon + 1;
  std::uint64_t arity = 1;
  const auto parsed = std::from_chars(piece.data() + begin, piece.data() + piece.size(), arity);
  if (parsed.ec == std::errc::result_out_of_range) return kMostProcessors + 1;
  return parsed.ec == std::errc{} ? arity : 1;
}

// Sets the synthetic description. If hwloc does not understand it, the Error names the first piece at fault.
void describe(hwloc_topology_t topology, const std::string& text, const std::string& where) {
  const std::string expected =
      "an hwloc synthetic string like \"package:2 numa:2 l3:1 core:4 pu:1\", the path of an hwloc XML file, or one "
      "of " +
      known_names();
  if (text.size() > kLongestDescription)
    throw Error(where, "the description has more than " + std::to_string(kLongestDescription) + " characters", expected,
                "describe the machine by levels");
  const std::vector<std::string> pieces = pieces_of(text);
  if (pieces.empty()) throw Error(where, "the description is empty", expected, "unset it to use this machine as it is");
  std::uint64_t processors = 1;
  for (const std::string& piece : pieces) {
    const std::uint64_t children = arity_of(piece);
    processors *= std::max<std::uint64_t>(children, 1);
    if (children > kMostChildren && processors <= kMostProcessors)
      throw Error(where, "'" + piece + "' puts more than " + std::to_string(kMostChildren) + " objects side by side",
                  "a machine of several levels", "divide them, as in \"package:4 core:2048 pu:1\"");
    if (processors <= kMostProcessors) continue;
    throw Error(where, "the machine exceeds " + std::to_string(kMostProcessors) + " processors at '" + piece + "'",
                "the machine of one node", "describe a smaller one");
  }
  if (hwloc().topology_set_synthetic(topology, text.c_str()) == 0) return;
  std::string so_far;
  for (const std::string& piece : pieces) {
    const Topology trial = new_topology();
    so_far += (so_far.empty() ? "" : " ") + piece;
    if (hwloc().topology_set_synthetic(trial.get(), so_far.c_str()) == 0 ||
        hwloc().topology_set_synthetic(trial.get(), (so_far + " pu:1").c_str()) == 0) {
      continue;
    }
    throw Error(where, "hwloc does not understand '" + piece + "' in \"" + text + '"', expected,
                pieces.size() == 1 ? "did you mean '" + nearest_name(text) + "'?" : "try it with: lstopo -i \"" + text + '"');
  }
  throw Error(where, "\"" + text + "\" ends too early", expected, "end it with pu:1");
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  std::ostringstream out;
  out.precision(value < 100 ? 3 : 4);
  out << value << ' ' << units[unit];
  return out.str();
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr const char* hex = "0123456789abcdef";
      out += std::string("\\u00") + hex[c >> 4] + hex[c & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

template <class Range, class Text>
std::string joined(const Range& range, const char* separator, const Text& text) {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!std::exchange(first, false)) out += separator;
    out += text(item);
  }
  return out;
}

const auto kNumber = [](auto number) { return std::to_string(number); };

}  // namespace

// Reads a loaded hwloc topology into a Machine.
class Reader {
 public:
  explicit Reader(hwloc_topology_t topology) : topology_(topology) {}

  // If a processor has no memory, the machine has no processors.
  Machine read(std::string name) {
    machine_.name_ = std::move(name);
    machine_.is_this_machine_ = hwloc().topology_is_thissystem(topology_) == 1;
    std::vector<hwloc_obj_t> pus;
    for (hwloc_obj_t pu = next(HWLOC_OBJ_PU, nullptr); pu != nullptr; pu = next(HWLOC_OBJ_PU, pu)) {
      pus.push_back(pu);
      if (hwloc().bitmap_isset(hwloc().topology_get_allowed_cpuset(topology_), pu->os_index))
        machine_.allowed_.push_back(pu->os_index);
    }
    std::sort(machine_.allowed_.begin(), machine_.allowed_.end());
    const CpuSet cards = processors_by_network(pus);
    std::vector<std::int32_t> regions;
    for (hwloc_obj_t pu : pus) {
      const hwloc_obj_t memory = nearest_memory(pu);
      if (memory == nullptr) return std::move(machine_);
      regions.push_back(number(Level::numa, memory));
    }
    for (hwloc_obj_t nearest : objects_[index(Level::numa)]) machine_.regions_.push_back(region_of(nearest));
    for (std::size_t i = 0; i < pus.size(); ++i) {
      add(pus[i], regions[i]);
      machine_.processors_.back().place.by_network = std::binary_search(cards.begin(), cards.end(), pus[i]->os_index) ? 1 : 0;
    }
    for (const Level level : kAllLevels) {
      machine_.counts_[index(level)] = static_cast<int>(objects_[index(level)].size());
    }
    // A machine that lists no node or no package counts as one. A machine without boards has none.
    for (const Level level : {Level::node, Level::package}) {
      machine_.counts_[index(level)] = std::max(machine_.counts_[index(level)], 1);
    }
    read_distances();
    if (const hwloc_obj_t package = next(HWLOC_OBJ_PACKAGE, nullptr))
      if (const char* model = hwloc_obj_get_info_by_name(package, "CPUModel")) machine_.processor_ = model;
    return std::move(machine_);
  }

  static void set_distances(Machine& machine, std::string_view text) {
    std::istringstream in{std::string(text)};
    const std::size_t n = machine.regions_.size();
    std::vector<std::vector<std::uint64_t>> matrix(n, std::vector<std::uint64_t>(n));
    for (auto& row : matrix) {
      for (auto& value : row) in >> value;
    }
    machine.set_distances(std::move(matrix));
  }

 private:
  static std::size_t index(Level level) { return static_cast<std::size_t>(level); }

  // Returns the first object of a type, or the next after `previous`. Each type that is looked for here lies at one depth.
  hwloc_obj_t next(hwloc_obj_type_t type, hwloc_obj_t previous) {
    if (previous != nullptr) return previous->next_cousin;
    return hwloc().get_obj_by_depth(topology_, hwloc().get_type_depth(topology_, type), 0);
  }

  // Returns the id of an object within its level. Ids follow the order of first appearance.
  std::int32_t number(Level level, hwloc_obj_t object) {
    auto& objects = objects_[index(level)];
    const auto found = std::find(objects.begin(), objects.end(), object);
    if (found != objects.end()) return static_cast<std::int32_t>(found - objects.begin());
    objects.push_back(object);
    return static_cast<std::int32_t>(objects.size() - 1);
  }

  // Finds the memory that defines a processor's region. A region is a set of processors with the same nearest memories.
  // So several of hwloc's NUMA nodes with the same processors form one region, and a memory that is nearest to no
  // processor (a node without processors) forms none. hwloc has at least one NUMA node, and every processor is in one, unless a
  // file says otherwise.
  hwloc_obj_t nearest_memory(hwloc_obj_t pu) {
    hwloc_obj_t nearest = nullptr;
    for (hwloc_obj_t node = next(HWLOC_OBJ_NUMANODE, nullptr); node != nullptr; node = next(HWLOC_OBJ_NUMANODE, node)) {
      if (!hwloc().bitmap_isset(node->cpuset, pu->os_index)) continue;
      if (nearest == nullptr || hwloc().bitmap_weight(node->cpuset) < hwloc().bitmap_weight(nearest->cpuset)) {
        nearest = node;
      }
    }
    return nearest;
  }

  Region region_of(hwloc_obj_t nearest) {
    Region region;
    std::uint64_t bytes = 0;
    for (hwloc_obj_t node = next(HWLOC_OBJ_NUMANODE, nullptr); node != nullptr; node = next(HWLOC_OBJ_NUMANODE, node)) {
      if (!hwloc().bitmap_isequal(node->cpuset, nearest->cpuset)) continue;
      region.memories.push_back(node->os_index);
      bytes += node->attr->numanode.local_memory;
    }
    if (bytes > 0) region.memory_bytes = bytes;
    return region;
  }

  // Returns the outermost group that holds several regions but not all of them.
  hwloc_obj_t board_of(hwloc_obj_t pu) {
    const auto& nodes = objects_[index(Level::numa)];
    hwloc_obj_t board = nullptr;
    for (hwloc_obj_t object = pu; object != nullptr; object = object->parent) {
      if (object->type != HWLOC_OBJ_GROUP) continue;
      const auto inside = std::count_if(nodes.begin(), nodes.end(), [&](hwloc_obj_t node) {
        return hwloc().bitmap_isincluded(node->cpuset, object->cpuset) != 0;
      });
      if (inside > 1 && static_cast<std::size_t>(inside) < nodes.size()) board = object;
    }
    return board;
  }

  static bool is_of(hwloc_obj_t device, hwloc_obj_osdev_type_e type) {
#if HWLOC_API_VERSION >= 0x00030000  // a device may have several types there
    return (device->attr->osdev.types & static_cast<hwloc_obj_osdev_types_t>(type)) != 0;
#else
    return device->attr->osdev.type == type;
#endif
  }

  // Returns the processors next to the network cards that hwloc has found. Where there are cards of a fabric, such as InfiniBand,
  // no others count: they serve the administration. Returns none if all processors are as near.
  CpuSet processors_by_network(const std::vector<hwloc_obj_t>& pus) {
    std::array<CpuSet, 2> next_to;  // to any card, to one of a fabric
    for (hwloc_obj_t device = next(HWLOC_OBJ_OS_DEVICE, nullptr); device != nullptr; device = next(HWLOC_OBJ_OS_DEVICE, device)) {
      const bool fabric = is_of(device, HWLOC_OBJ_OSDEV_OPENFABRICS);
      if (!fabric && !is_of(device, HWLOC_OBJ_OSDEV_NETWORK)) continue;
      CpuSet& cpus = next_to[fabric ? 1 : 0];
      const hwloc_obj_t beside = hwloc_get_non_io_ancestor_obj(topology_, device);
      for (hwloc_obj_t pu : pus)
        if (hwloc().bitmap_isset(beside->cpuset, pu->os_index)) cpus.push_back(pu->os_index);
    }
    CpuSet& cpus = next_to[next_to[1].empty() ? 0 : 1];
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus.size() == pus.size() ? CpuSet{} : cpus;
  }

  void remember_cache(Level level, hwloc_obj_t cache) {
    if (cache != nullptr) machine_.cache_bytes_[index(level)] = cache->attr->cache.size;
  }

  void add(hwloc_obj_t pu, std::int32_t region) {
    const hwloc_obj_t core = ancestor(pu, HWLOC_OBJ_CORE);
    const hwloc_obj_t l2 = ancestor(pu, HWLOC_OBJ_L2CACHE);
    const hwloc_obj_t l3 = ancestor(pu, HWLOC_OBJ_L3CACHE);
    const hwloc_obj_t package = ancestor(pu, HWLOC_OBJ_PACKAGE);
    const hwloc_obj_t board = board_of(pu);
    remember_cache(Level::l2, l2);
    remember_cache(Level::l3, l3);

    Processor processor;
    processor.number = pu->os_index;
    Place& place = processor.place;
    place.at(Level::board) = board == nullptr ? 0 : number(Level::board, board);
    place.at(Level::package) = package == nullptr ? 0 : number(Level::package, package);
    place.at(Level::core) = number(Level::core, core == nullptr ? pu : core);
    place.at(Level::numa) = region;
    place.at(Level::l2) = l2 == nullptr ? place.at(Level::core) : number(Level::l2, l2);
    place.at(Level::l3) = l3 == nullptr ? place.at(Level::l2) : number(Level::l3, l3);

    const auto id = static_cast<std::size_t>(place.at(Level::core));
    if (id == machine_.cores_.size()) machine_.cores_.emplace_back();
    machine_.cores_[id].push_back(processor.number);
    machine_.processors_.push_back(processor);
  }

  void read_distances() {
    unsigned found = 1;
    hwloc_distances_s* matrix = nullptr;
    if (hwloc().distances_get_by_type(topology_, HWLOC_OBJ_NUMANODE, &found, &matrix, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
        found == 0) {
      return;
    }
    const auto& nodes = objects_[index(Level::numa)];
    std::vector<std::vector<std::uint64_t>> distances(nodes.size());
    bool complete = true;
    for (std::size_t from = 0; from < nodes.size(); ++from) {
      const int row = hwloc_distances_obj_index(matrix, nodes[from]);
      for (hwloc_obj_t node : nodes) {
        const int column = hwloc_distances_obj_index(matrix, node);
        if (row < 0 || column < 0) {
          complete = false;
        } else {
          distances[from].push_back(matrix->values[static_cast<unsigned>(row) * matrix->nbobjs + static_cast<unsigned>(column)]);
        }
      }
    }
    if (complete) machine_.distances_ = std::move(distances);
    hwloc().distances_release(topology_, matrix);
  }

  hwloc_topology_t topology_;
  Machine machine_;
  std::array<std::vector<hwloc_obj_t>, kLevels> objects_;
};

namespace {

Topology this_machine(bool network = false, unsigned long flags = 0) {
  Topology topology = new_topology(flags);
  hwloc().topology_set_io_types_filter(topology.get(), network ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc().topology_load(topology.get()) != 0) {
    throw Error("this machine", std::string("hwloc cannot discover it: ") + std::strerror(errno), "a readable /sys and /proc",
                "describe the machine with COPSE_TOPOLOGY");
  }
  return topology;
}

}  // namespace

Machine Machine::discover() { return Reader(this_machine().get()).read("this machine"); }

Machine Machine::discover_with_network() { return Reader(this_machine(true).get()).read("this machine"); }

Machine Machine::discover_whole(bool network) {
  return Reader(this_machine(network, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED).get()).read("this machine");
}

std::string description_of_this_machine() {
  const Topology topology = this_machine();
  std::array<char, 4096> text{};
  for (const unsigned long flags : {0UL, static_cast<unsigned long>(HWLOC_TOPOLOGY_EXPORT_SYNTHETIC_FLAG_IGNORE_MEMORY)})
    if (hwloc().topology_export_synthetic(topology.get(), text.data(), text.size(), flags) > 0) return text.data();
  return "core:" + std::to_string(Machine::discover().cores().size()) + " pu:1";
}

Machine Machine::from(std::string_view text, std::string_view origin) {
  const std::string where(origin);
  const Topology topology = new_topology();
  const RecordedMachine* recorded = find_recorded(text);
  const std::string given(text);
  struct stat status{};
  const bool is_path = recorded == nullptr && (text.find('/') != std::string_view::npos || text.ends_with(".xml") ||
                                               (!text.empty() && stat(given.c_str(), &status) == 0));
  if (is_path) {
    const char* expected = "an hwloc XML file";
    if (stat(given.c_str(), &status) != 0) {
      throw Error(where, "cannot open '" + given + "': " + std::strerror(errno), expected, "check the path");
    }
    // Reading a device or a pipe might never end.
    if (!S_ISREG(status.st_mode))
      throw Error(where, "'" + given + "' is not a topology that hwloc can read, since it is no regular file", expected,
                  "check the path");
    hwloc().topology_set_io_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc().topology_set_xml(topology.get(), given.c_str()) != 0 || hwloc().topology_load(topology.get()) != 0) {
      throw Error(where, "'" + given + "' is not a topology that hwloc can read", expected, "write one with: lstopo machine.xml");
    }
  } else {
    describe(topology.get(), recorded != nullptr ? std::string(recorded->synthetic) : given, where);
    if (hwloc().topology_load(topology.get()) != 0) {
      throw Error(where, "hwloc cannot build \"" + given + '"', "levels from the outermost to pu", "try it with lstopo -i");
    }
  }
  Machine machine = Reader(topology.get()).read(recorded != nullptr ? std::string(recorded->name) : given);
  if (machine.processors().empty())
    throw Error(where, "'" + given + "' has processors without memory, or none", "a whole machine",
                "write one with: lstopo machine.xml");
  if (recorded != nullptr && !recorded->distances.empty()) Reader::set_distances(machine, recorded->distances);
  return machine;
}

std::optional<std::uint64_t> Machine::cache_bytes(Level level) const {
  const std::uint64_t bytes = cache_bytes_[static_cast<std::size_t>(level)];
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

Place Machine::place_of(std::span<const unsigned> cpus) const {
  Place place;
  place.id.fill(kNotConfined);
  place.at(Level::node) = 0;
  bool first = true;
  for (const Processor& processor : processors_) {
    if (!std::binary_search(cpus.begin(), cpus.end(), processor.number)) continue;
    if (std::exchange(first, false)) {
      place = processor.place;
      continue;
    }
    for (std::size_t level = 0; level < kLevels; ++level) {
      if (place.id[level] != processor.place.id[level]) place.id[level] = kNotConfined;
    }
    place.by_network &= processor.place.by_network;
  }
  return place;
}

CpuSet Machine::processors_in(Level level, std::int32_t id) const {
  CpuSet cpus;
  for (const Processor& processor : processors_) {
    if (processor.place.at(level) == id) cpus.push_back(processor.number);
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

bool Machine::set_distances(std::vector<std::vector<std::uint64_t>> distances) {
  const std::size_t n = regions_.size();
  if (distances.size() != n || !std::all_of(distances.begin(), distances.end(), [&](const auto& row) { return row.size() == n; }))
    return false;
  distances_ = std::move(distances);
  return true;
}

std::string Machine::summary() const { return name_ + ": " + parts(true); }

std::string Machine::kind() const { return (processor_.empty() ? name_ : processor_) + ": " + parts(false); }

std::string Machine::parts(bool with_memory) const {
  const auto counted = [](int n, const char* one, const char* several) {
    return std::to_string(n) + ' ' + (n == 1 ? one : several);
  };
  std::string out;
  if (count(Level::board) > 0) out += counted(count(Level::board), "board, ", "boards, ");
  out += counted(count(Level::package), "package, ", "packages, ");
  out += counted(count(Level::numa), "NUMA region", "NUMA regions");
  if (with_memory && regions_.front().memory_bytes) {
    out += std::string(" (") + (regions_.size() > 1 ? "the first " : "") + bytes_text(*regions_.front().memory_bytes) + ')';
  }
  for (const Level level : {Level::l3, Level::l2}) {
    if (count(level) == 0) continue;
    out += ", " + counted(count(level), level == Level::l3 ? "L3" : "L2", level == Level::l3 ? "L3s" : "L2s");
    if (cache_bytes(level)) out += " of " + bytes_text(*cache_bytes(level));
  }
  out += ", " + counted(count(Level::core), "core, ", "cores, ");
  return out + counted(static_cast<int>(processors_.size()), "processor", "processors");
}

std::string Machine::json() const {
  std::string out = "{\"name\": " + quoted(name_) + ", \"this_machine\": " + (is_this_machine_ ? "true" : "false");
  out += ", \"counts\": {" +
         joined(kAllLevels, ", ", [&](Level level) { return quoted(level_name(level)) + ": " + std::to_string(count(level)); }) +
         "}";
  out += ", \"cache_bytes\": {" +
         joined(std::array{Level::l3, Level::l2}, ", ",
                [&](Level level) {
                  const auto bytes = cache_bytes(level);
                  return quoted(level_name(level)) + ": " + (bytes ? std::to_string(*bytes) : "null");
                }) +
         "}";
  out += ", \"regions\": [" +
         joined(regions_, ", ",
                [](const Region& region) {
                  return "{\"memories\": [" + joined(region.memories, ", ", kNumber) +
                         "], \"memory_bytes\": " + (region.memory_bytes ? std::to_string(*region.memory_bytes) : "null") + "}";
                }) +
         "]";
  out += ", \"distances\": [" +
         joined(distances_, ", ", [](const auto& row) { return std::string("[").append(joined(row, ", ", kNumber)).append("]"); }) +
         "]";
  CpuSet by_network;
  for (const Processor& processor : processors_)
    if (processor.place.by_network) by_network.push_back(processor.number);
  out += ", \"by_network\": [" + joined(by_network, ", ", kNumber) + "]";
  out += ", \"processors\": [" +
         joined(processors_, ", ",
                [](const Processor& processor) {
                  return "{\"number\": " + std::to_string(processor.number) + ", " +
                         joined(kAllLevels, ", ",
                                [&](Level level) {
                                  return quoted(level_name(level)) + ": " + std::to_string(processor.place.at(level));
                                }) +
                         "}";
                }) +
         "]";
  return out + "}";
}

}  // namespace copse::topology
