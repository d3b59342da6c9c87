// The wrapped calls: Barrier, Bcast, Reduce and Allreduce, in both count widths.
//
// A call is Copse's unless something that all ranks see alike speaks against it; arguments that MPI forbids go to the
// MPI, which has the error for them. The exported functions at the end are made from calls.def.
#include <chrono>
#include <cstring>

#include "operators.hpp"
#include "report.hpp"
#include "session.hpp"

namespace copse::mpi {
namespace {

using algorithms::Collective;
using engine::Outcome;

// Ends a call by giving it to the MPI.
template <class Call>
int pass_on(Collective collective, std::string_view why, std::size_t bytes, Call real_call) {
  if (!settings().trace) return real_call();
  const auto start = std::chrono::steady_clock::now();
  const int result = real_call();
  count_passed_on(collective, why, bytes,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

constexpr const char *mpi_name(Collective collective) {
  switch (collective) {
    case Collective::barrier: return "MPI_Barrier";
    case Collective::broadcast: return "MPI_Bcast";
    case Collective::reduce: return "MPI_Reduce";
    case Collective::allreduce: return "MPI_Allreduce";
    default: return "a collective";
  }
}

void check(CommState &state, Collective collective, int root, std::size_t count, std::size_t element_bytes,
           const std::string &operation) {
  communicator::Arguments arguments;
  arguments.collective = collective;
  arguments.root = root;
  arguments.count = count;
  arguments.element_bytes = element_bytes;
  const std::string line = state.copse->compare(arguments, operation.c_str());
  if (!line.empty()) [[unlikely]] give_up_together(state, mpi_name(collective), line);
}

int end(CommState &state, Collective collective, Outcome outcome) {
  if (outcome != Outcome::done) [[unlikely]] give_up(state, mpi_name(collective), state.copse->explain(outcome));
  return MPI_SUCCESS;
}

constexpr std::string_view kInvalid = "arguments that MPI does not allow";

template <class Real>
int barrier(Raw comm) {
  CommState &state = state_of(comm);
  if (!state.copse) return pass_on(Collective::barrier, state.why_not, 0, [=] { return Real::Barrier(comm); });
  if (settings().check) check(state, Collective::barrier, 0, 0, 0, {});
  return end(state, Collective::barrier, state.copse->barrier());
}

template <class Real>
int bcast(void *buffer, typename Real::Count count, Raw raw_type, int root, Raw comm) {
  constexpr auto kThis = Collective::broadcast;
  std::size_t bytes = 0;
  const auto to_mpi = [&](std::string_view why) {
    return pass_on(kThis, why, bytes, [=] { return Real::Bcast(buffer, count, raw_type, root, comm); });
  };
  CommState &state = state_of(comm);
  if (!state.copse) return to_mpi(state.why_not);
  const Datatype *type = datatype_of(raw_type, state.comm);
  if (type == nullptr || count < 0 || root < 0 || root >= state.ranks) return to_mpi(kInvalid);
  if (!message_bytes(count, type->size, bytes)) return to_mpi("more bytes than there are addresses");
  if (buffer == nullptr && bytes > 0 && type->dense) return to_mpi(kInvalid);
  if (settings().check) check(state, kThis, root, bytes, 1, {});
  if (bytes == 0) return MPI_SUCCESS;
  // Ranks whose type is not dense pack, and MPI's packing cannot take elements that large; which ranks these are only
  // they know, so all pass on.
  if (bytes > std::numeric_limits<int>::max()) return to_mpi("2 GiB or more in one message");
  if (type->dense) return end(state, kThis, state.copse->broadcast(buffer, bytes, root));

  void *packed = state.input.reserve(bytes);
  if (packed == nullptr) give_up(state, mpi_name(kThis), "no memory to pack the message in");
  const auto elements = static_cast<std::size_t>(count);
  if (state.rank == root && !pack(*type, buffer, elements, packed, state.comm))
    give_up(state, mpi_name(kThis), "the MPI could not pack the message");
  const Outcome outcome = state.copse->broadcast(packed, bytes, root);
  if (outcome == Outcome::done && state.rank != root && !unpack(*type, packed, buffer, elements, state.comm))
    give_up(state, mpi_name(kThis), "the MPI could not unpack the message");
  state.input.trim();
  return end(state, kThis, outcome);
}

// Reduce and Allreduce. `has_result`: this rank gets the result. The last argument runs the collective on dense
// operands.
template <class ToMpi, class Run>
int reduction(CommState &state, Collective collective, const void *input, void *output, std::int64_t count,
              Raw raw_type, Raw raw_op, int root, bool has_result, std::size_t &bytes, ToMpi to_mpi, Run run) {
  const Datatype *type = datatype_of(raw_type, state.comm);
  Operator op;
  const bool in_place = input == MPI_IN_PLACE;
  if (type == nullptr || count < 0 || output == MPI_IN_PLACE || (in_place && !has_result)) return to_mpi(kInvalid);
  if (!operator_of(raw_op, op)) return to_mpi("an operator that MPI does not define for reductions");

  engine::Combine combine;
  UserReduction user{op.handle, type, state.comm};
  std::size_t element_bytes = type->size;
  bool dense = type->dense;
  if (op.predefined) {
    if ((type->operators >> op.op & 1) == 0) return to_mpi("operator and datatype that MPI does not define together");
    element_bytes = kernels::type_size(type->reducible);
    dense = true;  // kernels know the pairs' padding
    combine.kernel = kernels::reduce_kernel(op.op, type->reducible);
    combine.kernel_two = kernels::reduce_two_kernel(op.op, type->reducible);
  } else {
    combine.user = UserReduction::apply;
    combine.context = &user;
    combine.commutative = op.commutative;
  }
  if (!message_bytes(count, element_bytes, bytes)) return to_mpi("more bytes than there are addresses");
  const auto elements = static_cast<std::size_t>(count);
  if (dense && bytes > 0 && (input == nullptr || (has_result && output == nullptr))) return to_mpi(kInvalid);
  if (settings().check) check(state, collective, root, elements, element_bytes, describe(op, *type));
  if (bytes == 0) return MPI_SUCCESS;
  if (element_bytes > communicator::Communicator::element_bytes_max(collective, state.ranks))
    return to_mpi("elements that are too large to be cut into fragments");

  const void *from = in_place ? output : input;
  if (dense) return end(state, collective, run(from, output, elements, element_bytes, combine));

  void *packed = state.input.reserve(bytes);
  void *result = has_result ? state.output.reserve(bytes) : nullptr;
  if (packed == nullptr || (has_result && result == nullptr))
    give_up(state, mpi_name(collective), "no memory to pack the operands in");
  if (!pack(*type, from, elements, packed, state.comm))
    give_up(state, mpi_name(collective), "the MPI could not pack the operands");
  const Outcome outcome = run(packed, result, elements, element_bytes, combine);
  if (outcome == Outcome::done && has_result && !unpack(*type, result, output, elements, state.comm))
    give_up(state, mpi_name(collective), "the MPI could not unpack the result");
  state.input.trim();
  state.output.trim();
  return end(state, collective, outcome);
}

template <class Real>
int reduce(const void *input, void *output, typename Real::Count count, Raw type, Raw op, int root, Raw comm) {
  constexpr auto kThis = Collective::reduce;
  std::size_t bytes = 0;
  const auto to_mpi = [&](std::string_view why) {
    return pass_on(kThis, why, bytes, [=] { return Real::Reduce(input, output, count, type, op, root, comm); });
  };
  CommState &state = state_of(comm);
  if (!state.copse) return to_mpi(state.why_not);
  if (root < 0 || root >= state.ranks) return to_mpi(kInvalid);
  const auto run = [&](const void *from, void *to, std::size_t elements, std::size_t element_bytes,
                       const engine::Combine &combine) {
    return state.copse->reduce(from, to, elements, element_bytes, combine, root);
  };
  return reduction(state, kThis, input, output, count, type, op, root, state.rank == root, bytes, to_mpi, run);
}

template <class Real>
int allreduce(const void *input, void *output, typename Real::Count count, Raw type, Raw op, Raw comm) {
  constexpr auto kThis = Collective::allreduce;
  std::size_t bytes = 0;
  const auto to_mpi = [&](std::string_view why) {
    return pass_on(kThis, why, bytes, [=] { return Real::Allreduce(input, output, count, type, op, comm); });
  };
  CommState &state = state_of(comm);
  if (!state.copse) return to_mpi(state.why_not);
  const auto run = [&](const void *from, void *to, std::size_t elements, std::size_t element_bytes,
                       const engine::Combine &combine) {
    return state.copse->allreduce(from, to, elements, element_bytes, combine);
  };
  return reduction(state, kThis, input, output, count, type, op, 0, true, bytes, to_mpi, run);
}

// The names that calls.def gives to the templates above.
template <class Real, class... Arguments>
int copse_Bcast(Arguments... arguments) { return bcast<Real>(arguments...); }
template <class Real, class... Arguments>
int copse_Reduce(Arguments... arguments) { return reduce<Real>(arguments...); }
template <class Real, class... Arguments>
int copse_Allreduce(Arguments... arguments) { return allreduce<Real>(arguments...); }

}  // namespace

// The exported symbols get their names by asm labels: mpi.h declares the same names with the types of one MPI, while
// these take handles of any (Raw).
#define COPSE_EXPORT(symbol) asm(symbol) __attribute__((visibility("default")))
#define COPSE_AWAKE() (phase() == Phase::working || wake(__builtin_return_address(0)))

#define COPSE_CALL(name, parameters, arguments)                         \
  int exported_##name parameters COPSE_EXPORT("MPI_" #name);            \
  int exported_##name parameters {                                      \
    if (!COPSE_AWAKE()) [[unlikely]] return Plain::name arguments;      \
    return copse_##name<Plain> arguments;                               \
  }
extern "C" {
using Count = Plain::Count;
#include "calls.def"
}
#undef COPSE_CALL

namespace large {
#define COPSE_CALL(name, parameters, arguments)                         \
  int exported_##name##_c parameters COPSE_EXPORT("MPI_" #name "_c");   \
  int exported_##name##_c parameters {                                  \
    if (!COPSE_AWAKE()) [[unlikely]] return Large::name arguments;      \
    return copse_##name<Large> arguments;                               \
  }
extern "C" {
using Count = Large::Count;
#include "calls.def"
}
#undef COPSE_CALL
}  // namespace large

extern "C" {

int exported_Barrier(Raw comm) COPSE_EXPORT("MPI_Barrier");
int exported_Barrier(Raw comm) {
  if (!COPSE_AWAKE()) [[unlikely]] return Plain::Barrier(comm);
  return barrier<Plain>(comm);
}

int exported_Init(int *argc, char ***argv) COPSE_EXPORT("MPI_Init");
int exported_Init(int *argc, char ***argv) {
  const bool ours = before_init(__builtin_return_address(0));
  const int result = real().Init(argc, argv);
  if (ours && result == MPI_SUCCESS) after_init();
  return result;
}

int exported_Init_thread(int *argc, char ***argv, int required, int *provided) COPSE_EXPORT("MPI_Init_thread");
int exported_Init_thread(int *argc, char ***argv, int required, int *provided) {
  const bool ours = before_init(__builtin_return_address(0));
  const int result = real().Init_thread(argc, argv, required, provided);
  if (ours && result == MPI_SUCCESS) after_init();
  return result;
}

}  // extern "C"

}  // namespace copse::mpi
