// Names and sizes of types and operators.
#include <gtest/gtest.h>

#include "engine/kernels/kernels.hpp"
#include "reference.hpp"

namespace copse::kernels {
namespace {

TEST(Names, AreThoseOfTheHeader) {
  EXPECT_STREQ(type_name(COPSE_LONG_DOUBLE_INT), "LONG_DOUBLE_INT");
  EXPECT_STREQ(op_name(COPSE_BXOR), "BXOR");
}

TEST(Names, OutOfRange) {
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
