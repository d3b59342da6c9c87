// Names and sizes of types and operators.
#include <gtest/gtest.h>

#include "engine/kernels/kernels.hpp"
#include "reference.hpp"

namespace copse::kernels {
namespace {

TEST(Names, RoundTripInAnyCase) {
  for (int i = 0; i < COPSE_TYPE_COUNT; ++i)
    EXPECT_EQ(parse_type(type_name(static_cast<copse_type>(i))), static_cast<copse_type>(i));
  for (int i = 0; i < COPSE_OP_COUNT; ++i) EXPECT_EQ(parse_op(op_name(static_cast<copse_op>(i))), static_cast<copse_op>(i));
  EXPECT_STREQ(type_name(COPSE_LONG_DOUBLE_INT), "LONG_DOUBLE_INT");
  EXPECT_STREQ(op_name(COPSE_BXOR), "BXOR");
  EXPECT_EQ(parse_type("double_int"), COPSE_DOUBLE_INT);
  EXPECT_EQ(parse_op("MinLoc"), COPSE_MINLOC);
}

TEST(Names, UnknownOnes) {
  for (const char* name : {"", "DOUBL", "DOUBLES", "SUM"}) EXPECT_EQ(parse_type(name), std::nullopt) << name;
  for (const char* name : {"", "SU", "SUMS", "DOUBLE"}) EXPECT_EQ(parse_op(name), std::nullopt) << name;
  EXPECT_STREQ(type_name(COPSE_TYPE_COUNT), "?");
  EXPECT_STREQ(op_name(COPSE_OP_COUNT), "?");
  EXPECT_EQ(type_size(COPSE_TYPE_COUNT), 0u);
}

TEST(Names, SizesArePaddedAsInC) {
  for (int i = 0; i < COPSE_TYPE_COUNT; ++i) {
    const auto type = static_cast<copse_type>(i);
    EXPECT_EQ(type_size(type), reference::describe(type).size) << type_name(type);
  }
}

}  // namespace
}  // namespace copse::kernels
