// The C interface: collectives and requests. The two functions of a collective follow from two lines: the one in
// <copse/collectives.h> names the parameters, and the row in collectives.def says what they mean.
#include <cxxabi.h>
#include <pthread.h>

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <thread>

#include "api.hpp"

namespace copse::c {
namespace {

using algorithms::Collective;
using algorithms::one_for_each;
using algorithms::Traits;
using plan::Extent;

// A buffer as the caller describes it. It has sizes and places only if its blocks have different sizes.
struct GivenBuffer {
  const char* name = nullptr;
  const void* buffer = nullptr;
  const std::size_t *sizes = nullptr, *places = nullptr;
};

// A call as the caller describes it. Counts are in elements; if nothing is reduced, an element is a byte.
struct Asked {
  const char* name;
  Collective collective;
  GivenBuffer input, output;
  std::size_t count = 0;  // of the message, of each block, or of this rank's block
  bool ragged = false;
  int root = 0;
  const int* permutation = nullptr;
  copse_type type = COPSE_TYPE_COUNT;
  copse_op op = COPSE_OP_COUNT;
};

[[noreturn, gnu::cold]] void refuse(const Asked& asked, const std::string& why) {
  throw std::invalid_argument("copse_" + std::string(asked.name) + ": " + why);
}

// Turns a call as the caller describes it into Arguments that are valid, as far as one rank can see. Whatever these
// point to lies in the communicator's handle.
class Binding {
 public:
  Binding(copse_comm& comm, const Asked& asked)
      : comm_(comm), asked_(asked), traits_(algorithms::traits_of(asked.collective)), rank_(comm.communicator->rank()),
        ranks_(comm.communicator->ranks()) {}

  void bind() {
    if (traits_.rooted() && (asked_.root < 0 || asked_.root >= ranks_)) refuse(asked_, out_of("root", asked_.root, ranks_));
    result_.collective = asked_.collective;
    result_.root = asked_.root;
    result_.ragged = asked_.ragged;
    result_.count = asked_.count;
    result_.input = asked_.input.buffer;
    result_.output = const_cast<void*>(asked_.output.buffer);
    if (!traits_.moves_data) result_.element_bytes = 0;
    if (traits_.reduces) combine();
    if (traits_.permutes) permute();
    if (!traits_.moves_data) return;

    const bool reads = !traits_.one_buffer && traits_.has_input(rank_, asked_.root);
    const bool writes = traits_.has_output(rank_, asked_.root);
    comm_.spans.clear();
    // Tables come first, because they may hold the length of this rank's own block.
    const bool input_first = one_for_each(traits_.input);
    if (input_first && reads) side(asked_.input, traits_.input, false);
    if (writes) side(asked_.output, traits_.output, true);
    if (!input_first && reads) side(asked_.input, traits_.input, false);
    if (reads && writes) allow_in_place();
    check_overlap();
  }
  [[nodiscard]] const Arguments& arguments() const { return result_; }

 private:
  void combine() {
    result_.element_bytes = kernels::type_size(asked_.type);
    comm_.combine = engine::predefined(asked_.op, asked_.type);
    result_.combine = &comm_.combine;
    if (comm_.combine.kernel == nullptr)
      refuse(asked_, std::string("operator ") + kernels::op_name(asked_.op) + " is not defined for type " +
                         kernels::type_name(asked_.type) + " (MPI-4.1 6.9.2)");
  }

  // Most calls have the permutation of the one before.
  void permute() {
    const auto ranks = static_cast<std::size_t>(ranks_);
    if (asked_.permutation == nullptr)
      refuse(asked_, "permutation is null; expected an entry for each of " + std::to_string(ranks_) + " ranks");
    const std::span<const int> entries(asked_.permutation, ranks);
    if (!std::equal(entries.begin(), entries.end(), comm_.permutation.begin(), comm_.permutation.end())) {
      if (const std::string why = algorithms::not_a_permutation(entries); !why.empty()) refuse(asked_, why);
      comm_.permutation.assign(entries.begin(), entries.end());
    }
    result_.permutation = asked_.permutation;
  }

  void side(const GivenBuffer& side, Extent extent, bool written) {
    if (!asked_.ragged || !one_for_each(extent)) {
      add(side, 0, result_.count, one_for_each(extent) ? static_cast<std::size_t>(ranks_) : 1, written);
      return;
    }
    auto& blocks = written ? comm_.output_blocks : comm_.input_blocks;
    (written ? result_.output_blocks : result_.input_blocks) = table(side, blocks, written);
    // In a gather or scatter, a rank itself says how long its block is.
    if (traits_.sizes_known()) result_.count = blocks[static_cast<std::size_t>(rank_)].count;
  }

  const Block* table(const GivenBuffer& side, std::vector<Block>& blocks, bool written) {
    if (side.sizes == nullptr)
      refuse(asked_, std::string("the sizes of the blocks of ") + side.name + " are null; expected one for each of " +
                         std::to_string(ranks_) + " ranks");
    blocks.resize(static_cast<std::size_t>(ranks_));
    std::size_t place = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (side.places != nullptr) place = side.places[i];
      const std::size_t bytes = add(side, place, side.sizes[i], 1, written, static_cast<std::ptrdiff_t>(i));
      blocks[i] = {static_cast<std::ptrdiff_t>(place), side.sizes[i]};
      place += bytes;
    }
    return blocks.data();
  }

  // Notes `times` blocks of `count` elements that follow one another from `place` on. Returns their bytes.
  std::size_t add(const GivenBuffer& side, std::size_t place, std::size_t count, std::size_t times, bool written,
                  std::ptrdiff_t block = -1) {
    std::size_t bytes = 0, end = 0;
    const bool fits = !__builtin_mul_overflow(count, result_.element_bytes * times, &bytes) &&
                      !__builtin_add_overflow(place, bytes, &end) && end <= std::size_t{std::numeric_limits<std::ptrdiff_t>::max()};
    if (!fits) [[unlikely]]
      too_large(side, place, count, times, block);
    if (bytes == 0) return 0;
    if (side.buffer == nullptr) [[unlikely]]
      missing(side, bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(side.buffer) + place;
    comm_.spans.push_back({begin, begin + bytes, written, side.name});
    return bytes;
  }

  [[noreturn, gnu::cold]] void too_large(const GivenBuffer& side, std::size_t place, std::size_t count, std::size_t times,
                                         std::ptrdiff_t block) const {
    refuse(asked_, (block < 0 ? std::string() : "block " + std::to_string(block) + " of ") + side.name +
                       " is too large for memory: " + std::to_string(count) + " elements of " +
                       std::to_string(result_.element_bytes) + " bytes" +
                       (times > 1 ? " from each of " + std::to_string(times) + " ranks" : "") +
                       (place > 0 ? ", from byte " + std::to_string(place) + " on" : "") + "; was a size negative?");
  }

  [[noreturn, gnu::cold]] void missing(const GivenBuffer& side, std::size_t bytes) const {
    refuse(asked_, std::string(side.name) + " is null; expected " + std::to_string(bytes) + " bytes" +
                       (traits_.rooted() && !traits_.one_buffer && rank_ == asked_.root ? " on the root" : ""));
  }

  // Drops a span that overlaps another only because the call is in place.
  void allow_in_place() {
    auto input = reinterpret_cast<std::uintptr_t>(asked_.input.buffer);
    auto output = reinterpret_cast<std::uintptr_t>(asked_.output.buffer);
    const auto own = [&](const Block* blocks) {
      const auto me = static_cast<std::size_t>(rank_);
      return blocks != nullptr ? static_cast<std::size_t>(blocks[me].offset) : me * result_.count;
    };
    const bool scatters = traits_.input_at_root;
    if (traits_.output == Extent::all) output += own(result_.output_blocks);
    if (scatters) input += own(result_.input_blocks);
    if (input == output) std::erase_if(comm_.spans, [&](const Span& span) { return span.written == scatters; });
  }

  void check_overlap() {
    if (const auto overlap = communicator::first_overlap(comm_.spans)) [[unlikely]]
      refuse(asked_, overlap->text() + (overlap->first->name == overlap->second->name
                                            ? ""
                                            : "; expected other memory, or the form in place that copse.h describes"));
  }

  copse_comm& comm_;
  const Asked& asked_;
  const Traits& traits_;
  const int rank_, ranks_;
  Arguments result_;
};

copse_status status_of(copse_comm& comm, Outcome outcome, const Communicator& made_on, const Job* job = nullptr) {
  if (outcome == Outcome::done) return COPSE_OK;
  comm.message = made_on.explain(outcome, job);
  if (outcome == Outcome::truncated) return COPSE_ERROR_TRUNCATED;
  return comm.broken = outcome == Outcome::no_memory ? COPSE_ERROR_MEMORY : COPSE_ERROR_LOST;
}

copse_status fail(std::string& message, std::string why) {
  message = std::move(why);
  return COPSE_ERROR_ARGUMENT;
}

// Tells the other ranks that this one will not do its part. They may wait for it on either communicator.
void give_up(copse_comm& comm) {
  comm.communicator->give_up();
  if (comm.served) comm.served->give_up();
}

// Throws on what has been caught. no_sanitize: when a cancelled thread unwinds, there is no exception object, so the reference to
// it is null.
[[noreturn]] __attribute__((noinline, cold, no_sanitize("null"))) void give_up_caught(copse_comm& comm) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    give_up(comm);
    comm.broken = COPSE_ERROR_MEMORY;
    throw;
  } catch (const abi::__forced_unwind&) {
    give_up(comm);
    throw;
  }
}

// Runs `body`, in which this rank does its part of a call. If memory runs out there, or the thread is cancelled, tells the other
// ranks.
template <class Body>
copse_status take_part(copse_comm& comm, Body&& body) {
  return guarded(comm.message, [&] {
    if (comm.broken != COPSE_OK) return comm.broken;
    try {
      return body();
    } catch (...) {
      give_up_caught(comm);
    }
  });
}

// Checks the arguments, and calls `go` with them if they are valid and the same on all ranks.
template <class Go>
copse_status call(copse_comm* comm, const Asked& asked, Go&& go) {
  if (comm == nullptr) return guarded(creation_message(), [] { return fail(creation_message(), "the communicator is null"); });
  return take_part(*comm, [&] {
    Binding binding(*comm, asked);
    try {
      binding.bind();
    } catch (const std::exception& refused) {
      if (comm->check) comm->communicator->compare_refused(refused.what());
      throw;
    }
    const Arguments& arguments = binding.arguments();
    if (comm->check) {
      std::string operation;
      if (arguments.combine != nullptr)
        operation = std::string(kernels::op_name(asked.op)) + " of " + kernels::type_name(asked.type);
      std::string difference = comm->communicator->compare(arguments, operation.c_str());
      if (!difference.empty()) {
        comm->message = std::move(difference);
        return COPSE_ERROR_MISMATCH;
      }
    }
    return go(arguments);
  });
}

copse_status run(copse_comm* comm, const Asked& asked) {
  return call(comm, asked, [&](const Arguments& arguments) {
    return status_of(*comm, comm->communicator->run(arguments), *comm->communicator);
  });
}

copse_status start(copse_comm* comm, const Asked& asked, copse_request** request) {
  if (request == nullptr) {
    std::string& message = comm == nullptr ? creation_message() : comm->message;
    return guarded(message, [&] { return fail(message, "the place for the request is null"); });
  }
  *request = nullptr;
  return call(comm, asked, [&](const Arguments& arguments) {
    auto made = std::make_unique<copse_request>();
    made->comm = comm->self;
    const bool served = comm->served && Communicator::can_serve(arguments, comm->communicator->ranks());
    made->stream = served ? &comm->served->next() : comm->communicator.get();
    made->job = made->stream->start(arguments);
    *request = made.release();
    return COPSE_OK;
  });
}

// Tests or waits for a call. A call that is over is freed.
copse_status ask(copse_request** request, bool wait, bool& over) {
  over = true;
  if (request == nullptr)
    return guarded(creation_message(), [] { return fail(creation_message(), "the request's place is null"); });
  if (*request == nullptr) return COPSE_OK;
  copse_comm* const comm = *(*request)->comm;
  const auto end = [&](std::string& message, auto status) {
    const copse_status result = guarded(message, status);
    delete *request;
    *request = nullptr;
    return result;
  };
  if (comm == nullptr)
    return end(creation_message(), [] { return fail(creation_message(), "the request's communicator has been freed"); });
  const Job& job = *(*request)->job;
  Communicator& made_on = *(*request)->stream;
  Outcome outcome = Outcome::pending;
  const copse_status trouble = guarded(comm->message, [&] {
    outcome = wait ? made_on.wait(job) : made_on.test(job);
    return COPSE_OK;
  });
  if (trouble != COPSE_OK) return trouble;
  over = outcome != Outcome::pending;
  return over ? end(comm->message, [&] { return status_of(*comm, outcome, made_on, &job); }) : COPSE_OK;
}

// The parameters of all functions together. Many fields: one for each name that a function gives a parameter.
struct Given {
  const void *buffer, *input, *output;
  const std::size_t *sizes, *places, *counts, *input_sizes, *input_places, *output_sizes, *output_places;
  std::size_t bytes, count;
  int root;
  const int* permutation;
  copse_type type;
  copse_op op;
};

// Fills everything in with one initialiser: calls are short, and a member that is first set and then changed is written
// twice.
template <algorithms::Function function>
constexpr Asked asked_of(const char* name, const Given& given) {
  constexpr const Traits& kTraits = algorithms::traits_of(function.collective);
  constexpr bool kTables = function.ragged, kBoth = kTables && kTraits.pairs();
  constexpr bool kOfInput = kTables && !kBoth && one_for_each(kTraits.input), kOfOutput = kTables && !kBoth && !kOfInput;
  const std::size_t* const sizes = kTraits.reduces ? given.counts : given.sizes;
  return {.name = name,
          .collective = function.collective,
          .input = {kTraits.one_buffer ? "buffer" : "input", kTraits.one_buffer ? given.buffer : given.input,
                    kBoth      ? given.input_sizes
                    : kOfInput ? sizes
                               : nullptr,
                    kBoth      ? given.input_places
                    : kOfInput ? given.places
                               : nullptr},
          .output = {kTraits.one_buffer ? "buffer" : "output", kTraits.one_buffer ? given.buffer : given.output,
                     kBoth       ? given.output_sizes
                     : kOfOutput ? sizes
                                 : nullptr,
                     kBoth       ? given.output_places
                     : kOfOutput ? given.places
                                 : nullptr},
          .count = kTraits.reduces ? given.count : given.bytes,
          .ragged = kTables,
          .root = given.root,
          .permutation = given.permutation,
          .type = given.type,
          .op = given.op};
}

}  // namespace

// Defaults under the names of the parameters in <copse/collectives.h>. A function that lacks a parameter finds the
// default of that name.
namespace absent {
constexpr const void *buffer = nullptr, *input = nullptr, *output = nullptr;
constexpr const std::size_t *sizes = nullptr, *places = nullptr, *counts = nullptr;
constexpr const std::size_t *input_sizes = nullptr, *input_places = nullptr;
constexpr const std::size_t *output_sizes = nullptr, *output_places = nullptr;
constexpr std::size_t bytes = 0, count = 0;
constexpr int root = 0;
constexpr const int* permutation = nullptr;
constexpr copse_type type = COPSE_TYPE_COUNT;
constexpr copse_op op = COPSE_OP_COUNT;
}  // namespace absent
}  // namespace copse::c

using namespace copse::c;

extern "C" {

copse_status copse_wait(copse_request** request) {
  bool over;
  return ask(request, true, over);
}

copse_status copse_test(copse_request** request, int* done) {
  if (done == nullptr)
    return guarded(creation_message(), [] { return fail(creation_message(), "the place for the answer is null"); });
  bool over;
  const copse_status status = ask(request, false, over);
  *done = over ? 1 : 0;
  return status;
}

// Calls on one communicator end in their order, so waiting for one after the other is enough. Calls on several
// communicators must all be kept moving, because other ranks may wait for them in another order.
copse_status copse_wait_all(size_t count, copse_request** requests) {
  if (requests == nullptr && count > 0)
    return guarded(creation_message(), [] { return fail(creation_message(), "the requests are null"); });
  bool several = false;
  const copse_request* first = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == nullptr) continue;
    if (first == nullptr) first = requests[i];
    several |= requests[i]->comm != first->comm;
  }
  copse_status result = COPSE_OK;
  size_t failed = count, left = count;
  while (left > 0) {
    left = 0;
    for (size_t i = 0; i < count; ++i) {
      bool over;
      const copse_status status = ask(&requests[i], !several, over);
      if (!over) ++left;
      if (status == COPSE_OK || i >= failed) continue;
      failed = i;
      result = status;
    }
    if (left > 0) std::this_thread::yield();
    pthread_testcancel();  // copse_wait has such a point in its sleep
  }
  return result;
}

// The arguments of copse_##function, with defaults for the parameters that it lacks.
#define GIVEN                                                                                  \
  {buffer,       input,         output, sizes, places, counts,      input_sizes, input_places, \
   output_sizes, output_places, bytes,  count, root,   permutation, type,        op}
#define COPSE_COLLECTIVE(function, ...)                                                                                  \
  copse_status copse_##function(__VA_ARGS__) {                                                                           \
    static constexpr auto kFunction = copse::algorithms::function_named(#function, &copse::algorithms::Traits::c_calls); \
    return run(comm, asked_of<kFunction>(#function, GIVEN));                                                             \
  }                                                                                                                      \
  copse_status copse_start_##function(__VA_ARGS__, copse_request** request) {                                            \
    static constexpr auto kFunction = copse::algorithms::function_named(#function, &copse::algorithms::Traits::c_calls); \
    return start(comm, asked_of<kFunction>(#function, GIVEN), request);                                                  \
  }                                                                                                                      \
  static_assert(true)

using namespace copse::c::absent;
#include "copse/collectives.h"

}  // extern "C"
