// Machines: discovered, recorded, described by text and by XML, and described wrongly.
#include <gtest/gtest.h>
#include <hwloc.h>
#include <hwloc/export.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "topology/machine.hpp"
#include "topology/recorded.hpp"

namespace copse::topology {
namespace {

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(Machine::from(text));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    path_ = testing::TempDir() + "copse-topology-" + std::to_string(getpid()) + ".xml";
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Copse's hwloc has no plugins, and so its own parser of XML. This program links hwloc, which would find libxml2.
[[maybe_unused]] const int kWithoutLibxml = setenv("HWLOC_LIBXML", "0", 1);

std::string xml_of(const char* synthetic) {
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_synthetic(topology, synthetic);
  hwloc_topology_load(topology);
  char* text = nullptr;
  int length = 0;
  hwloc_topology_export_xmlbuffer(topology, &text, &length, 0);
  std::string xml(text);
  hwloc_free_xmlbuffer(topology, text);
  hwloc_topology_destroy(topology);
  return xml;
}

struct Expected {
  const char* name;
  int boards, packages, regions, l3s, l2s, cores;
};

// The expected counts are those of the issue and of the papers.
class Recorded : public testing::TestWithParam<Expected> {};

TEST_P(Recorded, HasThePapersCounts) {
  const Expected& expected = GetParam();
  const Machine machine = Machine::from(expected.name);
  EXPECT_EQ(machine.count(Level::node), 1);
  EXPECT_EQ(machine.count(Level::board), expected.boards);
  EXPECT_EQ(machine.count(Level::package), expected.packages);
  EXPECT_EQ(machine.count(Level::numa), expected.regions);
  EXPECT_EQ(machine.count(Level::l3), expected.l3s);
  EXPECT_EQ(machine.count(Level::l2), expected.l2s);
  EXPECT_EQ(machine.count(Level::core), expected.cores);
  EXPECT_EQ(machine.cores().size(), static_cast<std::size_t>(expected.cores));
  EXPECT_FALSE(machine.is_this_machine());
  EXPECT_EQ(machine.name(), expected.name);
}

INSTANTIATE_TEST_SUITE_P(All, Recorded,
                         testing::Values(Expected{"ig", 2, 8, 8, 8, 48, 48}, Expected{"zoot", 0, 4, 1, 0, 8, 16},
                                         Expected{"magny-cours", 0, 4, 8, 8, 32, 32}, Expected{"westmere", 0, 2, 2, 2, 12, 12},
                                         Expected{"juropa", 0, 2, 2, 2, 8, 8}, Expected{"superdome", 0, 64, 16, 0, 0, 128},
                                         Expected{"epyc", 0, 2, 8, 16, 128, 128}, Expected{"xeon-max", 0, 2, 8, 2, 112, 112},
                                         Expected{"grace", 0, 1, 1, 1, 72, 72}),
                         [](const auto& row) {
                           std::string name = row.param.name;
                           std::erase(name, '-');
                           return name;
                         });

TEST(RecordedMachines, AllAreExpectedAbove) { EXPECT_EQ(recorded_machines().size(), 9U); }

TEST(RecordedMachines, DistancesFitTheirRegions) {
  for (const RecordedMachine& recorded : recorded_machines()) {
    const Machine machine = Machine::from(recorded.name);
    const auto& distances = machine.distances();
    const auto tokens = static_cast<std::size_t>(std::count(recorded.distances.begin(), recorded.distances.end(), ' '));
    if (recorded.distances.empty()) {
      EXPECT_TRUE(distances.empty()) << recorded.name;
      continue;
    }
    const std::size_t n = machine.regions().size();
    EXPECT_EQ(tokens + 1, n * n) << recorded.name;
    ASSERT_EQ(distances.size(), n) << recorded.name;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        EXPECT_EQ(distances[a][b], distances[b][a]) << recorded.name;
        EXPECT_EQ(distances[a][b] == 10, a == b) << recorded.name;
      }
    }
  }
}

TEST(RecordedMachines, CaseDoesNotMatter) { EXPECT_EQ(Machine::from("IG").name(), "ig"); }

TEST(Machine, KnowsMemoryAndCaches) {
  const Machine ig = Machine::from("ig");
  for (const Region& region : ig.regions()) EXPECT_EQ(region.memory_bytes, std::uint64_t{16} << 30);
  EXPECT_EQ(ig.cache_bytes(Level::l3), 5U << 20);
  EXPECT_EQ(ig.cache_bytes(Level::l2), 512U << 10);
  EXPECT_FALSE(Machine::from("zoot").cache_bytes(Level::l3).has_value());
}

TEST(Machine, MergesTheMemoriesOfARegion) {
  const Machine machine = Machine::from("xeon-max");
  ASSERT_EQ(machine.regions().size(), 8U);
  for (const Region& region : machine.regions()) {
    EXPECT_EQ(region.memories.size(), 2U);
    EXPECT_EQ(region.memory_bytes, std::uint64_t{80} << 30);
  }
}

// Ids are equal exactly where the hardware is shared. This checks a sample from each unusual machine.
TEST(Machine, PlacesSayWhatIsShared) {
  const Machine zoot = Machine::from("zoot");
  const auto place = [](const Machine& machine, std::size_t core) { return machine.place_of(machine.cores()[core]); };
  EXPECT_EQ(place(zoot, 0).at(Level::l2), place(zoot, 1).at(Level::l2));
  EXPECT_NE(place(zoot, 1).at(Level::l2), place(zoot, 2).at(Level::l2));
  EXPECT_EQ(place(zoot, 0).at(Level::l3), place(zoot, 1).at(Level::l3)) << "a missing L3 groups as L2 does";
  EXPECT_NE(place(zoot, 1).at(Level::l3), place(zoot, 2).at(Level::l3));
  EXPECT_EQ(place(zoot, 0).at(Level::numa), place(zoot, 15).at(Level::numa)) << "one memory for four packages";
  EXPECT_NE(place(zoot, 0).at(Level::package), place(zoot, 15).at(Level::package));
  EXPECT_EQ(place(zoot, 0).at(Level::board), place(zoot, 15).at(Level::board)) << "no boards: all on one";

  const Machine superdome = Machine::from("superdome");
  EXPECT_EQ(place(superdome, 0).at(Level::numa), place(superdome, 7).at(Level::numa));
  EXPECT_NE(place(superdome, 0).at(Level::package), place(superdome, 2).at(Level::package));
  EXPECT_NE(place(superdome, 7).at(Level::numa), place(superdome, 8).at(Level::numa));
  EXPECT_NE(place(superdome, 0).at(Level::l2), place(superdome, 1).at(Level::l2)) << "no cache known: none shared";

  const Machine ig = Machine::from("ig");
  EXPECT_EQ(place(ig, 0).at(Level::board), place(ig, 23).at(Level::board));
  EXPECT_NE(place(ig, 23).at(Level::board), place(ig, 24).at(Level::board));

  const Machine max = Machine::from("xeon-max");
  EXPECT_EQ(place(max, 0).at(Level::l3), place(max, 55).at(Level::l3)) << "the L3 spans regions";
  EXPECT_NE(place(max, 0).at(Level::numa), place(max, 55).at(Level::numa));
}

TEST(Machine, ConfinesOnlyAsFarAsTheMaskDoes) {
  const Machine epyc = Machine::from("epyc");
  const Place region = epyc.place_of(epyc.processors_in(Level::numa, 5));
  EXPECT_EQ(region.at(Level::package), 1);
  EXPECT_EQ(region.at(Level::numa), 5);
  EXPECT_EQ(region.at(Level::l3), kNotConfined) << "a region has two L3s";
  EXPECT_EQ(region.at(Level::core), kNotConfined);
  const Place nowhere = epyc.place_of(CpuSet{});
  EXPECT_EQ(nowhere.at(Level::node), 0);
  EXPECT_EQ(nowhere.at(Level::package), kNotConfined);
}

TEST(Machine, CountsHyperthreadsAsOneCore) {
  const Machine machine = Machine::from("package:2 core:3 pu:2");
  EXPECT_EQ(machine.processors().size(), 12U);
  ASSERT_EQ(machine.cores().size(), 6U);
  EXPECT_EQ(machine.cores()[1], (CpuSet{2, 3}));
  EXPECT_EQ(machine.place_of(machine.cores()[1]).at(Level::core), 1);
}

TEST(Machine, ComesFromXml) {
  const TemporaryFile file(xml_of("package:2 numa:2(memory=1GiB) l3:1(size=4MiB) core:3 pu:1"));
  const Machine machine = Machine::from(file.path());
  EXPECT_EQ(machine.count(Level::package), 2);
  EXPECT_EQ(machine.count(Level::numa), 4);
  EXPECT_EQ(machine.count(Level::core), 12);
  EXPECT_FALSE(machine.is_this_machine());
}

// hwloc does not notice that no NUMA region has the number of the last processor.
TEST(Machine, HasMemoryForEveryProcessor) {
  std::string xml = xml_of("numa:2 core:2 pu:1");
  const std::string number = "type=\"PU\" os_index=\"3";
  ASSERT_NE(xml.find(number), std::string::npos);
  xml.insert(xml.find(number) + number.size(), "0");
  EXPECT_NE(message_of(TemporaryFile(xml).path()).find("has processors without memory"), std::string::npos);
}

// lstopo wrote the file on the emulated machine of guest.sh. It has four regions, two pairs of them near, with
// distances.
TEST(Machine, ReadsDistancesAndBoardsFromXml) {
  const Machine machine = Machine::from(COPSE_TEST_DATA "/machines/two-pairs.xml");
  EXPECT_EQ(machine.count(Level::numa), 4);
  EXPECT_EQ(machine.count(Level::board), 2);
  EXPECT_EQ(machine.distances(),
            (std::vector<std::vector<std::uint64_t>>{{10, 12, 21, 21}, {12, 10, 21, 21}, {21, 21, 10, 12}, {21, 21, 12, 10}}));
  const Place place = machine.place_of(CpuSet{4, 7});
  EXPECT_EQ(place.at(Level::board), 1);
  EXPECT_EQ(place.at(Level::numa), kNotConfined);
}

// The second package has a device of this type.
std::string xml_with_device(int type) {
  std::string xml = xml_of("package:2 numa:1 core:2 pu:1");
  const std::size_t machine = xml.rfind("</object>"), package = xml.rfind("</object>", machine - 1);
  return xml.insert(package,
                    "<object type=\"OSDev\" gp_index=\"1000\" name=\"card0\" osdev_type=\"" + std::to_string(type) + "\"/>");
}

TEST(Machine, KnowsWhichProcessorsAreNextToTheNetwork) {
  for (const int type : {HWLOC_OBJ_OSDEV_NETWORK, HWLOC_OBJ_OSDEV_OPENFABRICS}) {
    const TemporaryFile file(xml_with_device(type));
    const Machine machine = Machine::from(file.path());
    EXPECT_FALSE(machine.place_of(CpuSet{0, 1}).by_network);
    EXPECT_TRUE(machine.place_of(CpuSet{2, 3}).by_network);
    EXPECT_FALSE(machine.place_of(CpuSet{1, 2}).by_network) << "not all of its processors are";
    EXPECT_FALSE(machine.place_of(CpuSet{}).by_network);
    EXPECT_NE(machine.json().find("\"by_network\": [2, 3]"), std::string::npos) << machine.json();
  }
  const TemporaryFile disk(xml_with_device(HWLOC_OBJ_OSDEV_BLOCK));
  EXPECT_FALSE(Machine::from(disk.path()).place_of(CpuSet{2, 3}).by_network) << "a disk is no network";
}

TEST(Machine, SaysWhatIsWrongWithADescription) {
  const std::string misspelt = message_of("magny-cour");
  EXPECT_NE(misspelt.find("COPSE_TOPOLOGY"), std::string::npos) << misspelt;
  EXPECT_NE(misspelt.find("did you mean 'magny-cours'?"), std::string::npos) << misspelt;

  const std::string piece = message_of("package:2 nmua:2 core:4 pu:1");
  EXPECT_NE(piece.find("does not understand 'nmua:2'"), std::string::npos) << piece;
  EXPECT_NE(piece.find("package:2 numa:2 l3:1 core:4 pu:1"), std::string::npos) << piece;

  EXPECT_NE(message_of("package:2 core:0 pu:1").find("'core:0'"), std::string::npos) << message_of("package:2 core:0 pu:1");
  EXPECT_NE(message_of("").find("empty"), std::string::npos) << message_of("");
  EXPECT_NE(message_of("   ").find("empty"), std::string::npos);

  const std::string missing = message_of("/no/such/machine.xml");
  EXPECT_NE(missing.find("cannot open '/no/such/machine.xml': No such file"), std::string::npos) << missing;

  const TemporaryFile broken("<topology><object type=\"Machine\"");
  const std::string unreadable = message_of(broken.path());
  EXPECT_NE(unreadable.find("not a topology that hwloc can read"), std::string::npos) << unreadable;
  EXPECT_NE(message_of("/").find("not a topology"), std::string::npos) << message_of("/");

  const std::string huge = message_of("package:1000 core:1000 pu:2");
  EXPECT_NE(huge.find("the machine exceeds 16384 processors at 'core:1000'"), std::string::npos) << huge;
  EXPECT_NE(message_of("package:99999999999999999999999 pu:1").find("exceeds 16384"), std::string::npos);
  EXPECT_NE(message_of("32 444\n3").find("exceeds 16384 processors at '3'"), std::string::npos) << "a line's end separates, too";
  EXPECT_NE(message_of("15151").find("'15151' puts more than 4096 objects side by side"), std::string::npos);
}

TEST(Machine, DiscoversThisOne) {
  const Machine machine = Machine::discover();
  EXPECT_TRUE(machine.is_this_machine());
  EXPECT_GE(machine.count(Level::package), 1);
  EXPECT_GE(machine.count(Level::numa), 1);
  ASSERT_FALSE(machine.processors().empty());
  EXPECT_TRUE(machine.regions().front().memory_bytes.has_value());
  // The machine contains every processor that this process may use.
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  std::set<unsigned> numbers;
  for (const Processor& processor : machine.processors()) numbers.insert(processor.number);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    EXPECT_TRUE(!CPU_ISSET(cpu, &mask) || numbers.contains(cpu)) << cpu;
  }
}

TEST(Machine, IsWholeWithWhatIsDenied) {
  const Machine usable = Machine::discover(), whole = Machine::discover_whole(false);
  std::set<unsigned> all, allowed;
  for (const Processor& processor : whole.processors()) all.insert(processor.number);
  for (const Processor& processor : usable.processors()) allowed.insert(processor.number);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), allowed.begin(), allowed.end()));
  EXPECT_EQ(CpuSet(allowed.begin(), allowed.end()), whole.allowed());
  EXPECT_EQ(usable.allowed(), whole.allowed());
}

TEST(Machine, DescribesItself) {
  EXPECT_EQ(Machine::from("ig").summary(),
            "ig: 2 boards, 8 packages, 8 NUMA regions (the first 16 GiB), 8 L3s of 5 MiB, 48 L2s of 512 KiB, 48 cores, "
            "48 processors");
  EXPECT_EQ(Machine::from("[numa(memory=1GiB)] package:1 core:1 pu:1").json(),
            R"({"name": "[numa(memory=1GiB)] package:1 core:1 pu:1", "this_machine": false, )"
            R"("counts": {"node": 1, "board": 0, "package": 1, "numa": 1, "l3": 0, "l2": 0, "core": 1}, )"
            R"("cache_bytes": {"l3": null, "l2": null}, )"
            R"("regions": [{"memories": [0], "memory_bytes": 1073741824}], "distances": [], )"
            R"("by_network": [], "processors": [{"number": 0, "node": 0, "board": 0, "package": 0, "numa": 0, "l3": 0, "l2": 0, )"
            R"("core": 0}]})");
}

}  // namespace
}  // namespace copse::topology
