// Patterns that several algorithms share. Values go down and up a tree, or are combined in rank order. Tiles of a message go
// to ranks and from rank to rank.
#pragma once

#include <functional>
#include <span>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// The number of fragments that a rank may send up before it waits for the first to come down. This is enough to overlap the
// two ways.
inline constexpr int kLag = 2;

// Inside a loop: sends the fragment down the tree, from the root's `source` to every other rank's output, on area `area`.
// Buffers that others may still read are reclaimed at the end of the caller's plan.
void send_down(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area, plan::Operand source,
               plan::Range range = {});

// Inside a loop: combines every rank's input up the tree. The result lands in the output of rank `to`, which is the tree's
// root or gets the result from it (NUMACol 3). On the way, partial results lie in lines or slots, because other ranks have no
// output to spare. Uses area `area` and, for the last step from the tree's root, `area` + 1.
void combine_up(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area, int to);
// Like combine_up(), but the result stays where the tree's root has opened it for `readers`, on area `area` + 1, to be posted.
// Returns what this rank then has of `range`.
plan::Operand combine_in_root(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area,
                              std::span<const int> readers, plan::Range range);

// Returns the tree without its edges between different groups of the level.
[[nodiscard]] shape::Tree cut_between(shape::Tree tree, const Request& request, topology::Level level);
// These return trees inside each node, without links between nodes. Those of node_trees() go over the machine's levels. They
// begin at `root` in its node, and at the leader in any other. Those of below_leaders() are flat and begin at the leaders.
[[nodiscard]] const shape::SurveyedTree& node_trees(Request request, int root);
[[nodiscard]] const shape::SurveyedTree& below_leaders(const Request& request);

// Fetches a value to be combined when its turn comes: scratch areas are few, and a wire delivers into them.
using Fetch = std::function<plan::Operand()>;

// Computes dst = items[0] op items[1] op ..., associated from items[own] outwards, first to the left. So dst may be the place
// of items[own], which is read first. With own = 0 it is the left fold, which is the same on all ranks. Sums that are not
// complete yet lie in `via`, if given. So a dst that is far away is written once and never read.
void fold(plan::Builder& builder, plan::Operand dst, std::span<const Fetch> items, std::size_t own, plan::Operand via = {});

// Inside a loop, at the end: every rank folds `items`, the parts of its tile, and gives the result to all others. Uses area
// 1.
void finish_tiles(plan::Builder& builder, const Request& request, std::span<const Fetch> items, std::size_t own);
// Like finish_tiles(), where the folded tile lies in `result` already, which has been opened for all others.
void give_tile(plan::Builder& builder, const Request& request, plan::Operand result);

// Inside a loop, in a message made of blocks: the blocks of all ranks go up the tree to the output of its root, or down it
// from the root's input. A rank packs the blocks of its branch in a line or slot or, under get, in the scratch. They are
// packed in the order of ranks, with gaps where blocks of other branches come between, so branches of neighbours cost least.
// Leaves give their input and take their block directly. Unless the tree is flat for every root, the caller of gather_up
// packs all blocks, because how far a branch reaches depends on the root.
void gather_up(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area);
void scatter_down(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area);

// Gather (by put) and scatter (by get) of large blocks. All ranks but the root stand in rings. In each ring a token goes
// round, and the rank that has it copies (NUMACol 3.2). A rank passes the token on before it copies the last fragment. So
// blocks smaller than a fragment, which is the paper's threshold, do not wait for each other. Ranks of the root's NUMA region
// pass it on at once, because their copies stay off the links. Uses areas 0 and 1.
void pass_tokens(plan::Builder& builder, const Request& request, int tokens);

// Gather (by get) and scatter (by put) of large blocks, where the root alone copies. The root goes round the ranks after it,
// and tells each rank when its whole block has been copied (NUMACol Table 1). Uses area 0.
void go_round(plan::Builder& builder, const Request& request);

// Inside a loop: shares this rank's input, so that every other rank can take its block by take_part().
void share_blocks(plan::Builder& builder, const Request& request, int area);

// Inside a loop: every rank shares its input with all others, tile by tile. Returns every rank's part of this rank's tile, in
// rank order, for a fold that starts with the part of rank `first`. That part has a scratch of its own, because it waits for
// the second part, which may also come over the wire.
[[nodiscard]] std::vector<Fetch> share_tiles(plan::Builder& builder, const Request& request, int area, int first);

// Signals without data: arrivals go up one tree, and the release comes down another with the same root. Uses areas 0 and 1.
void meet(plan::Builder& builder, const shape::Tree& up, const shape::Tree& down, int rank);

// Signals round the teams (Hensgen, Finkel and Manber 1988; HMPI 2.3). Afterwards every rank knows that at least one rank of
// each team has come here. In round i a team signals the radix - 1 teams that follow at multiples of radix^i. In each of
// them, a rank is heard by its images, which have the same position in their team. Uses areas from `area` on, one per round.
void disseminate(plan::Builder& builder, const Teams& teams, int rank, int radix, int area);
[[nodiscard]] int dissemination_rounds(std::size_t teams, int radix);

// A value that may still have to be computed: low, or low op high.
struct Sum {
  plan::Operand low, high{};
};
// Stores the sum in `place`, unless it is already there.
void settle(plan::Builder& builder, plan::Operand place, const Sum& sum);

// Inside a loop: recursive doubling over teams. All ranks of a team have the same value. Teams 2^i apart exchange what they
// have, each rank with its image. Each of the two combines both values, the lower team's first, so that all ranks get the same
// bits (in HMPI 2.3, every rank of a power of two has its own order). If the number of teams is not a power of two, neighbours pair
// up first, and the odd team of each pair gets the result at the end (Thakur et al. 2005). Uses areas from `area` on, and
// scratches. If only some ranks are `wanted` to have the result, no rank does more than they need, and the sum that is returned on
// the others has no meaning.
using Wanted = std::function<bool(int rank)>;
[[nodiscard]] Sum double_up(plan::Builder& builder, const Teams& teams, int rank, int area, Sum mine, const Wanted& wanted = {});
// Tells whether this rank's value goes into anybody's result.
[[nodiscard]] bool needed_to_double_up(const Teams& teams, int rank, const Wanted& wanted);
[[nodiscard]] int doubling_areas(std::size_t teams);

// Inside a loop: the leaders of all nodes, each of which has the sum of its node, double up. Each node takes the result
// from its leader (HMPI 2.5).
void double_up_over_nodes(plan::Builder& builder, const Request& request, int area, const Sum& mine);

// Prefixes, inside a loop, in rank order. The output gets the combined values of the ranks before this one and, unless
// `exclusive`, of this one. These functions use lines or slots only. Input and output may be the same memory, so other ranks
// may not read the buffers of a rank that goes on.
//
// Every rank takes the inputs of all ranks before it.
void scan_flat(plan::Builder& builder, const Request& request, bool exclusive);
// In round i, every rank gives the rank 2^i ahead what it has of the 2^i ranks up to itself (Hillis and Steele 1986).
void scan_doubling(plan::Builder& builder, const Request& request, bool exclusive);
// A rank whose number ends in t ones combines the 2^t ranks up to itself, and gives the result to the rank at the end of the
// next such block. Then prefixes come down the same way (Sanders and Traeff 2006).
void scan_binomial(plan::Builder& builder, const Request& request, bool exclusive);

// The tiles that each rank has: an unbroken run that includes its own tile.
using Held = std::vector<plan::Range>;

// Inside a loop: tiles go down the tree, from the root's `source` to the outputs of the other ranks. Every subtree is an
// interval of ranks and gets the tiles of its ranks. Uses area `area`. Returns the tiles that every rank then has.
[[nodiscard]] Held scatter_tiles(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area, plan::Operand source);

// Inside a loop: finished tiles go up a tree whose subtrees are intervals of ranks. Tile i of the fragment belongs to rank i. This
// rank's tile lies in `mine`: at the root in its output, elsewhere in a slot opened for the parent. Uses area `area`.
void gather_tiles_up(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area, plan::Operand mine);

}  // namespace copse::algorithms
