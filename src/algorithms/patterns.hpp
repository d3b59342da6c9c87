// What several algorithms are made of: values going down and up a tree, combining them in rank order, and tiles of a
// message going to ranks and from rank to rank.
#pragma once

#include <functional>
#include <span>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// How many fragments a rank may send up before it waits for the first to come down: enough to overlap the two ways.
inline constexpr int kLag = 2;

// Inside a loop: the fragment goes down the tree, from the root's `source` to every other rank's output. Area
// `area`. What others may still read is reclaimed by the caller's end of plan.
void send_down(plan::Builder &builder, const shape::SurveyedTree &tree, int rank, int area, plan::Operand source,
               plan::Range range = {});

// Inside a loop: every rank's input is combined up the tree; the result lands in the output of rank `to`, which is
// the tree's root or gets it from there (NUMACol 3). On the way partial results lie in lines or slots, for other ranks
// have no output to spare. Areas `area` and, for the last step from the tree's root, `area` + 1.
void combine_up(plan::Builder &builder, const shape::SurveyedTree &tree, int rank, int area, int to);
// The same, but the result stays where the tree's root has opened it for `readers`, on area `area` + 1, to be posted.
// Returns what this rank has of `range` then.
plan::Operand combine_in_root(plan::Builder &builder, const shape::SurveyedTree &tree, int rank, int area,
                              std::span<const int> readers, plan::Range range);

// A value to be combined, fetched when its turn comes: scratch areas are few, and a wire delivers into them.
using Fetch = std::function<plan::Operand()>;

// dst = items[0] op items[1] op ..., associated from items[own] outwards, first to the left: so dst may be the
// place of items[own], which is read first. With own = 0 it is the left fold, the same on all ranks. What is not the
// whole sum yet lies in `via`, if given: where dst is far away, it is written once and never read.
void fold(plan::Builder &builder, plan::Operand dst, std::span<const Fetch> items, std::size_t own,
          plan::Operand via = {});

// Inside a loop, at the end: every rank folds `items`, the parts of its tile, and gives the result to all others.
// Area 1.
void finish_tiles(plan::Builder &builder, const Request &request, std::span<const Fetch> items, std::size_t own);
// The same, where `result` has been opened for all others, and lies there.
void give_tile(plan::Builder &builder, const Request &request, plan::Operand result);

// Inside a loop, of a message made of blocks: those of all ranks go up the tree to the output of its root, or down it
// from the root's input. What a rank has for its branch is packed, in the order of ranks and with gaps where others
// come between (so that branches of neighbours cost least), in a line or slot, or, under get, in the scratch. Leaves
// give their input and take their block straight. Unless the tree is flat for every root, gather_up's caller packs all
// blocks: how far a branch reaches depends on the root.
void gather_up(plan::Builder &builder, const shape::SurveyedTree &tree, int rank, int area);
void scatter_down(plan::Builder &builder, const shape::SurveyedTree &tree, int rank, int area);

// Gather (by put) and scatter (by get) of large blocks: the ranks but the root stand in rings, and in each a token goes
// round; whoever has it copies (NUMACol 3.2). It is passed on before a rank copies the last fragment: so blocks smaller
// than that, which is the paper's threshold, do not wait for each other; and at once by ranks of the root's NUMA
// region, whose copies stay off the links. Areas 0 and 1.
void pass_tokens(plan::Builder &builder, const Request &request, int tokens);

// Gather (by get) and scatter (by put) of large blocks, where the root alone copies: it goes round the ranks after it, and
// tells each when its whole block has been copied (NUMACol Table 1). Area 0.
void go_round(plan::Builder &builder, const Request &request);

// Inside a loop: every other rank is given its block of this rank's input, to be taken by take_part.
void share_blocks(plan::Builder &builder, const Request &request, int area);

// Tile `rank` of one tile for each rank (HMPI 2.4).
[[nodiscard]] plan::Range tile_of(const Request &request, int rank);

// Inside a loop: every rank shares its input with all others, tile by tile. Returns every rank's part of my tile, in
// rank order, for a fold that starts with `first`: that one waits for the second in a place of its own, if both come
// over the wire.
[[nodiscard]] std::vector<Fetch> share_tiles(plan::Builder &builder, const Request &request, int area, int first);

// Signals without data: arrivals go up one tree, the release comes down another with the same root. Areas 0 and 1.
void meet(plan::Builder &builder, const shape::Tree &up, const shape::Tree &down, int rank);

// Signals round the teams (Hensgen, Finkel and Manber 1988; HMPI 2.3): afterwards every rank knows that of each team
// at least one rank has come here. In round i a team signals the radix - 1 groups that follow at multiples of radix^i;
// each of its ranks is heard by its images there, by position in the group. Areas from `area` on, one a round.
void disseminate(plan::Builder &builder, const Teams &teams, int rank, int radix, int area);
[[nodiscard]] int dissemination_rounds(std::size_t teams, int radix);

// A value that may still have to be computed: low, or low op high.
struct Sum {
  plan::Operand low, high{};
};
// Stores it in `place`, unless it is there.
void settle(plan::Builder &builder, plan::Operand place, const Sum &sum);

// Inside a loop, recursive doubling over teams whose ranks all have the same value: teams 2^i apart exchange what
// they have, each rank with its image, and both combine it, lower teams first, so that all compute the same (HMPI 2.3,
// where every rank of a power of two has its own order). Where the number of teams is no power of two, neighbours pair
// up first, and the odd one of a pair gets the result at the end (Thakur et al. 2005). Areas from `area` on, and
// scratch. Where not all ranks are `wanted` to have the result, none does more than those need; for the others nothing
// is returned.
using Wanted = std::function<bool(int rank)>;
[[nodiscard]] Sum double_up(plan::Builder &builder, const Teams &teams, int rank, int area, Sum mine,
                            const Wanted &wanted = {});
// Whether what the rank has goes into anybody's result.
[[nodiscard]] bool needed_to_double_up(const Teams &teams, int rank, const Wanted &wanted);
[[nodiscard]] int doubling_areas(std::size_t teams);

// Inside a loop, where the first rank of each node has its node's sum: these double up, and each node takes the result
// from its own (HMPI 2.5).
void double_up_over_nodes(plan::Builder &builder, const Request &request, int area, const Sum &mine);

// Prefixes, inside a loop, in rank order: what the ranks before this one have, combined, and, unless `exclusive`, its
// own, is stored in the output. Lines or slots only: inputs and outputs may be the same memory, so that no rank's may
// be read by others once it goes on.
//
// Every rank takes from all before it.
void scan_flat(plan::Builder &builder, const Request &request, bool exclusive);
// In round i, every rank gives the one 2^i ahead what it has of the 2^i up to itself (Hillis and Steele 1986).
void scan_doubling(plan::Builder &builder, const Request &request, bool exclusive);
// A rank whose number ends in t ones combines the 2^t ranks up to itself, and gives that to the next such block's end;
// then prefixes come down the same way (Sanders and Traeff 2006).
void scan_binomial(plan::Builder &builder, const Request &request, bool exclusive);

// Which tiles ranks have, by rank: an unbroken run of them each, their own among them.
using Held = std::vector<plan::Range>;

// Inside a loop: tiles go down the tree, of which every subtree is an interval of ranks, from the root's `source` to
// the others' outputs: to each subtree those of its ranks. Area `area`. Returns what every rank has then.
[[nodiscard]] Held scatter_tiles(plan::Builder &builder, const shape::SurveyedTree &tree, int rank, int area,
                                 plan::Operand source);

// Rings over tiles, inside a loop: what rank i is to have, or has, is tile i of the fragment.
//
// Reduce-scatter: partial results go round, each rank adding its input, until they reach their owners; mine is stored
// in `result`. `home` is where partial results lie where neither line nor slot carries them: output or slot. Every tile
// is combined in an order of its own, not that of the ranks.
void reduce_scatter_ring(plan::Builder &builder, const Request &request, int area, plan::Space home,
                         plan::Operand result);
// The same by halving, for any number of ranks (after Rabenseifner 2004): the ranks are halved again and again, and in
// each round every rank gives its image in the other half the tiles of that half. Halves may differ by one rank: then
// one rank has two images there. Not in rank order.
void reduce_scatter_halving(plan::Builder &builder, const Request &request, int area, plan::Space home,
                            plan::Operand result);
// Gather: finished tiles go up a tree whose subtrees are intervals of ranks. Mine lies in `mine`: at the root its
// output, elsewhere a slot opened for the parent.
void gather_tiles_up(plan::Builder &builder, const shape::SurveyedTree &tree, int rank, int area, plan::Operand mine);
// Allgather: finished tiles go round. Mine lies where the next rank takes it from, in `given`, if that is not nothing;
// what of `held` is not a rank's own tile, it has got already.
void allgather_ring(plan::Builder &builder, const Request &request, int area, plan::Operand given,
                    const Held &held = {});
// The same by doubling, in ceil(log2 P) rounds: the halvings above backwards, each rank taking what the other half has
// from its image there. For a power of two ranks this is recursive doubling (Thakur et al. 2005). Every rank has the
// tiles `held` in its output.
void allgather_doubling(plan::Builder &builder, const Request &request, int area, const Held &held);

}  // namespace copse::algorithms
