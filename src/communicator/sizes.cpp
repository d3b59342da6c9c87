// What ranks tell one another of the sizes of blocks, and what they do if they do not mean the same.
#include "communicator/sizes.hpp"

#include <algorithm>

namespace copse::communicator {

namespace {

constexpr std::size_t kMostElements = (std::size_t{1} << 48) - 1;

// Returns a hash of the two ranks and the number of elements that go from one to the other.
std::uint16_t mixed(int from, int to, std::size_t count) {
  const auto ranks = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) | static_cast<std::uint32_t>(to);
  std::uint64_t bits = (count + ranks * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  bits ^= bits >> 29;
  return static_cast<std::uint16_t>((bits * 0x94d049bb133111eb) >> 48);
}

// Returns the sum of the hashes of what this rank gives, less the sum for what it takes. Over all ranks, the results add up to 0
// if every two ranks mean the same sizes. If some ranks do not, the sum is another number, except once in 65536 times.
std::uint16_t check_of(const Arguments& arguments, int rank, int ranks) {
  unsigned sum = 0;
  for (int other = 0; other < ranks; ++other)
    sum += mixed(rank, other, arguments.input_blocks[other].count) - mixed(other, rank, arguments.output_blocks[other].count);
  return static_cast<std::uint16_t>(sum);
}

// Returns the table of the root's blocks. In a gather it says how much room there is for each block, and in a scatter it says what
// the root gives.
const Block* table_of_root(const Arguments& arguments) {
  return algorithms::traits_of(arguments.collective).output_at_root ? arguments.output_blocks : arguments.input_blocks;
}

// Returns a check as check_of() does, for a gather or scatter. There the root and each other rank must mean the same size.
std::uint16_t check_with_root(const Arguments& arguments, int rank, int ranks) {
  if (rank != arguments.root) return static_cast<std::uint16_t>(0U - mixed(rank, 0, arguments.count));
  unsigned sum = 0;
  for (int other = 0; other < ranks; ++other)
    if (other != rank) sum += mixed(other, 0, table_of_root(arguments)[other].count);
  return static_cast<std::uint16_t>(sum);
}

bool rooted(const Job& job) { return algorithms::traits_of(job.arguments->collective).rooted(); }

// Messages between nodes carry blocks of several ranks, so all ranks must cut them in the same way.
void clip_to_root(Job& job, int rank, int ranks) {
  const bool gathers = algorithms::traits_of(job.arguments->collective).output_at_root;
  for (int other = 0; other < ranks; ++other) {
    const auto i = static_cast<std::size_t>(other);
    std::size_t& known = job.sizes.known[i];
    const std::size_t of_root = job.sizes.of_root[i], given = gathers ? known : of_root, room = gathers ? of_root : known;
    if (given > room && job.arguments->root == rank && job.cut_off.from < 0)
      job.cut_off = {gathers ? other : rank, gathers ? rank : other, given, room};
    known = std::min(known, of_root);
  }
}

void clip_pairs(Job& job, int rank, int ranks) {
  const auto clip = [&](const Block*& blocks, std::vector<Block>& kept, auto&& most) {
    if (blocks != kept.data()) kept.assign(blocks, blocks + ranks);
    for (int other = 0; other < ranks; ++other) {
      std::size_t& count = kept[static_cast<std::size_t>(other)].count;
      count = std::min(count, most(job.sizes.pairs[static_cast<std::size_t>(other)]));
    }
    blocks = kept.data();
  };
  for (int other = 0; other < ranks; ++other) {
    const std::size_t given = job.sizes.pairs[static_cast<std::size_t>(other)].gives,
                      room = job.arguments->output_blocks[other].count;
    if (given > room && job.cut_off.from < 0) job.cut_off = {other, rank, given, room};
  }
  if (job.arguments != &job.kept.arguments) job.kept.arguments = *job.arguments;
  job.arguments = &job.kept.arguments;
  clip(job.kept.arguments.input_blocks, job.kept.tables[0], [](const Pair& pair) { return pair.takes; });
  clip(job.kept.arguments.output_blocks, job.kept.tables[1], [](const Pair& pair) { return pair.gives; });
}

}  // namespace

Size size_of(const Arguments& arguments, int rank, int ranks) {
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  if (traits.rooted()) return {arguments.count & kMostElements, check_with_root(arguments, rank, ranks)};
  if (!traits.pairs()) return {arguments.count & kMostElements, 0};
  return {largest(arguments, ranks) & kMostElements, check_of(arguments, rank, ranks)};
}

bool take_told(Job& job) {
  job.sizes.known.clear();
  unsigned sum = 0;
  for (const Size& size : job.sizes.told) {
    job.sizes.known.push_back(size.elements);
    sum += size.check;
  }
  return static_cast<std::uint16_t>(sum) == 0;
}

void write_meant(Job& job, int rank, int ranks) {
  const Arguments& arguments = *job.arguments;
  const auto all = static_cast<std::size_t>(ranks);
  if (rooted(job)) {
    job.sizes.of_root.resize(all);
    if (arguments.root == rank)
      for (std::size_t i = 0; i < all; ++i) job.sizes.of_root[i] = table_of_root(arguments)[i].count;
    return;
  }
  job.sizes.pairs.resize(2 * all);
  for (std::size_t i = 0; i < all; ++i)
    job.sizes.pairs[all + i] = {arguments.input_blocks[i].count, arguments.output_blocks[i].count};
}

void clip(Job& job, int rank, int ranks) {
  if (rooted(job)) clip_to_root(job, rank, ranks);
  else clip_pairs(job, rank, ranks);
}

}  // namespace copse::communicator
