// Calls that combine data: reduce, allreduce, scan, exscan, reduce_scatter and reduce_scatter_block.
#include <algorithm>
#include <cstring>

#include "engine/kernels/kernels.hpp"
#include "operators.hpp"
#include "wrappers.hpp"

namespace copse::mpi {
namespace {

// What a rank gives and gets, in elements. `blocks` holds the blocks of all ranks if their sizes differ.
struct Operands {
  const void* input;
  void* output;
  std::int64_t given, got;
  bool has_result = true;
  int root = 0;
  bool may_be_in_place = true;
  std::vector<communicator::Block>* blocks = nullptr;
};

// The packing before a reduction and the unpacking after it, for a type with gaps.
struct Operation {
  const Datatype* type = nullptr;  // null: nothing is packed
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t given = 0, got = 0;
  void *packed = nullptr, *result = nullptr;
  UserReduction* user = nullptr;
  bool refused = false;  // MPI forbids what the program does with its buffers

  [[nodiscard]] int load() const {
    if (user != nullptr) user->error = MPI_SUCCESS;
    return type == nullptr ? MPI_SUCCESS : pack(*type, input, given, packed);
  }
  [[nodiscard]] int store(const Outcome& outcome) const {
    if (refused) return MPI_ERR_BUFFER;
    if (user != nullptr && user->error != MPI_SUCCESS) return user->error;
    return type == nullptr || outcome != Outcome::done || got == 0 ? MPI_SUCCESS : unpack(*type, result, output, got);
  }
  [[nodiscard]] auto kept() const { return std::make_shared<const Operation>(*this); }
};

// Returns the class of the error in a call's arguments, or MPI_SUCCESS.
int error_in(const Operands& operands, const Datatype* type, Raw op) {
  if (type == nullptr) return MPI_ERR_TYPE;
  if (operands.given < 0 || operands.got < 0) return MPI_ERR_COUNT;
  if ((operands.has_result && operands.output == MPI_IN_PLACE) ||  // MPI ignores the output where there is no result
      (operands.input == MPI_IN_PLACE && !operands.may_be_in_place))
    return MPI_ERR_BUFFER;
  return op == raw_of(MPI_OP_NULL) ? MPI_ERR_OP : MPI_SUCCESS;
}

// The elements as Copse combines them, and what combines them.
struct Elements {
  std::size_t bytes;  // of one element
  bool dense;         // they need no packing
  engine::Combine combine;
};

// The kernels handle the padding of pairs. So for them the elements are dense.
Elements for_kernels(const Datatype& type, copse_op op) {
  return {static_cast<std::size_t>(type.extent), true, engine::predefined(op, type.reducible)};
}

Elements for_user(const Datatype& type, bool commutative, UserReduction& user) {
  return {type.size, type.dense, {.user = UserReduction::apply, .context = &user, .commutative = commutative}};
}

// Tells whether another order of the operands, or another library's kernel, may give other bits. A sum or product of two
// numbers is rounded once, and so the same wherever it is made (but a NaN's payload may differ). Only the user knows whether a
// user's operator rounds. Arguments that MPI forbids need no care here: MPI ends such a call.
bool rounds(const CommState& state, Raw type, Raw op) {
  Operator found;
  const Datatype* const known = operator_of(op, found) ? datatype_of(type) : nullptr;
  if (known == nullptr) return false;
  if (!found.predefined) return true;
  const copse_type element = known->reducible;
  if (kernels::is_exact(element)) return false;
  const bool real_number = element == COPSE_FLOAT || element == COPSE_DOUBLE || element == COPSE_LONG_DOUBLE;
  return !(state.ranks == 2 && real_number && (found.op == COPSE_SUM || found.op == COPSE_PROD));
}

bool overlap(const Site& site, const Operands& operands, std::size_t given, std::size_t got) {  // both in bytes
  const auto input = reinterpret_cast<std::uintptr_t>(operands.input);
  const auto output = reinterpret_cast<std::uintptr_t>(operands.output);
  if (input >= output + got || output >= input + given || (kTwiceIsInPlace && input == output)) [[likely]]
    return false;
  std::vector<communicator::Span> spans{{input, input + given, false, kSent}, {output, output + got, true, kReceived}};
  return site.overlap(spans);
}

// Tells whether a reduce-scatter with counts is one of equal blocks. All ranks give equal counts (MPI-4.1, 6.10.2), so all decide
// alike. A call of equal blocks needs no table of them, which saves four of ten instructions of a short call.
bool alike(const std::vector<communicator::Block>& blocks) {
  return std::all_of(blocks.begin(), blocks.end(),
                     [&](const communicator::Block& block) { return block.count == blocks.front().count; });
}

// Puts the blocks one behind the other.
const communicator::Block* in_a_row(std::vector<communicator::Block>& blocks, std::size_t element_bytes) {
  std::ptrdiff_t at = 0;
  for (communicator::Block& block : blocks) {
    block.offset = at;
    at += static_cast<std::ptrdiff_t>(block.count * element_bytes);
  }
  return blocks.data();
}

// Gives a refused call memory other than the program's. `given` is in bytes.
void set_apart(const Site& site, Arguments& arguments, std::size_t given) {
  arguments.output = site.output_memory().packed.reserve(arguments.count * arguments.element_bytes);
  if (arguments.output == nullptr) site.fail("no memory to receive the result in");
  if (!site.is_started()) return;
  void* const copy = site.input_memory().packed.reserve(given);
  if (copy == nullptr) site.fail("no memory to keep the operands in");
  arguments.input = std::memcpy(copy, arguments.input, given);
}

// Gives a call memory for packed data.
Operation packed(const Site& site, const Operands& operands, const Datatype& type, Arguments& arguments) {
  const auto given = static_cast<std::size_t>(operands.given);
  const auto got = static_cast<std::size_t>(operands.has_result ? operands.got : 0);
  Operation operation{&type, arguments.input, operands.output, given, got};
  operation.packed = site.input_memory().packed.reserve(given * type.size);
  if (operands.has_result) operation.result = site.output_memory().packed.reserve(std::max<std::size_t>(1, got * type.size));
  if (operation.packed == nullptr || (operands.has_result && operation.result == nullptr))
    site.fail("no memory to pack the operands in");
  arguments.input = operation.packed;
  arguments.output = operation.result;
  return operation;
}

int reduction(const Site& site, const Operands& operands, Raw raw_type, Raw raw_op) {
  const Datatype* type = site.input_memory().type(raw_type);
  if (const int error = error_in(operands, type, raw_op); error != MPI_SUCCESS) [[unlikely]]
    return site.refuse(error);
  Operator op;
  if (!operator_of(raw_op, op)) return site.pass_on("an operator that MPI does not define for reductions");
  if (op.predefined && (type->operators >> op.op & 1) == 0)
    return site.pass_on("operator and datatype that MPI does not define together");
  if (site.is_started() && site.state.rounds_by_mpi && rounds(site.state, raw_type, raw_op)) return site.pass_on(kRoundedByMpi);
  UserReduction here, &user = site.request() != nullptr ? site.request()->user : here;
  if (!op.predefined) {
    user = {op.handle, type};
    if (site.request() != nullptr) site.request()->keep(op);
  }
  const Elements elements = op.predefined ? for_kernels(*type, op.op) : for_user(*type, op.commutative, user);
  std::size_t bytes = 0;
  if (!message_bytes(operands.given, elements.bytes, bytes)) return site.pass_on(kTooMany);
  const bool in_place = operands.input == MPI_IN_PLACE;
  const void* const input = in_place ? operands.output : operands.input;
  const bool gets = operands.has_result && operands.got > 0;
  if (elements.dense && bytes > 0 && (input == nullptr || (gets && operands.output == nullptr))) return site.refuse(MPI_ERR_BUFFER);

  const auto got = static_cast<std::size_t>(operands.got);
  Operation operation;
  operation.refused = elements.dense && gets && !in_place && overlap(site, operands, bytes, got * elements.bytes);
  Arguments arguments{.collective = site.collective,
                      .input = input,
                      .output = operands.output,
                      .count = got,
                      .element_bytes = elements.bytes,
                      .combine = &elements.combine,
                      .root = operands.root};
  const bool even = operands.blocks == nullptr || alike(*operands.blocks);
  if (!even || (operands.blocks != nullptr && settings().check)) {
    arguments.ragged = true;
    arguments.input_blocks = in_a_row(*operands.blocks, elements.bytes);
  }
  if (settings().check) {  // compares the tables of all ranks
    site.check(arguments, describe(op, *type));
    arguments.ragged = !even;
  }
  if (bytes == 0) return site.nothing();
  if (elements.bytes > communicator::Communicator::element_bytes_max())
    return site.pass_on("elements that are too large to be cut into fragments", bytes);
  if (operation.refused) [[unlikely]] {
    set_apart(site, arguments, bytes);
    if (site.is_started()) return site.carry_out_refused(arguments, operation);
  }
  if (!elements.dense) operation = packed(site, operands, *type, arguments);
  if (!op.predefined) operation.user = &user;
  return site.carry_out(arguments, operation);
}

template <class Count>
int reduce(const Site& site, const void* input, void* output, Count count, Raw type, Raw op, int root, Raw) {
  if (!site.is_rank(root)) return site.refuse(MPI_ERR_ROOT);
  const bool gets = site.state.rank == root;
  return reduction(site, {input, output, count, count, gets, root, gets}, type, op);
}

// Makes every reduction that has neither a root nor blocks.
template <class Count>
int allreduce(const Site& site, const void* input, void* output, Count count, Raw type, Raw op, Raw) {
  const bool gets = algorithms::traits_of(site.collective).has_output(site.state.rank, 0);
  return reduction(site, {input, output, count, count, gets}, type, op);
}

template <class Count>
int reduce_scatter_block(const Site& site, const void* input, void* output, Count count, Raw type, Raw op, Raw) {
  std::int64_t all = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(count), static_cast<std::int64_t>(site.state.ranks), &all))
    return site.pass_on(kTooMany);
  return reduction(site, {input, output, all, count}, type, op);
}

template <class Count>
int reduce_scatter(const Site& site, const void* input, void* output, const Count* counts, Raw type, Raw op, Raw) {
  if (counts == nullptr) return site.refuse(MPI_ERR_ARG);
  std::vector<communicator::Block>& blocks = site.input_memory().blocks;
  blocks.clear();
  std::int64_t all = 0;
  for (int rank = 0; rank < site.state.ranks; ++rank) {
    if (counts[rank] < 0) return site.refuse(MPI_ERR_COUNT);
    if (__builtin_add_overflow(all, static_cast<std::int64_t>(counts[rank]), &all)) return site.pass_on(kTooMany);
    blocks.push_back({0, static_cast<std::size_t>(counts[rank])});
  }
  return reduction(site, {input, output, all, counts[site.state.rank], true, 0, true, &blocks}, type, op);
}

}  // namespace
}  // namespace copse::mpi

#define COPSE_ROUNDS rounds(call.state, type, op)
#define COPSE_CALLS "reductions.def"
#include "call_exports.hpp"
