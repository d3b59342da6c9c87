// Random calls in a random order, on several communicators over the same ranks: every algorithm against the naive one,
// which is to combine the ranks' inputs one after the other.
//
// Every rank draws the same calls from the same seed, and can say what every other rank's input is. TEST_SEED and
// TEST_CALLS in the environment replay a failure (the message says how).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <sstream>
#include <vector>

#include "choose/chooser.hpp"
#include "ranks.hpp"

namespace copse::test {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using communicator::Communicator;
using communicator::Outcome;

constexpr int kCommunicators = 4;
constexpr std::size_t kMostBytes = std::size_t{2} << 20;

std::uint64_t number_from(const char *name, std::uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

// Multiplication of 2x2 matrices over 16-bit integers: associative, and does not commute.
void multiply(void *, const void *in, void *inout, std::size_t count) {
  using Matrix = std::array<std::uint16_t, 4>;
  for (std::size_t i = 0; i < count; ++i) {
    Matrix a, b;
    std::memcpy(&a, static_cast<const std::byte *>(in) + i * sizeof a, sizeof a);
    std::memcpy(&b, static_cast<std::byte *>(inout) + i * sizeof b, sizeof b);
    const auto entry = [&](std::size_t row, std::size_t column) {
      return static_cast<std::uint16_t>(1U * a[2 * row] * b[column] + 1U * a[2 * row + 1] * b[2 + column]);
    };
    const Matrix c{entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)};
    std::memcpy(static_cast<std::byte *>(inout) + i * sizeof c, &c, sizeof c);
  }
}

// Operators whose result does not depend on the order in which ranks are combined (floats hold small whole numbers).
struct Operation {
  const char *name;
  std::size_t element_bytes;
  copse_op op;
  copse_type type;
  bool whole_numbers;  // elements are drawn as such
};
const Operation kOperations[] = {
    {"SUM of INT64", 8, COPSE_SUM, COPSE_INT64, false},   {"PROD of INT32", 4, COPSE_PROD, COPSE_INT32, false},
    {"MIN of INT16", 2, COPSE_MIN, COPSE_INT16, false},   {"MAX of UINT64", 8, COPSE_MAX, COPSE_UINT64, false},
    {"BXOR of BYTE", 1, COPSE_BXOR, COPSE_BYTE, false},   {"LAND of INT8", 1, COPSE_LAND, COPSE_INT8, false},
    {"SUM of DOUBLE", 8, COPSE_SUM, COPSE_DOUBLE, true},  {"MAX of DOUBLE", 8, COPSE_MAX, COPSE_DOUBLE, true},
    {"a product of matrices", 8, COPSE_OP_COUNT, COPSE_TYPE_COUNT, false},
};

engine::Combine combine_of(const Operation &operation) {
  engine::Combine combine;
  if (operation.op == COPSE_OP_COUNT) {
    combine.user = multiply;
    combine.commutative = false;
  } else {
    combine.kernel = kernels::reduce_kernel(operation.op, operation.type);
    combine.kernel_two = kernels::reduce_two_kernel(operation.op, operation.type);
  }
  return combine;
}

struct RandomCall {
  int communicator, root;
  Collective collective;
  const Operation *operation;
  std::size_t count;
  bool in_place;
  std::uint64_t seed;  // of the data
};

RandomCall draw(std::mt19937_64 &random, int ranks) {
  RandomCall call{};
  call.communicator = static_cast<int>(random() % kCommunicators);
  call.root = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
  call.collective = static_cast<Collective>(random() % algorithms::kCollectives);
  call.operation = &kOperations[random() % std::size(kOperations)];
  // The length's logarithm is uniform, and the least of three draws: mostly small, now and then large.
  const auto unit = [&] { return static_cast<double>(random() >> 11) / 9007199254740992.0; };
  const double length = std::exp(std::min({unit(), unit(), unit()}) * std::log(static_cast<double>(kMostBytes)));
  call.count = random() % 64 == 0 ? 0 : static_cast<std::size_t>(length) / call.operation->element_bytes;
  call.in_place = random() % 2 == 0;
  call.seed = random();
  return call;
}

std::vector<std::byte> input_of(const RandomCall &call, int rank) {
  std::vector<std::byte> data(call.count * call.operation->element_bytes);
  std::uint64_t state = call.seed + static_cast<std::uint64_t>(rank) * 0x9E3779B97F4A7C15;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::uint64_t bits = state ^ state >> 29;
    if (call.operation->whole_numbers) {
      const double value = static_cast<double>(bits % 1000);
      std::memcpy(&bits, &value, 8);
    }
    std::memcpy(data.data() + at, &bits, std::min<std::size_t>(8, data.size() - at));
  }
  return data;
}

std::vector<std::byte> naive(const RandomCall &call, const engine::Combine &combine, int ranks) {
  if (call.collective == Collective::broadcast) return input_of(call, call.root);
  std::vector<std::byte> result = input_of(call, ranks - 1);
  for (int rank = ranks - 2; rank >= 0; --rank)
    combine.apply(result.data(), input_of(call, rank).data(), result.data(), call.count, call.operation->element_bytes);
  return result;
}

std::string text_of(const RandomCall &call) {
  std::ostringstream text;
  text << algorithms::name_of(call.collective) << " of " << call.count << " elements of "
       << call.operation->element_bytes << " bytes";
  if (call.collective == Collective::reduce || call.collective == Collective::allreduce)
    text << ", " << call.operation->name;
  text << ", root " << call.root << (call.in_place ? ", in place" : "") << ", communicator " << call.communicator;
  return text.str();
}

// Runs one call on this rank and compares; empty if all is well.
std::string run_call(Communicator &comm, const RandomCall &call) {
  const std::size_t size = call.operation->element_bytes;
  const engine::Combine combine = combine_of(*call.operation);
  const int rank = comm.rank();
  const std::vector<std::byte> input = input_of(call, rank);
  std::vector<std::byte> in = input, out(input.size());
  Outcome outcome = Outcome::done;
  std::vector<std::byte> *result = call.in_place ? &in : &out;
  bool has_result = true;
  switch (call.collective) {
    case Collective::barrier: outcome = comm.barrier(), has_result = false; break;
    case Collective::broadcast:
      result = &in;
      outcome = comm.broadcast(in.data(), in.size(), call.root);
      break;
    case Collective::reduce:
      has_result = rank == call.root;
      outcome = comm.reduce(in.data(), has_result ? result->data() : nullptr, call.count, size, combine, call.root);
      break;
    case Collective::allreduce: outcome = comm.allreduce(in.data(), result->data(), call.count, size, combine); break;
  }
  if (outcome != Outcome::done) return comm.explain(outcome);
  if (!has_result || result != &in)
    if (in != input) return "the input was changed";
  if (!has_result) return {};
  const std::vector<std::byte> want = naive(call, combine, comm.ranks());
  for (std::size_t i = 0; i < want.size(); ++i)
    if ((*result)[i] != want[i])
      return "byte " + std::to_string(i) + " of " + std::to_string(want.size()) + " is " +
             std::to_string(std::to_integer<int>((*result)[i])) + ", expected " +
             std::to_string(std::to_integer<int>(want[i]));
  return {};
}

// One communicator as it comes; in the others every collective's algorithm, carrier, radix, fragments and machine are
// forced.
std::vector<choose::Settings> draw_settings(std::mt19937_64 &random) {
  std::vector<choose::Settings> result(kCommunicators);
  for (std::size_t c = 1; c < result.size(); ++c) {
    for (int i = 0; i < algorithms::kCollectives; ++i) {
      std::vector<const Algorithm *> rows;
      for (const Algorithm &row : algorithms::all())
        if (row.collective == static_cast<Collective>(i)) rows.push_back(&row);
      choose::Forced forced{static_cast<Collective>(i), rows[random() % rows.size()], {}, {}};
      const auto carrier = static_cast<plan::Carrier>(random() % plan::kCarriers);
      if (forced.algorithm->carries(carrier)) forced.carrier = carrier;
      if (random() % 2 == 0) forced.radix = 2 + static_cast<int>(random() % 4);
      result[c].forced.push_back(forced);
    }
    using Mode = choose::Fragmentation::Mode;
    const choose::Fragmentation fragmentations[] = {{}, {Mode::none, 0}, {Mode::halves, 0}, {Mode::fixed, 12345}};
    result[c].fragment = fragmentations[random() % std::size(fragmentations)];
    static const char *const machines[] = {"", "numa:2 core:2 pu:1", "package:2 numa:2 core:1 pu:1"};
    result[c].topology = machines[random() % std::size(machines)];
  }
  return result;
}

std::string text_of(const choose::Settings &settings) {
  std::string text;
  for (const choose::Forced &forced : settings.forced) {
    text += std::string(algorithms::name_of(forced.collective)) + "=" + std::string(forced.algorithm->name);
    if (forced.carrier) text += std::string(":") + plan::name_of(*forced.carrier);
    if (forced.radix) text += ":" + std::to_string(*forced.radix);
    text += ";";
  }
  return (text.empty() ? "as chosen" : text) + (settings.topology.empty() ? "" : " on " + settings.topology);
}

class RandomCalls : public testing::TestWithParam<Kind> {};

TEST_P(RandomCalls, EqualTheNaiveOnes) {
#ifdef __SANITIZE_THREAD__
  constexpr std::uint64_t kCalls = 1500;
#else
  constexpr std::uint64_t kCalls = 10000;
#endif
  constexpr std::uint64_t kRounds = 20;  // with other ranks and algorithms each
  const std::uint64_t seed = number_from("TEST_SEED", std::random_device{}());
  const std::uint64_t calls = number_from("TEST_CALLS", kCalls);
  std::cout << "seed " << seed << '\n';
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::mt19937_64 random(seed + round);
    const int ranks = GetParam() == Kind::mixed ? 4 : 2 + static_cast<int>(random() % 4);
    const std::vector<choose::Settings> settings = draw_settings(random);
    const std::string wrong = run_ranks(GetParam(), ranks, settings, [&](Communicators comms) {
      std::mt19937_64 same = random;
      for (std::uint64_t i = 0; i < calls / kRounds; ++i) {
        const RandomCall call = draw(same, ranks);
        Communicator &comm = *comms[static_cast<std::size_t>(call.communicator)];
        const std::string complaint = run_call(comm, call);
        if (!complaint.empty())
          return "call " + std::to_string(i) + ", " + text_of(call) + " (" +
                 text_of(settings[static_cast<std::size_t>(call.communicator)]) + "): " + complaint;
      }
      return std::string{};
    });
    const auto *test = testing::UnitTest::GetInstance()->current_test_info();
    ASSERT_EQ(wrong, "") << "round " << round << ", " << ranks << " ranks. Again: TEST_SEED=" << seed
                         << " TEST_CALLS=" << calls << " random_calls_test --gtest_filter=" << test->test_suite_name()
                         << "." << test->name();
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RandomCalls, testing::ValuesIn(kKinds),
                         [](const auto &info) { return name_of(info.param); });

}  // namespace
}  // namespace copse::test
