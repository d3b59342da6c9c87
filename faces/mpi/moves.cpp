// Calls that move data: broadcast, gather, scatter, allgather and alltoall, with their v and w forms.
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "wrappers.hpp"

namespace copse::mpi {
namespace {

struct KeptSides;

// What a rank gives and gets. A side that the rank does not have is null. In place there is one side, which contains
// the other.
struct Sides {
  Side *in = nullptr, *out = nullptr;
  bool in_place = false;
  int own = -1;  // in place without an input: this rank's block of the output; -1: all blocks
  bool alike = false;  // there are tables, but all blocks in them are of one size

  [[nodiscard]] bool prepare(std::size_t bytes) const {
    for (Side* side : {in, out})
      if (side != nullptr && !side->prepare(bytes)) return false;
    return true;
  }
  [[nodiscard]] int load() const {
    if (in != nullptr) return in->load();
    if (!in_place) return MPI_SUCCESS;
    return own < 0 ? out->load() : out->load(own);
  }
  [[nodiscard]] int store(Outcome& outcome) const {
    if ((outcome != Outcome::done && outcome != Outcome::truncated) || out == nullptr) return MPI_SUCCESS;
    if (out->too_short()) outcome = Outcome::truncated;
    return out->store();
  }
  [[nodiscard]] std::shared_ptr<const Sides> kept() const;
};

struct KeptSides {
  std::optional<Side> in, out;
  Sides sides;
};
std::shared_ptr<const Sides> Sides::kept() const {
  const auto kept = std::make_shared<KeptSides>();
  kept->sides = *this;
  const auto keep = [](std::optional<Side>& copy, Side*& side) {
    if (side != nullptr) side = &copy.emplace(*side);
  };
  keep(kept->in, kept->sides.in);
  keep(kept->out, kept->sides.out);
  return {kept, &kept->sides};
}

void prepare(const Site& site, const Sides& sides, std::size_t bytes) {
  if (!sides.prepare(bytes)) site.fail("no memory to pack the message in");
}

// Returns whether this rank's output overlaps anything.
bool overlap(const Site& site, const Sides& sides, const algorithms::Traits& traits) {
  const int rank = site.state.rank;
  const bool twice = sides.in != nullptr && (traits.input_at_root ? sides.out->memory() == sides.in->memory(rank)
                                                                  : sides.in->memory() == sides.out->memory(rank));
  std::vector<communicator::Span> spans;
  sides.out->add_spans(spans, true, kReceived);
  if (sides.in != nullptr && !(kTwiceIsInPlace && twice && traits.in_place)) sides.in->add_spans(spans, false, kSent);
  return site.overlap(spans);
}

// Tells COPSE_CHECK what a call on an intercommunicator is, because all of them run as one collective.
std::string described(const Site& site) {
  return site.state.groups.any() ? std::string(algorithms::name_of(site.collective)) + " between two groups" : std::string();
}

// Makes a gather, scatter, allgather or alltoall whose arguments MPI allows. `bytes` is the size of every block, or,
// with tables (`ragged`), of this rank's block. `sides` is passed by reference for speed: to copy a structure that has
// just been written in parts, the processor must wait for all its earlier stores, among them a line on its way to
// another rank's cache. The call runs as `collective`, which may be another one than the site's.
int move(const Site& site, Sides&& sides, bool ragged, int root, std::size_t bytes, Collective collective) {
  const algorithms::Traits& traits = algorithms::traits_of(collective);
  if (sides.in_place && !traits.displaced) sides.own = site.state.rank;
  if (!ragged && bytes > kLongest) return site.pass_on(kTooLong, bytes);
  if (site.state.ranks > algorithms::kMostInPairs && traits.pairs()) [[unlikely]]
    return site.pass_on(kTooManyRanks, bytes);
  prepare(site, sides, bytes);
  const bool refused = sides.out != nullptr && sides.out->may_overlap(sides.in) && overlap(site, sides, traits);
  if (refused && (!sides.out->refuse() || (site.is_started() && sides.in != nullptr && !sides.in->set_apart()))) [[unlikely]]
    site.fail("no memory to receive the message in");
  Arguments arguments;
  arguments.collective = collective;
  arguments.root = root;
  arguments.count = bytes;
  arguments.ragged = ragged;
  arguments.alike = sides.alike;
  if (sides.in != nullptr) {
    arguments.input = sides.in->memory();
    arguments.input_blocks = sides.in->blocks();
  }
  if (sides.out != nullptr) {
    arguments.output = sides.out->memory();
    arguments.output_blocks = sides.out->blocks();
  }
  if (sides.in_place && traits.displaced) {
    arguments.input = arguments.output;
    arguments.input_blocks = arguments.output_blocks;
  } else if (sides.in_place && sides.in == nullptr) {
    arguments.input = sides.out->memory(site.state.rank);
  } else if (sides.in_place) {
    arguments.output = sides.in->memory(site.state.rank);
  }
  if (settings().check) site.check(arguments, described(site));
  if (!ragged && bytes == 0) return site.nothing();
  return refused && site.is_started() ? site.carry_out_refused(arguments, sides) : site.carry_out(arguments, sides);
}
int move(const Site& site, Sides&& sides, bool ragged, int root, std::size_t bytes) {
  return move(site, std::move(sides), ragged, root, bytes, site.collective);
}

// Refuses a call whose arguments MPI forbids. The fault is the root, or what a side has found, or MPI_IN_PLACE where
// MPI does not allow it.
int refuse(const Site& site, int root = 0) {
  if (!site.is_rank(root)) return site.refuse(MPI_ERR_ROOT);
  for (SideMemory* side : {&site.input_memory(), &site.output_memory()})
    if (const int error = std::exchange(side->wrong, MPI_SUCCESS); error != MPI_SUCCESS) return site.refuse(error);
  return site.refuse(MPI_ERR_BUFFER);
}

// Makes a call among neighbours, or between all ranks of two groups, where each rank of one group is a neighbour of each rank of
// the other one. describe(neighbors, in, out) describes its sides. `alike` says that MPI wants all blocks of all ranks to be of one
// size. Between groups, it wants that in each direction alone.
template <class Describe>
int among_neighbors(const Site& site, const void* input, const void* output, bool alike, Describe&& describe) {
  const Neighbors* const neighbors = site.state.neighbors.get();
  const bool between_groups = site.state.groups.any();
  if (neighbors == nullptr || (between_groups && site.collective == Collective::neighbor_alltoall))
    return site.pass_on(site.state.no_neighbors);
  Side in = site.input(), out = site.output();
  if (input == MPI_IN_PLACE || output == MPI_IN_PLACE || !describe(*neighbors, in, out)) return refuse(site);
  return move(site, {.in = &in, .out = &out, .alike = alike && !between_groups}, true, 0, 0, Collective::neighbor_alltoall);
}

template <class Count>
int neighbor_allgather(const Site& site, const void* input, Count given, Raw input_type, void* output, Count taken, Raw output_type,
                       Raw) {
  return among_neighbors(site, input, output, true, [&](const Neighbors& neighbors, Side& in, Side& out) {
    return in.one_for(neighbors.destinations, input, given, input_type) &&
           out.row_for(neighbors.sources, output, taken, output_type);
  });
}

template <class Count, class Displacement>
int neighbor_allgatherv(const Site& site, const void* input, Count given, Raw input_type, void* output, const Count* taken,
                        const Displacement* output_places, Raw output_type, Raw) {
  return among_neighbors(site, input, output, false, [&](const Neighbors& neighbors, Side& in, Side& out) {
    return in.one_for(neighbors.destinations, input, given, input_type) &&
           out.table_for(neighbors.sources, output, taken, output_places, output_type);
  });
}

template <class Count>
int neighbor_alltoall(const Site& site, const void* input, Count given, Raw input_type, void* output, Count taken, Raw output_type,
                      Raw) {
  return among_neighbors(site, input, output, true, [&](const Neighbors& neighbors, Side& in, Side& out) {
    return in.row_for(neighbors.destinations, input, given, input_type) &&
           out.row_for(neighbors.sources, output, taken, output_type);
  });
}

// Makes a neighbor_alltoallv or a neighbor_alltoallw. The latter has arrays of types instead of one type.
template <class Count, class Displacement, class Types>
int neighbor_alltoallv(const Site& site, const void* input, const Count* given, const Displacement* input_places, Types input_types,
                       void* output, const Count* taken, const Displacement* output_places, Types output_types, Raw) {
  return among_neighbors(site, input, output, false, [&](const Neighbors& neighbors, Side& in, Side& out) {
    return in.table_for(neighbors.destinations, input, given, input_places, input_types) &&
           out.table_for(neighbors.sources, output, taken, output_places, output_types);
  });
}

// Makes a rooted call between two groups. The root exchanges blocks with all ranks of the other group, and each of these with the
// root alone. The other ranks of the root's group have no blocks. describe(partners, in, out) describes the blocks that this rank
// exchanges with its partners, in `buffer`.
template <class Describe>
int between_groups(const Site& site, int root, const void* buffer, Describe&& describe) {
  const std::span<const int> others = site.state.neighbors->sources;
  std::span<const int> partners;
  if (root == MPI_ROOT) partners = others;
  else if (root >= 0 && root < site.state.groups.others) partners = others.subspan(static_cast<std::size_t>(root), 1);
  else if (root != MPI_PROC_NULL) return site.refuse(MPI_ERR_ROOT);
  Side in = site.input(), out = site.output();
  const bool in_place = !partners.empty() && buffer == MPI_IN_PLACE;
  if (in_place || !in.nothing() || !out.nothing() || !describe(partners, in, out)) return refuse(site);
  return move(site, {.in = &in, .out = &out}, true, 0, 0, Collective::neighbor_alltoall);
}

template <class Count>
int broadcast(const Site& site, void* buffer, Count count, Raw type, int root, Raw) {
  if (site.state.groups.any()) [[unlikely]]
    return between_groups(site, root, buffer, [&](std::span<const int> partners, Side& in, Side& out) {
      return (root == MPI_ROOT ? in : out).one_for(partners, buffer, count, type);
    });
  Side side = site.input();
  if (!site.is_rank(root) || !side.one(buffer, count, type)) return refuse(site, root);
  const std::size_t bytes = side.bytes();
  if (bytes > kLongest) return site.pass_on(kTooLong, bytes);
  const bool gives = site.state.rank == root;
  const Sides sides{gives ? &side : nullptr, gives ? nullptr : &side};
  prepare(site, sides, bytes);
  const Arguments arguments{
      .collective = site.collective, .input = side.memory(), .output = side.memory(), .count = bytes, .root = root};
  if (settings().check) site.check(arguments, {});
  if (bytes == 0) return site.nothing();
  return site.carry_out(arguments, sides);
}

template <class Count>
int gather(const Site& site, const void* input, Count given, Raw input_type, void* output, Count taken, Raw output_type, int root,
           Raw) {
  if (site.state.groups.any()) [[unlikely]]
    return between_groups(site, root, root == MPI_ROOT ? output : input, [&](std::span<const int> partners, Side& in, Side& out) {
      return root == MPI_ROOT ? out.row_for(partners, output, taken, output_type) : in.one_for(partners, input, given, input_type);
    });
  Side in = site.input(), out = site.output();
  const bool gets = site.state.rank == root, in_place = input == MPI_IN_PLACE;
  if (!site.is_rank(root) || (in_place && !gets) || (gets && output == MPI_IN_PLACE) ||
      (!in_place && !in.one(input, given, input_type)) || (gets && !out.row(output, taken, output_type)))
    return refuse(site, root);
  return move(site, {in_place ? nullptr : &in, gets ? &out : nullptr, in_place}, false, root, in_place ? out.bytes() : in.bytes());
}

template <class Count, class Displacement>
int gatherv(const Site& site, const void* input, Count given, Raw input_type, void* output, const Count* taken,
            const Displacement* output_places, Raw output_type, int root, Raw) {
  if (site.state.groups.any()) [[unlikely]]
    return between_groups(site, root, root == MPI_ROOT ? output : input, [&](std::span<const int> partners, Side& in, Side& out) {
      return root == MPI_ROOT ? out.table_for(partners, output, taken, output_places, output_type)
                              : in.one_for(partners, input, given, input_type);
    });
  Side in = site.input(), out = site.output();
  const bool gets = site.state.rank == root, in_place = input == MPI_IN_PLACE;
  if (!site.is_rank(root) || (in_place && !gets) || (gets && output == MPI_IN_PLACE) ||
      (!in_place && !in.one(input, given, input_type)) || (gets && !out.table(output, taken, output_places, output_type)))
    return refuse(site, root);
  return move(site, {in_place ? nullptr : &in, gets ? &out : nullptr, in_place}, true, root,
              in_place ? out.bytes(root) : in.bytes());
}

template <class Count>
int scatter(const Site& site, const void* input, Count given, Raw input_type, void* output, Count taken, Raw output_type, int root,
            Raw) {
  if (site.state.groups.any()) [[unlikely]]
    return between_groups(site, root, root == MPI_ROOT ? input : output, [&](std::span<const int> partners, Side& in, Side& out) {
      return root == MPI_ROOT ? in.row_for(partners, input, given, input_type) : out.one_for(partners, output, taken, output_type);
    });
  Side in = site.input(), out = site.output();
  const bool gives = site.state.rank == root, in_place = output == MPI_IN_PLACE;
  if (!site.is_rank(root) || (in_place && !gives) || (gives && input == MPI_IN_PLACE) ||
      (gives && !in.row(input, given, input_type)) || (!in_place && !out.one(output, taken, output_type)))
    return refuse(site, root);
  return move(site, {gives ? &in : nullptr, in_place ? nullptr : &out, in_place}, false, root, gives ? in.bytes() : out.bytes());
}

template <class Count, class Displacement>
int scatterv(const Site& site, const void* input, const Count* given, const Displacement* input_places, Raw input_type,
             void* output, Count taken, Raw output_type, int root, Raw) {
  if (site.state.groups.any()) [[unlikely]]
    return between_groups(site, root, root == MPI_ROOT ? input : output, [&](std::span<const int> partners, Side& in, Side& out) {
      return root == MPI_ROOT ? in.table_for(partners, input, given, input_places, input_type)
                              : out.one_for(partners, output, taken, output_type);
    });
  Side in = site.input(), out = site.output();
  const bool gives = site.state.rank == root, in_place = output == MPI_IN_PLACE;
  if (!site.is_rank(root) || (in_place && !gives) || (gives && input == MPI_IN_PLACE) ||
      (gives && !in.table(input, given, input_places, input_type)) || (!in_place && !out.one(output, taken, output_type)))
    return refuse(site, root);
  return move(site, {gives ? &in : nullptr, in_place ? nullptr : &out, in_place}, true, root, gives ? in.bytes(root) : out.bytes());
}

template <class Count>
int allgather(const Site& site, const void* input, Count given, Raw input_type, void* output, Count taken, Raw output_type,
              Raw comm) {
  if (site.state.groups.any()) [[unlikely]]
    return neighbor_allgather(site, input, given, input_type, output, taken, output_type, comm);
  Side in = site.input(), out = site.output();
  const bool in_place = input == MPI_IN_PLACE;
  if (output == MPI_IN_PLACE || (!in_place && !in.one(input, given, input_type)) || !out.row(output, taken, output_type))
    return refuse(site);
  return move(site, {in_place ? nullptr : &in, &out, in_place}, false, 0, in_place ? out.bytes() : in.bytes());
}

template <class Count, class Displacement>
int allgatherv(const Site& site, const void* input, Count given, Raw input_type, void* output, const Count* taken,
               const Displacement* output_places, Raw output_type, Raw comm) {
  if (site.state.groups.any()) [[unlikely]]
    return neighbor_allgatherv(site, input, given, input_type, output, taken, output_places, output_type, comm);
  Side in = site.input(), out = site.output();
  const bool in_place = input == MPI_IN_PLACE;
  if (output == MPI_IN_PLACE || (!in_place && !in.one(input, given, input_type)) ||
      !out.table(output, taken, output_places, output_type))
    return refuse(site);
  return move(site, {in_place ? nullptr : &in, &out, in_place}, true, 0, out.bytes(site.state.rank));
}

template <class Count>
int alltoall(const Site& site, const void* input, Count given, Raw input_type, void* output, Count taken, Raw output_type,
             Raw comm) {
  if (site.state.groups.any()) [[unlikely]]
    return neighbor_alltoall(site, input, given, input_type, output, taken, output_type, comm);
  Side in = site.input(), out = site.output();
  const bool in_place = input == MPI_IN_PLACE;
  if (output == MPI_IN_PLACE || (!in_place && !in.row(input, given, input_type)) || !out.row(output, taken, output_type))
    return refuse(site);
  return move(site, {in_place ? nullptr : &in, &out, in_place}, false, 0, in_place ? out.bytes() : in.bytes());
}

// Makes an alltoallv or an alltoallw. The latter has arrays of types instead of one type.
template <class Count, class Displacement, class Types>
int alltoallv(const Site& site, const void* input, const Count* given, const Displacement* input_places, Types input_types,
              void* output, const Count* taken, const Displacement* output_places, Types output_types, Raw comm) {
  if (site.state.groups.any()) [[unlikely]]
    return neighbor_alltoallv(site, input, given, input_places, input_types, output, taken, output_places, output_types, comm);
  Side in = site.input(), out = site.output();
  const bool in_place = input == MPI_IN_PLACE;
  if (output == MPI_IN_PLACE || (!in_place && !in.table(input, given, input_places, input_types)) ||
      !out.table(output, taken, output_places, output_types))
    return refuse(site);
  return move(site, {in_place ? nullptr : &in, &out, in_place}, true, 0, 0);
}

}  // namespace
}  // namespace copse::mpi

#define COPSE_ROUNDS false  // no result depends on the order of operands
#define COPSE_CALLS "moves.def"
#include "call_exports.hpp"
