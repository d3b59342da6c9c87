// Calls that combine data: reduce, allreduce, scan, exscan, reduce_scatter and reduce_scatter_block.
#include <cstring>

#include "engine/kernels/kernels.hpp"
#include "operators.hpp"
#include "wrappers.hpp"

namespace copse::mpi {
namespace {

// What a rank gives and gets, in elements. `blocks` holds the blocks of all ranks if their sizes differ.
struct Operands {
  const void *input;
  void *output;
  std::int64_t given, got;
  bool has_result = true;
  int root = 0;
  bool may_be_in_place = true;
  std::vector<communicator::Block> *blocks = nullptr;
};

// The packing before a reduction and the unpacking after it, for a type with gaps.
struct Operation {
  const Datatype *type = nullptr;  // null: nothing is packed
  const void *input = nullptr;
  void *output = nullptr;
  std::size_t given = 0, got = 0;
  void *packed = nullptr, *result = nullptr;
  UserReduction *user = nullptr;
  bool refused = false;  // MPI forbids what the program does with its buffers

  [[nodiscard]] int load() const {
    if (user != nullptr) user->error = MPI_SUCCESS;
    return type == nullptr ? MPI_SUCCESS : pack(*type, input, given, packed);
  }
  [[nodiscard]] int store(const Outcome &outcome) const {
    if (refused) return MPI_ERR_BUFFER;
    if (user != nullptr && user->error != MPI_SUCCESS) return user->error;
    return type == nullptr || outcome != Outcome::done || got == 0 ? MPI_SUCCESS : unpack(*type, result, output, got);
  }
  [[nodiscard]] auto kept() const { return std::make_shared<const Operation>(*this); }
};

int reduction(const Site &site, const Operands &operands, Raw raw_type, Raw raw_op) {
  SideMemory &input_memory = site.input_memory(), &output_memory = site.output_memory();
  const Datatype *type = input_memory.type(raw_type);
  Operator op;
  const bool in_place = operands.input == MPI_IN_PLACE;
  if (type == nullptr) [[unlikely]] return site.refuse(MPI_ERR_TYPE);
  if (operands.given < 0 || operands.got < 0) [[unlikely]] return site.refuse(MPI_ERR_COUNT);
  if ((operands.has_result && operands.output == MPI_IN_PLACE) ||  // MPI ignores the output where there is no result
      (in_place && !operands.may_be_in_place))
    return site.refuse(MPI_ERR_BUFFER);
  if (raw_op == raw_of(MPI_OP_NULL)) [[unlikely]] return site.refuse(MPI_ERR_OP);
  if (!operator_of(raw_op, op)) return site.pass_on("an operator that MPI does not define for reductions");

  engine::Combine combine;
  UserReduction here, &user = site.request() != nullptr ? site.request()->user : here;
  std::size_t element_bytes = type->size, bytes = 0;
  bool dense = type->dense;
  if (op.predefined) {
    if ((type->operators >> op.op & 1) == 0)
      return site.pass_on("operator and datatype that MPI does not define together");
    element_bytes = static_cast<std::size_t>(type->extent);
    dense = true;  // the kernels handle the pairs' padding
    const kernels::ReducePair pair = kernels::reduce_kernels(op.op, type->reducible);
    combine.kernel = pair.one;
    combine.kernel_two = pair.two;
  } else {
    user = {op.handle, type};
    if (site.request() != nullptr) site.request()->keep(op);
    combine.user = UserReduction::apply;
    combine.context = &user;
    combine.commutative = op.commutative;
  }
  if (!message_bytes(operands.given, element_bytes, bytes)) return site.pass_on(kTooMany);
  const auto given = static_cast<std::size_t>(operands.given), got = static_cast<std::size_t>(operands.got);
  const bool gets = operands.has_result && got > 0;
  if (dense && bytes > 0 && ((in_place ? operands.output : operands.input) == nullptr || (gets && operands.output == nullptr)))
    return site.refuse(MPI_ERR_BUFFER);

  Operation operation;
  const auto input_at = reinterpret_cast<std::uintptr_t>(operands.input), output_at = reinterpret_cast<std::uintptr_t>(operands.output);
  if (dense && gets && !in_place && input_at < output_at + got * element_bytes && output_at < input_at + bytes &&
      !(kTwiceIsInPlace && input_at == output_at)) [[unlikely]] {
    std::vector<communicator::Span> spans{{input_at, input_at + bytes, false, kSent},
                                          {output_at, output_at + got * element_bytes, true, kReceived}};
    operation.refused = site.overlap(spans);
  }

  Arguments arguments{.collective = site.collective, .count = got, .element_bytes = element_bytes, .combine = &combine, .root = operands.root};
  if (operands.blocks != nullptr) {
    arguments.ragged = true;
    std::ptrdiff_t at = 0;
    for (communicator::Block &block : *operands.blocks) {
      block.place = at;
      at += static_cast<std::ptrdiff_t>(block.count * element_bytes);
    }
    arguments.input_blocks = operands.blocks->data();
  }
  if (settings().check) site.check(arguments, describe(op, *type));
  if (bytes == 0) return site.nothing();
  if (element_bytes > communicator::Communicator::element_bytes_max())
    return site.pass_on("elements that are too large to be cut into fragments", bytes);

  arguments.input = in_place ? operands.output : operands.input;
  arguments.output = operands.output;
  if (operation.refused) {
    arguments.output = output_memory.packed.reserve(got * element_bytes);
    if (arguments.output == nullptr) site.fail("no memory to receive the result in");
    if (site.is_started()) {
      void *const copy = input_memory.packed.reserve(bytes);
      if (copy == nullptr) site.fail("no memory to keep the operands in");
      arguments.input = std::memcpy(copy, operands.input, bytes);
      return site.carry_out_refused(arguments, operation);
    }
  }
  if (!dense) {
    operation = {type, arguments.input, operands.output, given, gets ? got : 0};
    operation.packed = input_memory.packed.reserve(bytes);
    operation.result =
        operands.has_result ? output_memory.packed.reserve(std::max<std::size_t>(1, got * element_bytes)) : nullptr;
    if (operation.packed == nullptr || (operands.has_result && operation.result == nullptr))
      site.fail("no memory to pack the operands in");
    arguments.input = operation.packed;
    arguments.output = operation.result;
  }
  if (!op.predefined) operation.user = &user;
  return site.carry_out(arguments, operation);
}

template <class Count>
int reduce(const Site &site, const void *input, void *output, Count count, Raw type, Raw op, int root, Raw) {
  if (!site.is_rank(root)) return site.refuse(MPI_ERR_ROOT);
  const bool gets = site.state.rank == root;
  return reduction(site, {input, output, count, count, gets, root, gets}, type, op);
}

// Makes every reduction that has neither a root nor blocks.
template <class Count>
int allreduce(const Site &site, const void *input, void *output, Count count, Raw type, Raw op, Raw) {
  const bool gets = algorithms::traits_of(site.collective).has_output(site.state.rank, 0);
  return reduction(site, {input, output, count, count, gets}, type, op);
}

template <class Count>
int reduce_scatter_block(const Site &site, const void *input, void *output, Count count, Raw type, Raw op, Raw) {
  std::int64_t all = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(count), static_cast<std::int64_t>(site.state.ranks), &all))
    return site.pass_on(kTooMany);
  return reduction(site, {input, output, all, count}, type, op);
}

template <class Count>
int reduce_scatter(const Site &site, const void *input, void *output, const Count *counts, Raw type, Raw op, Raw) {
  if (counts == nullptr) return site.refuse(MPI_ERR_ARG);
  std::vector<communicator::Block> &blocks = site.input_memory().blocks;
  blocks.clear();
  std::int64_t all = 0;
  for (int rank = 0; rank < site.state.ranks; ++rank) {
    if (counts[rank] < 0) return site.refuse(MPI_ERR_COUNT);
    if (__builtin_add_overflow(all, static_cast<std::int64_t>(counts[rank]), &all))
      return site.pass_on(kTooMany);
    blocks.push_back({0, static_cast<std::size_t>(counts[rank])});
  }
  return reduction(site, {input, output, all, counts[site.state.rank], true, 0, true, &blocks}, type, op);
}

}  // namespace
}  // namespace copse::mpi

#define COPSE_CALLS "reductions.def"
#include "call_exports.hpp"
