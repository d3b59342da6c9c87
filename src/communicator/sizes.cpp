// Sizes of blocks that not all ranks know: every rank tells the others in a letter. Of an alltoall each size is known to two
// ranks, which must mean the same: where some do not, all find out, tell one another, and move what both have.
#include <algorithm>
#include <cstring>

#include "communicator/state.hpp"

namespace copse::communicator {

using algorithms::Collective;

namespace {

// Bytes that a letter has for each block of an input.
std::size_t room_in_letter(const algorithms::Traits &traits, int ranks) {
  return kLetterBytes / static_cast<std::size_t>(plan::blocks_in(traits.input, ranks));
}

// All bits of what goes from one rank to another, mixed.
std::uint16_t mixed(int from, int to, std::size_t count) {
  const auto ranks = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) | static_cast<std::uint32_t>(to);
  std::uint64_t bits = (count + ranks * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  bits ^= bits >> 29;
  return static_cast<std::uint16_t>((bits * 0x94d049bb133111eb) >> 48);
}

// What this rank gives, less what it takes: over all ranks these add up to 0 if every two of them mean the same. Where they
// do not, it is another number but once in 65536 times.
std::uint16_t check_of(const Arguments &arguments, int rank, int ranks) {
  unsigned sum = 0;
  for (int other = 0; other < ranks; ++other)
    sum += mixed(rank, other, arguments.input_blocks[other].count) - mixed(other, rank, arguments.output_blocks[other].count);
  return static_cast<std::uint16_t>(sum);
}

}  // namespace

void Communicator::State::write_letter(Job &job) const {
  const Arguments &arguments = job.arguments;
  const algorithms::Traits &traits = algorithms::traits_of(arguments.collective);
  const bool pairs = traits.pairs();
  const std::size_t size =
      pairs ? std::max(largest(arguments.input_blocks, ranks), largest(arguments.output_blocks, ranks)) : arguments.count;
  job.letter.size = size & kSizeMask;
  job.letter.check = pairs ? check_of(arguments, rank, ranks) : 0;
  if (!traits.has_input(rank, arguments.root)) return;
  const std::size_t room = room_in_letter(traits, ranks);
  const Block own{0, arguments.count};
  for (int i = 0; i < plan::blocks_in(traits.input, ranks); ++i) {
    const Block &block = traits.input == plan::Extent::own ? own : arguments.input_blocks[i];
    // Of more, too: a rank to which it goes may have room for so little.
    if (const std::size_t count = std::min(block.count, room); count > 0)
      std::memcpy(job.letter.data + static_cast<std::size_t>(i) * room,
                  static_cast<const std::byte *>(arguments.input) + block.place, count);
  }
}

// Takes everybody's sizes, and the blocks too if they came along; says whether they did.
bool Communicator::State::read_letters(Job &job) const {
  const Arguments &arguments = job.arguments;
  const algorithms::Traits &traits = algorithms::traits_of(arguments.collective);
  const std::size_t room = room_in_letter(traits, ranks);
  bool complete = true;
  for (std::size_t other = 0; other < job.sizes.size(); ++other) {
    job.sizes[other] = job.letters[other].size;
    complete &= job.sizes[other] <= room;
  }
  if (!complete) return false;
  const bool mine_alone = traits.input == plan::Extent::own;
  auto *const output = static_cast<std::byte *>(arguments.output);
  const auto deliver = [&](std::size_t from, const Block &to, std::size_t most) {
    const std::size_t count = std::min(to.count, most);
    const std::size_t at = mine_alone ? 0 : static_cast<std::size_t>(rank) * room;
    if (count > 0) std::memcpy(output + to.place, job.letters[from].data + at, count);
  };
  if (!traits.has_output(rank, arguments.root)) return true;
  if (traits.input_at_root) {
    deliver(static_cast<std::size_t>(arguments.root), {0, arguments.count}, room);
    return true;
  }
  for (std::size_t from = 0; from < job.letters.size(); ++from)
    deliver(from, arguments.output_blocks[from], mine_alone ? job.sizes[from] : room);
  return true;
}

bool Communicator::State::pairs_differ(const Job &job) const {
  unsigned sum = 0;
  for (const Letter &letter : job.letters) sum += letter.check;
  return static_cast<std::uint16_t>(sum) != 0;
}

void Communicator::State::compare_pairs(Job &job) {
  job.pairs.resize(2 * static_cast<std::size_t>(ranks));
  Pair *const own = job.pairs.data() + ranks;
  for (int other = 0; other < ranks; ++other)
    own[other] = {job.arguments.input_blocks[other].count, job.arguments.output_blocks[other].count};
  ask(job, Job::Stage::comparing, Collective::alltoall, own, job.pairs.data(), sizeof(Pair));
}

void Communicator::State::clip_pairs(Job &job) const {
  const auto clip = [&](const Block *&blocks, std::vector<Block> &kept, auto &&most) {
    if (blocks != kept.data()) kept.assign(blocks, blocks + ranks);
    for (int other = 0; other < ranks; ++other) {
      std::size_t &count = kept[static_cast<std::size_t>(other)].count;
      count = std::min(count, most(job.pairs[static_cast<std::size_t>(other)]));
    }
    blocks = kept.data();
  };
  for (int other = 0; other < ranks; ++other) {
    const std::size_t given = job.pairs[static_cast<std::size_t>(other)].gives, room = job.arguments.output_blocks[other].count;
    if (given > room && job.cut_off.from < 0) job.cut_off = {other, rank, given, room};
  }
  clip(job.arguments.input_blocks, job.tables[0], [](const Pair &pair) { return pair.takes; });
  clip(job.arguments.output_blocks, job.tables[1], [](const Pair &pair) { return pair.gives; });
  for (std::size_t other = 0; other < job.letters.size(); ++other) job.sizes[other] = job.letters[other].size;
}

}  // namespace copse::communicator
