// Tuning tables: what their rows change, and what is wrong with others.
#include "choose/table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <random>

#include "choose/alternatives.hpp"
#include "choose/chooser.hpp"

namespace copse::choose {
namespace {

using algorithms::Collective;
using plan::Carrier;

std::string with_rows(const std::string& rows) {
  return "{\"schema\": \"copse-tuning/1\",\n\"machine\": \"any\",\n\"rows\": [\n" + rows + "\n]}";
}

Settings settings_with(const std::string& rows) {
  Settings settings;
  auto table = std::make_shared<Table>();
  table->read(text::Json::parse(with_rows(rows), "t.json"), "t.json");
  settings.table = std::move(table);
  return settings;
}

std::string mistake_in(const std::string& document) {
  try {
    Table table;
    table.read(text::Json::parse(document, "t.json"), "t.json");
    return {};
  } catch (const text::FileError& error) {
    return error.what();
  }
}

Situation two_ranks(bool addressable = true) {
  Situation situation;
  situation.ranks = 2;
  situation.addressable = situation.anywhere = addressable;
  return situation;
}

std::string chosen(const Settings& settings, const Situation& situation, Collective collective, std::size_t bytes,
                   Needs needs = {}) {
  const Decision decision = choose(settings, situation, collective, bytes, needs);
  EXPECT_TRUE(decision.from <= bytes && bytes <= decision.to);
  return std::string(decision.outside ? "mpi " : "") + std::string(decision.algorithm->name) + ":" +
         plan::name_of(decision.carrier) + " " + std::to_string(decision.fragment_bytes);
}

std::string written(const std::string& file) { return text::read_file(file); }

TEST(Table, WhatWasLearnedIsAddedToAFile) {
  const std::string file = testing::TempDir() + "learned-" + std::to_string(getpid()) + ".json";
  const Settings none;
  Situation situation = two_ranks();
  const auto learned = [&](Collective collective, std::size_t bytes, int way) {
    const auto all = ways(none, situation, choose(none, situation, collective, bytes, {}), {}, false);
    return all[static_cast<std::size_t>(way)];
  };
  const Decision broadcast = learned(Collective::broadcast, 100'000, 1), allreduce = learned(Collective::allreduce, 100'000, 1);
  Decision mpi = learned(Collective::alltoall, 100, 0);
  mpi.outside = true;
  add_to_file(file, "here", "mpich", {rule_for(broadcast, situation)}, {"first \"time\""});
  add_to_file(file, "here", "mpich", {rule_for(allreduce, situation), rule_for(mpi, situation)}, {"second", ""});

  Settings settings;
  const auto read = [&] {
    auto table = std::make_shared<Table>();
    table->read(text::Json::read(file), file);
    settings.table = table;
    return table;
  };
  const auto table = read();
  EXPECT_EQ(table->machine, "here");
  EXPECT_EQ(table->reasons, (std::vector<std::string>{"second", "", "first \"time\""}));
  situation.mpi = true;
  for (const Decision& way : {broadcast, allreduce}) {
    const Decision now = choose(settings, situation, way.algorithm->collective, 100'000, {});
    EXPECT_EQ(now.algorithm, way.algorithm);
    EXPECT_EQ(now.carrier, way.carrier);
    EXPECT_EQ(now.fragment_bytes, way.fragment_bytes);
    EXPECT_EQ(std::string(now.rule->file), file);
    EXPECT_NE(std::string(choose(settings, situation, way.algorithm->collective, way.from - 1, {}).rule->file), file);
  }
  EXPECT_TRUE(choose(settings, situation, Collective::alltoall, 100, {}).outside);
  Situation others = situation;
  others.ranks = 3;
  EXPECT_NE(std::string(choose(settings, others, Collective::broadcast, 100'000, {}).rule->file), file);
  others = situation;
  others.direct = true;
  EXPECT_NE(std::string(choose(settings, others, Collective::broadcast, 100'000, {}).rule->file), file);

  add_to_file(file, "here", "mpich", {rule_for(learned(Collective::broadcast, 100'000, 2), situation)},
              {"third"});  // instead of the first
  EXPECT_EQ(read()->reasons, (std::vector<std::string>{"third", "second", ""}));
  const std::string before = written(file);
  EXPECT_THROW(add_to_file(file, "there", "mpich", {rule_for(broadcast, situation)}, {""}), text::FileError);
  EXPECT_THROW(add_to_file(file, "here", "impi", {rule_for(broadcast, situation)}, {""}), text::FileError);
  EXPECT_NE(why_not_added(file, "impi"), "");
  EXPECT_EQ(why_not_added(file, "mpich"), "");
  EXPECT_EQ(written(file), before);
  std::remove(file.c_str());
  EXPECT_THROW(add_to_file("/nowhere/at/all.json", "here", "mpich", {rule_for(broadcast, situation)}, {""}), text::FileError);
}

TEST(Table, ARowComesBeforeTheRules) {
  const Settings settings = settings_with(
      R"({"collective": "broadcast", "bytes": [1000, 2000], "ranks": [2, 2], "run": "chain:slot:4", "fragment": 512})");
  const Settings none;
  for (const std::size_t bytes : {999, 1000, 2000, 2001}) {
    const bool in = bytes >= 1000 && bytes <= 2000;
    const std::string usual = chosen(none, two_ranks(), Collective::broadcast, bytes);
    EXPECT_EQ(chosen(settings, two_ranks(), Collective::broadcast, bytes), in ? "chain:slot 512" : usual) << bytes;
    const Decision decision = choose(settings, two_ranks(), Collective::broadcast, bytes, {});
    EXPECT_EQ(std::string(decision.rule->file), in ? "t.json" : "rules.def");
    if (in) {
      EXPECT_EQ(decision.rule->line, 4);
      EXPECT_EQ(decision.radix, 4);
      EXPECT_EQ(decision.from, 1000U);
      EXPECT_EQ(decision.to, 2000U);
    } else {
      EXPECT_TRUE(decision.to < 1000 || decision.from > 2000);
    }
  }
  Situation three = two_ranks();
  three.ranks = 3;
  EXPECT_EQ(chosen(settings, three, Collective::broadcast, 1500), chosen(none, three, Collective::broadcast, 1500))
      << "not for three ranks";
}

TEST(Table, TheFirstRowThatCanRunDecides) {
  const Settings settings = settings_with(R"({"collective": "allreduce", "run": "rabenseifner:get", "reach": "kernel"},
    {"collective": "allreduce", "run": "exchange:line"},
    {"collective": "allreduce", "run": "ring:slot", "turns": false})");
  EXPECT_EQ(chosen(settings, two_ranks(), Collective::allreduce, 64), "rabenseifner:get 0");
  EXPECT_EQ(chosen(settings, two_ranks(false), Collective::allreduce, 64), "exchange:line 0") << "without the kernel";
  EXPECT_EQ(chosen(settings, two_ranks(false), Collective::allreduce, 121), "ring:slot 0") << "too much for a line";
  const Settings none;
  Situation turns = two_ranks(false);
  turns.oversubscribed = true;
  EXPECT_EQ(chosen(settings, turns, Collective::allreduce, 121), chosen(none, turns, Collective::allreduce, 121));
  const Needs strict{true, false};
  EXPECT_EQ(chosen(settings, two_ranks(false), Collective::allreduce, 121, strict),
            chosen(none, two_ranks(false), Collective::allreduce, 121, strict))
      << "a ring does not keep the order";
}

TEST(Table, TheUserComesFirst) {
  Settings settings = settings_with(R"({"collective": "broadcast", "run": "mpi"})");
  std::string why;
  settings.forced.push_back(*forced_in(Collective::broadcast, "chain:slot", why));
  Situation situation = two_ranks();
  situation.mpi = true;
  EXPECT_EQ(chosen(settings, situation, Collective::broadcast, 64), "chain:slot 0");
}

TEST(Table, TheMpiRunsWhatItRunsBest) {
  const Settings settings = settings_with(R"({"collective": "alltoall", "bytes": [4096, null], "run": "mpi"},
    {"collective": "alltoall", "run": "pairwise:slot"})");
  Situation situation = two_ranks();
  EXPECT_EQ(chosen(settings, situation, Collective::alltoall, 4096), "pairwise:slot 0") << "there is no MPI here";
  situation.mpi = true;
  EXPECT_EQ(chosen(settings, situation, Collective::alltoall, 4095), "pairwise:slot 0");
  EXPECT_EQ(chosen(settings, situation, Collective::alltoall, 4096), "mpi pairwise:slot 0") << "a started call runs the next row";
}

TEST(Table, AnotherMpiDoesNotRunWhatThisOneRunsBest) {
  Settings settings;
  auto table = std::make_shared<Table>();
  table->read(text::Json::parse(R"({"schema": "copse-tuning/1", "machine": "any", "mpi": "openmpi", "rows": [
    {"collective": "alltoall", "run": "mpi"}, {"collective": "alltoall", "run": "pairwise:slot"}]})",
                                "table"),
              "table");
  settings.table = table;
  Situation situation = two_ranks();
  situation.mpi = true;
  for (const char* mpi : {"openmpi", ""}) {  // it is not known under `copse explain`
    settings.mpi = mpi;
    EXPECT_EQ(chosen(settings, situation, Collective::alltoall, 4096), "mpi pairwise:slot 0") << mpi;
  }
  settings.mpi = "mpich";
  EXPECT_EQ(chosen(settings, situation, Collective::alltoall, 4096), "pairwise:slot 0");
}

TEST(Table, MistakesHaveALine) {
  const auto row = [](const std::string& text) { return mistake_in(with_rows(text)); };
  EXPECT_EQ(row(""), "");
  EXPECT_EQ(row("{}"), "t.json:4: a row needs the member 'collective'");
  EXPECT_NE(row(R"({"collective": "broadcst", "run": "mpi"})")
                .find("t.json:4: no collective is called 'broadcst'; did you mean 'broadcast'?"),
            std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "knomal:get"})").find("did you mean 'knomial'?"), std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "flat"})").find("expected an algorithm and a carrier"), std::string::npos);
  EXPECT_NE(row(R"({"collective": "gather", "run": "flat:xy"})").find("no carrier of flat is called 'xy'"), std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "knomial:get:65"})").find("a radix from 2 to 64"), std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "mpi", "bytes": [5, 4]})").find("ends before it begins"), std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "mpi", "bytes": [5]})").find("expected two numbers"), std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "mpi", "fragment": 5})").find("the MPI decides"), std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "flat:line", "fragment": 5})").find("is not cut"), std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "flat:get", "reach": "dirct"})").find("did you mean 'direct'?"),
            std::string::npos);
  EXPECT_NE(row(R"({"collective": "broadcast", "run": "flat:get", "rank": 2})").find("did you mean 'ranks'?"), std::string::npos);
  EXPECT_NE(mistake_in("{\"schema\": \"copse-tuning/0\"}").find("make the table anew"), std::string::npos);
}

TEST(Table, TheVariableNamesTheFile) {
  const char* const environment[] = {"COPSE_TUNING=/nowhere/t.json", nullptr};
  std::string error;
  EXPECT_FALSE(read_settings(environment, error));
  EXPECT_EQ(error,
            "COPSE_TUNING=/nowhere/t.json: /nowhere/t.json: the file cannot be read; is the name right, and may you read it?");
  const char* const null[] = {"COPSE_TUNING=/dev/null", nullptr};  // a pipe would be read by one rank alone
  EXPECT_FALSE(read_settings(null, error));
  EXPECT_EQ(error, "COPSE_TUNING=/dev/null: this is not a file that all ranks can read");
}

// A table of garbled rows is refused with a line, or it can be used.
TEST(Table, GarbledTablesDoNoHarm) {
  const std::string good = with_rows(
      R"({"collective": "broadcast", "bytes": [121, 65536], "ranks": [2, 8], "reach": "kernel", "turns": false,
     "run": "knomial:get:4", "fragment": 16384},
    {"collective": "allreduce", "bytes": [0, null], "nodes": false, "regions": true, "run": "tiled:put"},
    {"collective": "alltoall", "run": "mpi", "because": "x"})");
  ASSERT_EQ(mistake_in(good), "");
  const std::string words[] = {"\"flat:line\"",     "\"slot\"",   "4294967296", "null",  "[]",
                               "\"exchange:slot\"", "\"reduce\"", "-1",         "1e300", "true"};
  std::mt19937 random(11);  // NOLINT: the same every time
  int used = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (unsigned changes = 1 + random() % 2; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.replace(at, random() % 12, words[random() % std::size(words)]);
      } else {
        text[at] = static_cast<char>(random());
      }
    }
    Settings settings;
    auto table = std::make_shared<Table>();
    try {
      table->read(text::Json::parse(text, "t.json"), "t.json");
    } catch (const text::FileError& error) {
      ASSERT_EQ(std::string(error.what()).find("t.json:"), 0U) << error.what();
      continue;
    }
    ++used;
    settings.table = std::move(table);
    Situation situation = two_ranks(i % 2 == 0);
    situation.mpi = i % 3 == 0;
    for (const Collective collective : {Collective::broadcast, Collective::allreduce, Collective::alltoall})
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{4096}, std::size_t{1} << 30}) {
        const Decision decision = choose(settings, situation, collective, bytes, {});
        ASSERT_TRUE(decision.algorithm != nullptr && decision.algorithm->carries(decision.carrier) && decision.from <= bytes &&
                    bytes <= decision.to);
      }
  }
  EXPECT_GT(used, 50);
}

TEST(Ways, CutMessagesAsTheUserWants) {
  using Mode = Fragmentation::Mode;
  int several = 0;
  for (const Fragmentation wanted :
       {Fragmentation{Mode::none, 0}, Fragmentation{Mode::fixed, 16384}, Fragmentation{Mode::halves, 0}})
    for (const int ranks : {2, 4, 8})
      for (const Collective collective : {Collective::broadcast, Collective::allreduce, Collective::reduce})
        for (const bool same_bits : {false, true}) {
          Settings settings;
          settings.fragment = wanted;
          Situation situation = two_ranks();
          situation.ranks = ranks;
          for (const Decision& chosen : by_size_class(settings, situation, collective, {})) {
            const auto all = ways(settings, situation, chosen, {}, same_bits);
            several += all.size() > 1 ? 1 : 0;
            for (const Decision& way : all) {
              if (way.outside || !way.algorithm->fragments || way.carrier == plan::Carrier::line) continue;
              EXPECT_EQ(way.halves, wanted.mode == Mode::halves);
              EXPECT_TRUE(way.halves || way.fragment_bytes == wanted.bytes);
              // In halves, a slot that is too small for one would put the cut elsewhere.
              const bool in_order = ranks == 2 && way.algorithm->strict() && chosen.algorithm->strict();
              EXPECT_TRUE(!same_bits || in_order || !way.halves || way.footprint.slots == chosen.footprint.slots);
            }
          }
        }
  EXPECT_GT(several, 20);
}

TEST(Ways, CanAllRunTheSameSizes) {
  int several = 0;
  for (const int ranks : {2, 3, 8, 17})
    for (int c = 0; c < algorithms::kCollectives; ++c)
      for (const bool same_bits : {false, true}) {
        Situation situation = two_ranks();
        situation.ranks = ranks;
        situation.mpi = true;
        std::size_t next = 0;
        for (const Decision& chosen : by_size_class({}, situation, static_cast<Collective>(c), {})) {
          EXPECT_EQ(chosen.from, next);
          next = chosen.to + 1;
          const auto all = ways({}, situation, chosen, {}, same_bits);
          ASSERT_FALSE(all.empty());
          several += all.size() > 1 ? 1 : 0;
          for (const Decision& way : all) {
            EXPECT_TRUE(way.from == chosen.from && way.to == chosen.to);
            const bool in_order = ranks == 2 && way.algorithm->strict() && chosen.algorithm->strict();
            EXPECT_TRUE(!same_bits || ((way.algorithm == chosen.algorithm || in_order) && !way.outside));
          }
        }
        EXPECT_EQ(next, 0U) << "the last one has no end";
      }
  EXPECT_GT(several, 100);
}

}  // namespace
}  // namespace copse::choose
