// The naive collectives.
#include "model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sstream>

#include "graph.hpp"

namespace copse::test {

using algorithms::Collective;
using communicator::Block;
using plan::Extent;

namespace {

// Multiplies 2x2 matrices over 16-bit integers, which is associative but does not commute.
void multiply(void*, const void* in, void* inout, std::size_t count) {
  using Matrix = std::array<std::uint16_t, 4>;
  for (std::size_t i = 0; i < count; ++i) {
    Matrix a, b;
    std::memcpy(&a, static_cast<const std::byte*>(in) + i * sizeof a, sizeof a);
    std::memcpy(&b, static_cast<std::byte*>(inout) + i * sizeof b, sizeof b);
    const auto entry = [&](std::size_t row, std::size_t column) {  // unsigned: two 16-bit factors overflow an int
      return static_cast<std::uint16_t>(1U * a[2 * row] * b[column] + 1U * a[2 * row + 1] * b[2 + column]);
    };
    const Matrix c{entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)};
    std::memcpy(static_cast<std::byte*>(inout) + i * sizeof c, &c, sizeof c);
  }
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a + b * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

engine::Combine combine_of(const Operation& operation) {
  if (!operation.ordered) return engine::predefined(operation.op, operation.type);
  engine::Combine combine;
  combine.user = multiply;
  combine.commutative = false;
  return combine;
}

// Tells whether a block of pairs goes along an edge of graph_of().
bool is_along_edge(std::uint32_t block, int ranks) {
  return is_edge(static_cast<int>(block) / ranks, static_cast<int>(block) % ranks, ranks);
}

// Returns the elements of a block. A message without blocks has only block 0.
std::size_t size_of(const ModelCall& call, std::uint32_t block) {
  if (!call.ragged || call.count == 0) return call.count;
  if (algorithms::traits_of(call.collective).along_edges && !is_along_edge(block, call.ranks)) return 0;
  if (call.alike) return call.count;
  if (call.collective == Collective::alltoall && call.in_place) {  // data in both directions shares a place
    const auto ranks = static_cast<std::uint32_t>(call.ranks), from = block / ranks, to = block % ranks;
    block = std::min(from, to) * ranks + std::max(from, to);
  }
  const std::uint64_t dice = mix(call.seed ^ 0x5A5A, block);
  if (dice % 5 == 0) return 0;
  if (dice % 5 == 1) return call.count;
  return dice / 5 % (call.count + 1);
}

// Returns what `rank` contributes to a block.
std::vector<std::byte> contribution(const ModelCall& call, int rank, std::uint32_t block) {
  std::vector<std::byte> data(size_of(call, block) * call.element_bytes());
  std::uint64_t state = mix(call.seed + block * 7919, static_cast<std::uint64_t>(rank) + 1);
  const bool whole = algorithms::traits_of(call.collective).reduces && call.operation->whole_numbers;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::uint64_t bits = state ^ state >> 29;
    if (whole) {
      const double value = static_cast<double>(bits % 1000);
      std::memcpy(&bits, &value, 8);
    }
    std::memcpy(data.data() + at, &bits, std::min<std::size_t>(8, data.size() - at));
  }
  return data;
}

// Returns what a block must be on `rank` afterwards. Sets `defined` to false if MPI leaves that undefined.
std::vector<std::byte> expected(const ModelCall& call, int rank, std::uint32_t block, bool& defined) {
  int last = call.ranks - 1;
  switch (call.collective) {
    case Collective::barrier: return {};
    case Collective::broadcast:
    case Collective::scatter: return contribution(call, call.root, block);
    case Collective::gather:
    case Collective::allgather: return contribution(call, static_cast<int>(block), block);
    case Collective::neighbor_alltoall: defined = is_along_edge(block, call.ranks); [[fallthrough]];
    case Collective::alltoall: return contribution(call, static_cast<int>(block) / call.ranks, block);
    case Collective::permute: {
      const auto permutation = call.permutation();
      return contribution(call, static_cast<int>(std::find(permutation.begin(), permutation.end(), rank) - permutation.begin()),
                          block);
    }
    case Collective::scan: last = rank; break;
    case Collective::exscan: last = rank - 1; break;
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::reduce_scatter: break;
  }
  defined = last >= 0;
  if (!defined) return {};
  const engine::Combine combine = combine_of(*call.operation);
  std::vector<std::byte> result = contribution(call, last, block);
  for (int other = last - 1; other >= 0; --other)
    combine.apply(result.data(), contribution(call, other, block).data(), result.data(), size_of(call, block),
                  call.element_bytes());
  return result;
}

}  // namespace

const Operation& operation(int number) {
  static const Operation kTable[kOperations] = {
      {"SUM of INT64", 8, COPSE_SUM, COPSE_INT64, false, false},
      {"PROD of INT32", 4, COPSE_PROD, COPSE_INT32, false, false},
      {"MIN of INT16", 2, COPSE_MIN, COPSE_INT16, false, false},
      {"MAX of UINT64", 8, COPSE_MAX, COPSE_UINT64, false, false},
      {"BXOR of BYTE", 1, COPSE_BXOR, COPSE_BYTE, false, false},
      {"LAND of INT8", 1, COPSE_LAND, COPSE_INT8, false, false},
      {"SUM of DOUBLE", 8, COPSE_SUM, COPSE_DOUBLE, true, false},
      {"MAX of DOUBLE", 8, COPSE_MAX, COPSE_DOUBLE, true, false},
      {"a product of matrices", 8, COPSE_OP_COUNT, COPSE_TYPE_COUNT, false, true},
  };
  return kTable[number];
}

std::size_t ModelCall::element_bytes() const { return algorithms::traits_of(collective).reduces ? operation->element_bytes : 1; }

std::vector<int> ModelCall::permutation() const {
  std::vector<int> result(static_cast<std::size_t>(ranks));
  std::iota(result.begin(), result.end(), 0);
  std::mt19937_64 random(seed % 3 == 0 ? seed : seed % 16);
  if (seed % 3 == 1) std::rotate(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(seed % result.size()), result.end());
  if (seed % 3 != 1) std::shuffle(result.begin(), result.end(), random);
  return result;
}

std::string ModelCall::text() const {
  std::ostringstream text;
  text << algorithms::name_of(collective) << " of " << (ragged && !alike ? "up to " : "") << count << " elements of "
       << element_bytes() << " bytes";
  if (algorithms::traits_of(collective).reduces) text << ", " << operation->name;
  if (algorithms::traits_of(collective).rooted()) text << ", root " << root;
  text << (in_place ? ", in place" : "") << ", data " << seed;
  return text.str();
}

ModelCall draw_call(std::mt19937_64& random, int ranks, std::size_t most_bytes) {
  ModelCall call;
  call.ranks = ranks;
  call.root = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
  call.collective = static_cast<Collective>(random() % algorithms::kCollectives);
  call.operation = &operation(static_cast<int>(random() % kOperations));
  // The logarithm of the length is uniform, and the least of three draws counts. So lengths are mostly small and
  // sometimes large.
  const auto unit = [&] { return static_cast<double>(random() >> 11) / 9007199254740992.0; };
  const plan::Contents contents = algorithms::contents_of(call.collective, ranks);
  const double most = static_cast<double>(most_bytes / std::max<std::size_t>(1, contents.blocks));
  const double length = std::exp(std::min({unit(), unit(), unit()}) * std::log(most));
  call.count = random() % 64 == 0 ? 0 : static_cast<std::size_t>(length) / call.element_bytes();
  call.in_place = random() % 2 == 0;
  call.ragged = contents.blocks > 0 && (random() % 2 == 0 || algorithms::traits_of(call.collective).along_edges);
  call.seed = random();
  call.alike = algorithms::traits_of(call.collective).along_edges && call.seed % 2 == 0;
  return call;
}

std::string_view test_reach() {
  const char* reach = std::getenv("TEST_REACH");
  return reach != nullptr ? reach : "";
}

bool outside_heap() {
  static const bool outside = [] {
    const char* rank = std::getenv("TEST_SPMD_RANK");
    return test_reach() == "heap_only" && rank != nullptr && std::atoi(rank) % 2 == 1;
  }();
  return outside;
}

// Lays out a buffer: dense, or in ragged calls with gaps and in its own order. (What reduce_scatter reads has no
// table.)
CallBuffers::Half CallBuffers::side(Extent extent, std::uint64_t salt) const {
  Half side;
  side.extent = extent;
  const int held = plan::blocks_in(extent, call_.ranks);
  side.blocks.resize(static_cast<std::size_t>(held));
  std::vector<int> order(static_cast<std::size_t>(held));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(mix(call_.seed + salt, static_cast<std::uint64_t>(rank_)));
  const bool loose = call_.ragged && held > 1 && call_.collective != Collective::reduce_scatter;
  if (loose) std::shuffle(order.begin(), order.end(), random);
  std::size_t at = 0;
  for (const int index : order) {
    const std::uint32_t block = plan::block_at(extent, rank_, index, call_.ranks);
    const std::size_t count = size_of(call_, extent == Extent::message ? 0 : block);
    if (loose) at += random() % 3 * call_.element_bytes();
    side.blocks[static_cast<std::size_t>(index)] = {static_cast<std::ptrdiff_t>(at), count};
    at += count * call_.element_bytes();
  }
  side.bytes.assign(at, std::byte{0x6B});
  return side;
}

CallBuffers::CallBuffers(int rank, const ModelCall& call)
    : rank_(rank), call_(call), combine_(combine_of(*call.operation)), permutation_(call.permutation()) {
  const algorithms::Traits& traits = algorithms::traits_of(call.collective);
  has_input_ = traits.has_input(rank, call.root);
  has_output_ = traits.has_output(rank, call.root);
  const bool displaced = call.collective == Collective::alltoall || call.collective == Collective::reduce_scatter ||
                         call.collective == Collective::permute;
  one_buffer_ = traits.one_buffer || (call.in_place && has_input_ && has_output_ && (traits.in_place || displaced));
  input_ = side(traits.input, 1);
  output_ = side(traits.output, 2);
  const auto fill = [&](Half& target, const Block& block, std::uint32_t number) {
    const auto data = contribution(call_, rank, number);
    if (!data.empty()) std::memcpy(target.bytes.data() + block.offset, data.data(), data.size());
  };
  if (one_buffer_ && call.collective == Collective::alltoall) {  // MPI: in both directions the sizes are those received
    input_ = output_;
    for (std::size_t i = 0; i < input_.blocks.size(); ++i) {
      const auto other = static_cast<std::uint32_t>(i), ranks = static_cast<std::uint32_t>(call.ranks);
      fill(input_, input_.blocks[i], static_cast<std::uint32_t>(rank) * ranks + other);
    }
  } else if (has_input_) {
    for (std::size_t i = 0; i < input_.blocks.size(); ++i)
      fill(input_, input_.blocks[i],
           traits.input == Extent::message ? 0 : plan::block_at(traits.input, rank, static_cast<int>(i), call.ranks));
  }
  if (one_buffer_ && traits.input == Extent::own) {  // this rank's block lies in the output
    const Block& mine = output_.blocks[static_cast<std::size_t>(rank)];
    if (!input_.bytes.empty()) std::memcpy(output_.bytes.data() + mine.offset, input_.bytes.data(), input_.bytes.size());
  }
  input_before_ = input_.bytes;
  output_before_ = output_.bytes;
}

communicator::Arguments CallBuffers::arguments() {
  const algorithms::Traits& traits = algorithms::traits_of(call_.collective);
  const auto rank = static_cast<std::size_t>(rank_);
  communicator::Arguments arguments;
  arguments.collective = call_.collective;
  arguments.element_bytes = call_.element_bytes();
  arguments.root = call_.root;
  arguments.count = call_.count;
  arguments.ragged = call_.ragged;
  arguments.alike = call_.alike;
  if (traits.reduces) arguments.combine = &combine_;
  if (call_.collective == Collective::permute) arguments.permutation = permutation_.data();
  if (has_input_ || traits.one_buffer) arguments.input = input_.bytes.data();
  if (has_output_) arguments.output = output_.bytes.data();
  if (one_buffer_) {
    if (traits.input == Extent::own) {
      arguments.input = output_.bytes.data() + output_.blocks[rank].offset;
    } else if (traits.output == Extent::own && !traits.reduces) {
      arguments.output = input_.bytes.data() + input_.blocks[rank].offset;
    } else {
      arguments.output = input_.bytes.data();
    }
  }
  if (!call_.ragged) return arguments;
  if (traits.input != Extent::own && has_input_) arguments.input_blocks = input_.blocks.data();
  if (traits.output != Extent::own && has_output_) arguments.output_blocks = output_.blocks.data();
  arguments.count = size_of(call_, static_cast<std::uint32_t>(rank));
  return arguments;
}

std::string CallBuffers::wrong_bytes() const {
  const algorithms::Traits& traits = algorithms::traits_of(call_.collective);
  const Half& result = one_buffer_ && traits.input != Extent::own ? input_ : output_;
  Bytes want = &result == &input_ ? input_before_ : output_before_;
  if (has_output_) {
    for (int i = 0; i < plan::blocks_in(traits.output, call_.ranks); ++i) {
      const std::uint32_t block = traits.output == Extent::message ? 0 : plan::block_at(traits.output, rank_, i, call_.ranks);
      bool defined = true;
      const auto data = expected(call_, rank_, block, defined);
      std::ptrdiff_t place = output_.blocks[static_cast<std::size_t>(i)].offset;
      if (&result == &input_ && traits.output == Extent::own && !traits.reduces)  // scatter: it stays in place
        place = input_.blocks[static_cast<std::size_t>(rank_)].offset;
      if (&result == &input_ && call_.collective == Collective::reduce_scatter) place = 0;
      if (!defined) continue;
      if (!data.empty()) std::memcpy(want.data() + place, data.data(), data.size());
    }
  }
  const auto differ = [&](const Bytes& got, const Bytes& right, const char* what) -> std::string {
    for (std::size_t i = 0; i < right.size(); ++i)
      if (got[i] != right[i])
        return call_.text() + ": byte " + std::to_string(i) + " of " + std::to_string(right.size()) + what + " is " +
               std::to_string(std::to_integer<int>(got[i])) + ", expected " + std::to_string(std::to_integer<int>(right[i]));
    return {};
  };
  std::string wrong = differ(result.bytes, want, " of the result");
  if (wrong.empty() && &result != &input_ && has_input_) wrong = differ(input_.bytes, input_before_, " of the input");
  return wrong;
}

std::string CallUnderTest::finish() {
  // Half of the calls are tested before they are waited for.
  if (buffers_.call().seed % 2 == 0)
    for (int i = 0; i < 10; ++i)
      if (comm_.test(*job_) != communicator::Outcome::pending) break;
  return check(comm_.wait(*job_));
}

std::string CallUnderTest::check(communicator::Outcome outcome) const {
  if (outcome != communicator::Outcome::done) return buffers_.call().text() + ": " + comm_.explain(outcome);
  return buffers_.wrong_bytes();
}

}  // namespace copse::test
