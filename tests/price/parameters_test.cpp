// Machines as files: the recorded ones, and what is wrong with others.
#include "price/parameters.hpp"

#include <gtest/gtest.h>

#include "topology/layout.hpp"
#include "topology/recorded.hpp"

namespace copse::price {
namespace {

std::string ig() {
  for (const Recorded& each : recorded())
    if (each.name == "ig") return std::string(each.text);
  return {};
}

std::string mistake_in(const std::string& text) {
  try {
    static_cast<void>(Parameters::from(text::Json::parse(text, "m.json")));
    return {};
  } catch (const text::FileError& error) {
    return error.what();
  }
}

std::string replaced(const std::string& what, const std::string& by) {
  std::string text = ig();
  const std::size_t place = text.find(what);
  if (place == std::string::npos) return "the file has no " + what;
  return text.replace(place, what.size(), by);
}

TEST(Parameters, EveryRecordedMachineHasAFile) {
  for (const topology::RecordedMachine& machine : topology::recorded_machines()) {
    const Parameters found = parameters_of(std::string(machine.name));
    EXPECT_EQ(found.name, machine.name);
    EXPECT_EQ(found.machine.cores().size(), topology::Machine::from(machine.name).cores().size());
    EXPECT_GE(found.sources.size(), 2U) << machine.name;
    EXPECT_TRUE(found.kernel) << machine.name;
  }
  for (const Recorded& each : recorded()) EXPECT_EQ(parameters_of(std::string(each.name)).name, each.name);
}

TEST(Parameters, TheInnermostCommonLevelCounts) {
  const Parameters magny_cours = parameters_of("magny-cours");
  const auto places = topology::place_block(magny_cours.machine, 1, 32);
  EXPECT_EQ(magny_cours.between(places[0], places[1]).level, topology::Level::l3);
  EXPECT_EQ(magny_cours.between(places[0], places[4]).level, topology::Level::package);
  EXPECT_EQ(magny_cours.between(places[0], places[8]).distance, 0U) << "one hop";
  EXPECT_EQ(magny_cours.between(places[0], places[24]).distance, 22U) << "the diagonal";
}

TEST(Parameters, MistakesHaveAPlace) {
  EXPECT_EQ(mistake_in(ig()), "");
  EXPECT_EQ(mistake_in(""), "m.json:1: the file is empty");
  EXPECT_EQ(mistake_in("{\n\"schema\": 1}"), "m.json:2: expected a text in quotes, but here is a number");
  EXPECT_NE(mistake_in("{\"schema\": \"copse-machine/9\"}").find("expected \"copse-machine/1\""), std::string::npos);
  EXPECT_NE(mistake_in(ig().substr(0, ig().size() / 2)).find("cut off"), std::string::npos);
  EXPECT_NE(mistake_in(replaced("\"flag_ns\"", "\"flagns\"")).find("needs the member 'flag_ns'"), std::string::npos);
  EXPECT_NE(mistake_in(replaced("\"line_ns\": 38.6", "\"line_ns\": 38.6, \"lines\": 2")).find("has no member 'lines'"),
            std::string::npos);
  EXPECT_NE(mistake_in(replaced("\"line_ns\": 38.6", "\"line_ns\": -1")).find("-1 is not a number from 0 to 1e+09"),
            std::string::npos);
  EXPECT_NE(mistake_in(replaced("\"board\"", "\"bord\"")).find("did you mean 'board'?"), std::string::npos);
  EXPECT_NE(mistake_in(replaced("\"level\": \"board\"", "\"level\": \"l3\"")).find("each level stands once"), std::string::npos);
  EXPECT_NE(mistake_in(replaced("\"topology\": \"ig\"", "\"topology\": \"core:0\"")).find("m.json:"), std::string::npos);
  EXPECT_NE(mistake_in(replaced("\"\": 5", "\"sum\": 5")).find("needs the member \"\""), std::string::npos);
  EXPECT_NE(mistake_in(replaced("\"shared_GBps\": 20.0", "\"shared_GBps\": 2.0")).find("cannot be slower than one"),
            std::string::npos);
}

TEST(Parameters, UnknownNamesAreRefused) {
  EXPECT_THROW(static_cast<void>(parameters_of("westmore")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(parameters_of("./none.json")), text::FileError);
}

TEST(Parameters, RatesOfReductionsFallBack) {
  Parameters machine = parameters_of("ig");
  machine.reduce = {{"", 1}, {"sum", 2}, {"sum:double", 3}};
  EXPECT_EQ(machine.reduction_rate("sum", "double"), 3);
  EXPECT_EQ(machine.reduction_rate("sum", "float"), 2);
  EXPECT_EQ(machine.reduction_rate("max", "float"), 1);
}

}  // namespace
}  // namespace copse::price
