// Whatever a COPSE_ variable holds, reading it gives settings or one good error line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "choose/settings.hpp"
#include "parsers.hpp"

namespace copse::test {
namespace {

// Joins random pieces of the languages' words, with some bytes that belong to no word.
std::string scramble(std::mt19937_64& random, const std::vector<std::string>& words) {
  std::string text;
  for (std::uint64_t n = random() % 12; n > 0; --n) {
    switch (random() % 4) {
      case 0: text += static_cast<char>(1 + random() % 255); break;
      case 1: text += std::to_string(random() >> random() % 64); break;
      default: text += words[random() % words.size()];
    }
  }
  if (!text.empty() && random() % 4 == 0) text.erase(random() % text.size(), 1);
  return text;
}

TEST(Parse, SettingsFromAnyBytes) {
  std::mt19937_64 random(1);
  const std::vector<std::string> words{"bcast", "broadcast", "allreduce", "barrier",  "=",    ";",    ":", "tiled",
                                       "flat",  "knomial",   "put",       "get",      "slot", "4",    "0", "1",
                                       "none",  "halves",    "32K",       "9999999M", "core", "numa", "-", "any"};
  for (int i = 0; i < 3000; ++i) {
    const std::string text = scramble(random, words);
    ASSERT_EQ(read_as_settings(text), "") << text;
  }
}

TEST(Parse, MachinesFromAnyBytes) {
  std::mt19937_64 random(2);
  const std::vector<std::string> words{"package:2", "core:4", "pu:1", "pu:", "l3:2", "l2:1",   "numa:2",  " ",       ":",
                                       "ig",        "zoot",   "/",    "(",   "=",    "[numa]", "group:3", "pu:70000"};
  for (int i = 0; i < 200; ++i) {
    const std::string text = scramble(random, words);
    ASSERT_EQ(read_as_machine(text), "") << text;
  }
}

TEST(Parse, TopologyFilesFromAnyBytes) {
  std::ifstream file(COPSE_TEST_DATA "/machines/two-pairs.xml");
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  const std::vector<std::string> words{"<object", " type=\"", "\"PU\"", "Group", "</object>", "<distances2", " cpuset=\"",
                                       "0x0",     "os_index", "\"",     "<",     ">",         "/>",          "&amp;"};
  std::mt19937_64 random(3);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string text = good;
    const std::size_t at = random() % good.size(), length = random() % 60;
    if (i > 0) text.replace(at, length, scramble(random, words));
    if (i % 8 == 7) text.resize(at);
    bool is_machine = false;
    ASSERT_EQ(read_as_topology_file(text, is_machine), "") << text;
    ASSERT_TRUE(i > 0 || is_machine);
    ++(is_machine ? accepted : refused);
  }
  EXPECT_GT(accepted, 1);
  EXPECT_GT(refused, 1);
}

TEST(Parse, TheFirstMistakeIsNamedAndTheNearestWord) {
  const auto error_of = [](const char* entry) {
    const char* const environment[] = {entry, nullptr};
    std::string error;
    EXPECT_FALSE(choose::read_settings(environment, error)) << entry;
    return error;
  };
  EXPECT_NE(error_of("COPSE_ALGORITHM=reduce=knominal").find("did you mean 'knomial'?"), std::string::npos);
  EXPECT_NE(error_of("COPSE_FRAGMNT=1").find("did you mean COPSE_FRAGMENT?"), std::string::npos);
  EXPECT_EQ(error_of("COPSE_ZZZZZZZZZZZZZZZZZZZZ=1").find("did you mean"), std::string::npos);
}

TEST(Parse, SettingsThatDifferHaveOtherFingerprints) {
  const auto fingerprint = [](std::vector<const char*> entries) {
    entries.push_back(nullptr);
    std::string error;
    const auto settings = choose::read_settings(entries.data(), error);
    EXPECT_TRUE(settings) << error;
    return settings ? settings->fingerprint : 0;
  };
  EXPECT_NE(fingerprint({"COPSE_FRAGMENT=4K"}), fingerprint({"COPSE_FRAGMENT=8K"}));
  EXPECT_NE(fingerprint({"COPSE_FRAGMENT=4K"}), fingerprint({}));
  EXPECT_EQ(fingerprint({"COPSE_FRAGMENT=4K", "COPSE_CHECK=1"}), fingerprint({"COPSE_CHECK=1", "COPSE_FRAGMENT=4K"}));
  EXPECT_EQ(fingerprint({"COPSE_TRACE=1"}), fingerprint({"PATH=/bin"}));  // one rank alone may trace
  EXPECT_EQ(fingerprint({"COPSE_QUIET=1"}), fingerprint({"PATH=/bin"}));

  // Ranks on different nodes may read different files of one name.
  const std::string file = testing::TempDir() + "copse-parse-" + std::to_string(getpid());
  const auto of_file = [&](const char* variable, const char* text) {
    std::ofstream(file) << text;
    const std::string entry = variable + file;
    const auto found = fingerprint({entry.c_str()});
    EXPECT_EQ(fingerprint({entry.c_str()}), found);
    return found;
  };
  EXPECT_NE(of_file("COPSE_TOPOLOGY=", "one machine"), of_file("COPSE_TOPOLOGY=", "another machine"));
  constexpr const char* kTables[] = {
      R"({"schema": "copse-tuning/1", "machine": "any", "rows": [{"collective": "allreduce", "run": "ring:slot"}]})",
      R"({"schema": "copse-tuning/1", "machine": "any", "rows": [{"collective": "allreduce", "run": "tiled:slot"}]})"};
  EXPECT_NE(of_file("COPSE_TUNING=", kTables[0]), of_file("COPSE_TUNING=", kTables[1]));
  std::remove(file.c_str());
}

}  // namespace
}  // namespace copse::test
