// The collectives. Each is one row of collectives.def. The functions of this file derive from the rows what code asks that
// treats all collectives alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace copse::algorithms {

// The v-variants are the same collectives, with blocks of different sizes. To Copse, alltoallw is alltoall. A neighbor_allgather is
// a neighbor_alltoall whose blocks are all the same.
enum class Collective : std::uint8_t {
#define COLLECTIVE(name, ...) name,
#include "algorithms/collectives.def"
#undef COLLECTIVE
};

// The ranks that have a buffer.
enum class Holders : std::uint8_t { all, root, permuted, neighbors };
// Whether a rank's input and output may be the same memory.
enum class Sharing : std::uint8_t {
  never,
  same,  // yes: each part of the message lies in the same place in both
  moved,  // yes, but a place holds a different part in each, so Copse copies one of them first
  always,
};
// The most ranks of a collective that moves a block for each pair of ranks: every pair has a number of 32 bits.
inline constexpr int kMostInPairs = 65535;
// Which ranks' inputs are combined in a rank's output.
enum class Combined : std::uint8_t { nothing, all, up_to_own, before_own };

// Says that rank i gives to rank permutation[i]. It is the same on all ranks, and each rank occurs in it once.
using Permutation = std::span<const int>;
// Returns the rank that gives to `taker`, or the number of ranks if no rank does.
[[nodiscard]] constexpr int giver_to(Permutation permutation, int taker) {
  std::size_t giver = 0;
  while (giver < permutation.size() && permutation[giver] != taker) ++giver;
  return static_cast<int>(giver);
}
// Returns why these entries are no permutation, in words that name an entry. The text is empty if they are one.
[[nodiscard]] std::string not_a_permutation(std::span<const int> entries);

// What distinguishes the collectives. Many fields: they say all that a row of collectives.def says.
struct Traits {
  std::string_view name;
  plan::Extent input, output;
  bool moves_data;
  bool input_everywhere, output_everywhere;  // every rank has such a buffer
  bool input_at_root, output_at_root;  // only the root has such a buffer
  bool one_buffer;  // input and output are always the same memory
  bool in_place;  // they may be the same memory: each part of the message lies in the same place
  bool displaced;  // they may be the same memory, but a place holds a different part in each
  bool reduces;
  bool permutes;  // a permutation says to which rank each rank gives
  bool along_edges;  // a graph says to which ranks each rank gives a block
  Combined combined;
  std::string_view c_calls, mpi_calls;  // names of functions, with blanks between them
  std::string_view summary;  // one sentence for people

  // Tells whether only the root has the whole input or the whole output.
  [[nodiscard]] constexpr bool rooted() const { return input_at_root || output_at_root; }
  // Tells whether the message is made of blocks, one for each rank or for each pair of ranks.
  [[nodiscard]] constexpr bool has_blocks() const { return input != output; }
  [[nodiscard]] constexpr bool pairs() const { return input == plan::Extent::row; }

  // Tells whether this rank contributes something.
  [[nodiscard]] constexpr bool has_input(int rank, int root) const { return input_everywhere || (input_at_root && rank == root); }
  // Tells whether this rank gets a result. The first rank gets none if only the ranks before each rank are combined.
  [[nodiscard]] constexpr bool has_output(int rank, int root) const {
    return output_everywhere || (output_at_root ? rank == root : combined == Combined::before_own && rank > 0);
  }
  // Tells whether the address of the input has a meaning on this rank.
  [[nodiscard]] constexpr bool has_input_buffer(int rank, int root) const { return one_buffer || has_input(rank, root); }

  // For reductions: returns the last of the ranks, from 0 on, whose inputs are in this rank's output.
  [[nodiscard]] constexpr int last_combined(int rank, int ranks) const {
    return combined == Combined::all ? ranks - 1 : combined == Combined::up_to_own ? rank : rank - 1;
  }
  // Tells whether all ranks must get the same bits.
  [[nodiscard]] constexpr bool same_result() const { return combined == Combined::all && !has_blocks() && !output_at_root; }
  // For collectives that do not reduce: returns the rank that gives this block of the message to `taker`.
  [[nodiscard]] constexpr int giver(int block, int taker, int root, int ranks, Permutation permutation) const {
    if (permutes) return giver_to(permutation, taker);
    return input == plan::Extent::own ? block : pairs() ? block / ranks : root;
  }

  // For blocks of different sizes: tells whether every rank knows all sizes. Otherwise two ranks know the size of each block.
  [[nodiscard]] constexpr bool sizes_known() const { return has_blocks() && !rooted() && !pairs(); }
};

// Tells whether a buffer holds blocks for several ranks.
[[nodiscard]] constexpr bool one_for_each(plan::Extent extent) {
  return extent == plan::Extent::all || extent == plan::Extent::row || extent == plan::Extent::column;
}

inline constexpr Traits kTraits[] = {
#define COLLECTIVE(name, input, givers, output, takers, place, combined, c, mpi, summary)                                        \
  {#name,                                                                                                                        \
   plan::Extent::input,                                                                                                          \
   plan::Extent::output,                                                                                                         \
   plan::Extent::input != plan::Extent::none,                                                                                    \
   plan::Extent::input != plan::Extent::none && Holders::givers == Holders::all,                                                 \
   plan::Extent::output != plan::Extent::none && Holders::takers != Holders::root && Combined::combined != Combined::before_own, \
   Holders::givers == Holders::root,                                                                                             \
   Holders::takers == Holders::root,                                                                                             \
   Sharing::place == Sharing::always,                                                                                            \
   Sharing::place == Sharing::same || Sharing::place == Sharing::always,                                                         \
   Sharing::place == Sharing::moved,                                                                                             \
   Combined::combined != Combined::nothing,                                                                                      \
   Holders::takers == Holders::permuted,                                                                                         \
   Holders::takers == Holders::neighbors,                                                                                        \
   Combined::combined,                                                                                                           \
   c,                                                                                                                            \
   mpi,                                                                                                                          \
   summary},
#include "algorithms/collectives.def"
#undef COLLECTIVE
};
inline constexpr int kCollectives = static_cast<int>(sizeof kTraits / sizeof kTraits[0]);

[[nodiscard]] constexpr const Traits& traits_of(Collective collective) { return kTraits[static_cast<std::size_t>(collective)]; }
// Returns one of the traits of a collective that is known only at run time, without a look into the table.
template <bool Traits::* trait>
[[nodiscard]] constexpr bool has(Collective collective) {
  constexpr auto kHave = [] {
    std::uint32_t have = 0;
    for (int i = 0; i < kCollectives; ++i) have |= (kTraits[i].*trait ? 1u : 0u) << i;
    return have;
  }();
  static_assert(kCollectives <= 32);
  return (kHave >> static_cast<unsigned>(collective) & 1) != 0;
}
[[nodiscard]] constexpr std::string_view name_of(Collective collective) { return traits_of(collective).name; }
[[nodiscard]] constexpr plan::Contents contents_of(Collective collective, int ranks) {
  const Traits& traits = traits_of(collective);
  const auto all = static_cast<std::uint32_t>(ranks);
  return {traits.input, traits.output, traits.pairs() ? all * all : traits.has_blocks() ? all : 0};
}

// A function of the C interface or of MPI: which collective it is, and whether its blocks have different sizes.
struct Function {
  Collective collective;
  bool ragged;
};
// Returns the function of this name. `calls` is &Traits::c_calls or &Traits::mpi_calls. In a constant expression, a name that
// no row has does not compile.
[[nodiscard]] constexpr Function function_named(std::string_view name, std::string_view Traits::* calls) {
  for (int i = 0; i < kCollectives; ++i) {
    std::string_view rest = kTraits[i].*calls;
    for (bool ragged = false; !rest.empty(); ragged = true) {
      const std::string_view first = rest.substr(0, rest.find(' '));
      if (first == name) return {static_cast<Collective>(i), ragged};
      rest.remove_prefix(first.size() < rest.size() ? first.size() + 1 : rest.size());
    }
  }
  throw std::invalid_argument("no row of collectives.def has this name");
}

// The names that a user may write are Copse's own and, where it differs, MPI's in lower case.
[[nodiscard]] std::optional<Collective> collective_named(std::string_view name);
[[nodiscard]] std::vector<std::string> collective_names();

}  // namespace copse::algorithms
