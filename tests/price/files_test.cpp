// Whatever stands in a machine's file or a tuning table, reading it gives something that can be used, or one good line of error.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"
#include "price/parameters.hpp"

namespace copse::test {
namespace {

using Reader = std::string (*)(const std::string&, bool&);

constexpr std::string_view kTable = R"({"schema": "copse-tuning/1", "machine": "any", "mpi": "MPICH",
 "made": {"by": "copse tune", "on": "2026-01-01"},
 "rows": [
  {"collective": "broadcast", "bytes": [121, 65536], "ranks": [2, 8], "reach": "kernel", "turns": false, "run": "knomial:get:4",
   "fragment": 16384, "because": "1.31 times as fast as the default at 64 KiB"},
  {"collective": "allreduce", "bytes": [0, null], "nodes": false, "regions": true, "run": "tiled:put"},
  {"collective": "alltoall", "run": "mpi", "because": "x"}
 ]}
)";

// Counts what was accepted and what was refused, and fails on a broken promise.
class Tally {
 public:
  explicit Tally(Reader reader) : reader_(reader) {}
  void read(const std::string& text) {
    bool accepted = false;
    const std::string fault = reader_(text, accepted);
    EXPECT_EQ(fault, "") << text.substr(0, 4000);
    ++(accepted ? accepted_ : refused_);
  }
  [[nodiscard]] int accepted() const { return accepted_; }
  [[nodiscard]] int refused() const { return refused_; }

 private:
  Reader reader_;
  int accepted_ = 0, refused_ = 0;
};

// Cuts the text off, after every `step` characters.
void truncate(Tally& tally, std::string_view text, std::size_t step) {
  for (std::size_t length = 0; length < text.size(); length += step) tally.read(std::string(text.substr(0, length)));
}

// Garbles the text: other characters, other values, parts that are missing or stand somewhere else.
std::string garbled(std::string_view good, std::mt19937_64& random) {
  constexpr std::string_view kWords[] = {"-1",
                                         "0",
                                         "1e9",
                                         "1e-7",
                                         "1e999",
                                         "null",
                                         "true",
                                         "[]",
                                         "{}",
                                         "\"\"",
                                         "\"l3\"",
                                         "\"node\"",
                                         "\"core:3 pu:2\"",
                                         "\"keeps_reads\": true, ",
                                         "\"shared_by\": \"ports\", ",
                                         "\"\\u0000\"",
                                         "\"\\n\\u001b[2J\"",
                                         "4294967296",
                                         "0.5",
                                         "\xff",
                                         "\"flat:line\""};
  std::string text(good);
  for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.replace(at, random() % 12, kWords[random() % std::size(kWords)]); break;
      case 2: text.erase(at, random() % 40); break;
      default: text.insert(at, good.substr(random() % good.size(), random() % 60));
    }
    if (text.empty()) text = " ";
  }
  return text;
}

// Puts another value in the place of a number or word of the file. This keeps it JSON, so that what is behind the parser is tried.
std::string with_another_value(std::string_view good, std::mt19937_64& random) {
  constexpr std::string_view kNumbers[] = {"0",    "-0.0",  "1e-6", "1e6",  "1e9",  "0.1",    "1",    "7",
                                           "1000", "1e300", "-5",   "true", "null", "[1, 2]", "\"x\""};
  std::vector<std::pair<std::size_t, std::size_t>> places;  // begin and length of each number
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (std::string_view(" [").find(good[at]) == std::string_view::npos) continue;
    const std::size_t end = std::min(good.find_first_not_of("0123456789.e-", at + 1), good.size());
    if (end > at + 1) places.emplace_back(at + 1, end - at - 1);
  }
  std::string text(good);
  if (places.empty()) return text;
  const auto [begin, length] = places[random() % places.size()];
  return text.replace(begin, length, kNumbers[random() % std::size(kNumbers)]);
}

TEST(Files, EveryTruncatedMachineIsRefused) {
  for (const price::Recorded& machine : price::recorded()) {
    const std::string_view text = machine.text;
    const std::string_view whole = text.substr(0, text.find_last_of('}') + 1);
    Tally tally(read_as_priced_machine);
    truncate(tally, whole, 7);
    EXPECT_EQ(tally.accepted(), 0) << machine.name;
    tally.read(std::string(whole));
    EXPECT_EQ(tally.accepted(), 1) << machine.name;
  }
}

TEST(Files, GarbledMachinesDoNoHarm) {
  std::mt19937_64 random(3);  // the same every time
  for (const price::Recorded& machine : price::recorded()) {
    Tally tally(read_as_priced_machine);
    for (int i = 0; i < 150; ++i) tally.read(garbled(machine.text, random));
    for (int i = 0; i < 100; ++i) tally.read(with_another_value(machine.text, random));
    EXPECT_GT(tally.refused(), 100) << machine.name;
    EXPECT_GT(tally.accepted(), 20) << machine.name;
  }
}

TEST(Files, EveryTruncatedTableIsRefused) {
  const std::string_view whole = kTable.substr(0, kTable.find_last_of('}') + 1);
  Tally tally(read_as_table);
  truncate(tally, whole, 1);
  EXPECT_EQ(tally.accepted(), 0);
  tally.read(std::string(whole));
  EXPECT_EQ(tally.accepted(), 1);
}

TEST(Files, GarbledTablesDoNoHarm) {
  std::mt19937_64 random(4);
  Tally tally(read_as_table);
  for (int i = 0; i < 10000; ++i) tally.read(garbled(kTable, random));
  for (int i = 0; i < 1000; ++i) tally.read(with_another_value(kTable, random));
  EXPECT_GT(tally.refused(), 3000);
  EXPECT_GT(tally.accepted(), 500);
}

// Files that are made to take long or much memory are refused in no time.
TEST(Files, HostileOnesAreRefused) {
  const std::string much(std::size_t{8} << 20, 'x');
  std::string many = "{\"schema\": [0";
  for (int i = 0; i < 2'000'000; ++i) many += ",0";
  std::string levels;
  for (int i = 0; i < 200'000; ++i) levels += "1 ";
  const auto machine = [](const std::string& topology) {
    return R"({"schema": "copse-machine/1", "name": "x", "title": "x", "source": [], "topology": ")" + topology + "\"}";
  };
  const std::string documents[] = {many + "]}",
                                   "{\"" + much + "\": 1}",
                                   "{\"schema\": \"" + much + "\"}",
                                   machine(much),
                                   machine(levels),
                                   machine("/dev/zero"),
                                   machine("/"),
                                   machine("pu:16385"),
                                   machine("numa:4096 core:4096 pu:1"),
                                   machine("core:4 pu:1\\u0000"),
                                   std::string(1'000'000, '['),
                                   "{\"a\\nb\\u001b\": 1}"};
  for (const Reader reader : {read_as_priced_machine, read_as_table})
    for (const std::string& document : documents) {
      bool accepted = false;
      EXPECT_EQ(reader(document, accepted), "") << document.substr(0, 200);
      EXPECT_FALSE(accepted) << document.substr(0, 200);
    }
}

}  // namespace
}  // namespace copse::test
