// Sizes, words, and JSON with lines.
#include <gtest/gtest.h>

#include <random>

#include "text/json.hpp"
#include "text/words.hpp"

namespace copse::text {
namespace {

std::string mistake_in(const std::string& document) {
  try {
    static_cast<void>(Json::parse(document, "f"));
    return {};
  } catch (const FileError& error) {
    return error.what();
  }
}

TEST(Words, SizesHaveUnits) {
  EXPECT_EQ(size_in("32768"), 32768U);
  EXPECT_EQ(size_in("32K"), 32768U);
  EXPECT_EQ(size_in("1T"), std::size_t{1} << 40);
  for (const char* wrong : {"", "K", "-1", "1.5K", "1KB", "99999999999999999999", "200T"}) EXPECT_FALSE(size_in(wrong)) << wrong;
}

TEST(Words, TheNearestIsGuessed) {
  EXPECT_EQ(nearest("knomal", {"flat", "knomial", "chain"}), "knomial");
  EXPECT_EQ(nearest("zzzzzz", {"flat", "knomial", "chain"}), "");
  EXPECT_EQ(instead_of("flta", {"flat", "chain"}), "; did you mean 'flat'? (known: flat, chain)");
}

TEST(Json, ValuesKnowTheirLines) {
  const Json document = Json::parse("{\n\"a\": [1,\n 2.5],\n\n\"b\": {\"c\": \"x\\u00e9\\n\", \"d\": null, \"e\": true}}", "f");
  ASSERT_EQ(document.object().size(), 2U);
  const Json &list = document.object()[0].second, &object = document.object()[1].second;
  EXPECT_EQ(list.list()[0].line(), 2);
  EXPECT_EQ(list.list()[1].line(), 3);
  EXPECT_EQ(list.list()[1].number(), 2.5);
  EXPECT_EQ(object.line(), 5);
  EXPECT_EQ(object.object()[0].second.string(), "x\xc3\xa9\n");
  EXPECT_EQ(object.object()[1].second.kind(), Json::Kind::null);
  EXPECT_TRUE(object.object()[2].second.boolean());
}

TEST(Json, WhatIsNoJsonIsRefusedWithItsLine) {
  EXPECT_EQ(mistake_in("\n \n"), "f:3: the file is empty");
  EXPECT_EQ(mistake_in("{}\n\nx"), "f:3: there is more after the end of the document");
  EXPECT_EQ(mistake_in("{\"a\": 1,\n\"a\": 2}"), "f:2: an object has the member 'a' twice");
  EXPECT_NE(mistake_in("[1,\n2").find("f:2: this is not JSON"), std::string::npos);
  EXPECT_NE(mistake_in("[1,\n2").find("it may be cut off"), std::string::npos);
  EXPECT_NE(mistake_in("{\"a\": nan}").find("this is not JSON"), std::string::npos);
  EXPECT_NE(mistake_in("\"\xff\"").find("this is not JSON"), std::string::npos) << "no UTF-8";
  EXPECT_NE(mistake_in(std::string("{}\0", 3)).find("more after the end"), std::string::npos);
  EXPECT_NE(mistake_in(std::string(100000, '[')).find("nest deeper than 64"), std::string::npos);
  EXPECT_NE(mistake_in("1e999"), "") << "more than a double holds";
}

TEST(Json, NumbersAreExact) {
  const Json document = Json::parse("[0e121, -0.0, 13.0612, 1e-6, 9007199254740993, 123456789012345678901234567890, 5e-324]", "f");
  const double expected[] = {0, 0, 13.0612, 1e-6, 9007199254740992, 123456789012345678901234567890.0, 5e-324};
  for (std::size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(document.list()[i].number(), expected[i]) << i;
  for (const char* wrong : {"[01]", "[1.]", "[.5]", "[+1]", "[1e]", "[0x10]", "[1e999]", "[1e-999]"})
    EXPECT_NE(mistake_in(wrong), "") << wrong;
}

TEST(Json, MessagesAreOneShortLine) {
  EXPECT_EQ(mistake_in("{\"a\\n\\u001b[2J\": 1, \"a\\n\\u001b[2J\": 1}"), "f:1: an object has the member 'a??[2J' twice");
  const std::string name(100000, 'x');
  EXPECT_LT(mistake_in("{\"" + name + "\": 1, \"" + name + "\": 1}").size(), 1100U);
  EXPECT_NE(mistake_in("[\"a\\u0000b\"]").find("holds the character"), std::string::npos);
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  EXPECT_NE(mistake_in(many + "]").find("more than 1000000 values"), std::string::npos);
}

TEST(Json, WrongKindsAndRangesAreRefusedWithTheirLine) {
  const Json document = Json::parse("{\"n\": 3,\n\"s\": \"x\",\n\"f\": 2.5}", "f");
  const auto refusal = [](auto&& call) {
    try {
      static_cast<void>(call());
    } catch (const FileError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Json &n = document.object()[0].second, &s = document.object()[1].second, &f = document.object()[2].second;
  EXPECT_EQ(refusal([&] { return n.string(); }), "f:1: expected a text in quotes, but here is a number");
  EXPECT_EQ(refusal([&] { return s.number(); }), "f:2: expected a number, but here is a text in quotes");
  EXPECT_EQ(refusal([&] { return n.number(4, 5); }), "f:1: 3 is not a number from 4 to 5");
  EXPECT_EQ(refusal([&] { return f.whole(0, 9); }), "f:3: 2.5 is not a whole number");
  EXPECT_EQ(n.whole(0, 9), 3U);
}

TEST(Json, MembersThatNobodyAsksForAreRefused) {
  const Json document = Json::parse("{\"flag\": 1,\n\"flga\": 2}", "f");
  Members members(document, "a level");
  EXPECT_EQ(members.need("flag").number(), 1);
  EXPECT_EQ(members.find("line"), nullptr);
  EXPECT_THROW(static_cast<void>(members.need("none")), FileError);
  try {
    members.end();
    FAIL() << "flga was not asked for";
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()), "f:2: a level has no member 'flga'; did you mean 'flag'? (known: flag, line, none)");
  }
}

// Whatever stands in a file: a document, or a message that begins with the place.
TEST(Json, GarbledDocumentsAreRefused) {
  const std::string good =
      "{\"schema\": \"x\", \"rows\": [{\"a\": [1, null], \"b\": -2.5e3, \"c\": \"\\u00e9\"}, {}, [true, false]]}";
  std::mt19937 random(7);  // NOLINT: the same every time
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 8); break;
        default: text.insert(at, good.substr(random() % good.size(), random() % 16));
      }
      if (text.empty()) text = "{";
    }
    const std::string mistake = mistake_in(text);
    if (mistake.empty()) continue;
    ++refused;
    ASSERT_EQ(mistake.find("f:"), 0U) << mistake;
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace copse::text
