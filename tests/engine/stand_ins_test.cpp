// Stand-ins for buffers outside the shared heap: what they hold, and what is written back.
#include "engine/stand_ins.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace copse::engine {
namespace {

const char kOnlyRead[16] = "is only read";
char writable[16] = "can be written";
char behind_both[16];  // memory from malloc lies behind this

// What lies behind the program's own variables counts as the heap.
Peer heap() {
  Peer heap;
  heap.heap_base = reinterpret_cast<std::uintptr_t>(&behind_both);
  heap.heap_bytes = SIZE_MAX / 2 - heap.heap_base;
  return heap;
}

Call call_on(const void* input, void* output) {
  Call call;
  call.input = input;
  call.output = output;
  call.count = sizeof writable;
  return call;
}

Program program_of(plan::Contents contents) {
  Program program;
  program.ranks = 2;
  program.contents = contents;
  return program;
}

// The root of a broadcast has one buffer for input and output, and it may be memory that can only be read.
TEST(StandIns, WhatTheCallLeavesAsItWasIsNotWritten) {
  const StandIns stand_ins(program_of({}), call_on(kOnlyRead, const_cast<char*>(kOnlyRead)), 0, heap());
  ASSERT_NE(stand_ins.call(), nullptr);
  EXPECT_NE(stand_ins.call()->output, kOnlyRead);
  EXPECT_EQ(std::memcmp(stand_ins.call()->input, kOnlyRead, sizeof kOnlyRead), 0);
  stand_ins.deliver();
}

TEST(StandIns, ResultsAreWritten) {
  const StandIns stand_ins(program_of({}), call_on(writable, writable), 0, heap());
  ASSERT_NE(stand_ins.call(), nullptr);
  static_cast<char*>(stand_ins.call()->output)[3] = '-';
  stand_ins.deliver();
  EXPECT_STREQ(writable, "can-be written");
  writable[3] = ' ';
}

// Behind the blocks of the callers lies what is not theirs. A helper has no block.
TEST(StandIns, BlocksOfAllCallersAreAllThatABufferHolds) {
  Peer two_blocks;
  two_blocks.heap_base = reinterpret_cast<std::uintptr_t>(&writable);
  two_blocks.heap_bytes = sizeof writable;
  Call call = call_on(writable, writable);
  call.count = sizeof writable / 2;
  Program program = program_of({plan::Extent::all, plan::Extent::own, 2});
  program.ranks = 3;
  const StandIns stand_ins(program, call, 0, two_blocks);
  ASSERT_NE(stand_ins.call(), nullptr);
  EXPECT_EQ(stand_ins.call()->input, writable);
}

// MPI_BOTTOM: the blocks' offsets are addresses.
TEST(StandIns, BlocksAtAbsoluteAddressesHaveStandIns) {
  const auto address = reinterpret_cast<std::intptr_t>(&writable);
  const Block blocks[] = {{address, 3}, {address + 4, 2}};
  Call call = call_on(nullptr, nullptr);
  call.ragged = true;
  call.input_blocks = blocks;
  const StandIns stand_ins(program_of({plan::Extent::row, plan::Extent::column, 4}), call, 0, heap());
  ASSERT_NE(stand_ins.call(), nullptr);
  ASSERT_NE(stand_ins.call()->input, nullptr);
  const auto* const there = static_cast<const char*>(stand_ins.call()->input);
  EXPECT_EQ(std::string(there + stand_ins.call()->input_blocks[0].offset, 3), "can");
  EXPECT_EQ(std::string(there + stand_ins.call()->input_blocks[1].offset, 2), "be");
}

}  // namespace
}  // namespace copse::engine
