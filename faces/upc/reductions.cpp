// The reductions (UPC 1.3, Computational Operations), after NUMACol 3.1: every thread first combines its own elements,
// and then the threads combine what they have, by the rows of collectives.def.
//
// Elements that must keep their order are combined block by block. A row of the array has one block of each thread, in the order of
// the threads, and the rows follow one another. So an ordered reduction among the threads, with one partial for each row, leaves
// the root to combine the rows. A prefix reduction also needs what comes before each block: the blocks of the threads before it in
// its row (an exclusive scan), and all rows before that (an allreduce, if there are several).
#include <dlfcn.h>

#include <cstring>

#include "checks.hpp"
#include "engine/kernels/kernels.hpp"
#include "far.hpp"
#include "layout.hpp"
#include "operators.hpp"
#include "teams.hpp"

namespace copse::upc {
namespace {

using algorithms::Collective;

enum class Result : std::uint8_t { one, on_all, prefix };

struct Reduction {
  const char* function;
  int type;
  upc_shared dst, src;
  upc_op_t op;
  std::size_t elements, block;
  AnyFunction func;
  upc_flag_t flags;
  Result result;

  [[nodiscard]] bool prefix() const { return result == Result::prefix; }
  [[nodiscard]] bool is_told(int thread) const { return result == Result::on_all || thread == dst.thread; }
};

// Partials of the threads, one for each row. They lie in shared memory, where other threads reach them directly.
class Partials {
 public:
  Partials(const Thread& thread, const Reduction& asked, const Operator& op, std::size_t rows)
      : segment_(*thread.segment), bytes_(op.partial_bytes()), at_(allocate_here(thread, rows * bytes_)) {
    if (upc_is_null(at_))
      fail(thread, asked.function,
           "no " + std::to_string(rows * bytes_) + " bytes are left for partial results; required: a larger COPSE_UPC_HEAP");
    for (std::size_t row = 0; row < rows; ++row) op.set_none((*this)[row]);
  }
  Partials(const Partials&) = delete;
  Partials& operator=(const Partials&) = delete;
  ~Partials() { segment_.free(at_); }
  [[nodiscard]] std::byte* operator[](std::size_t row) const { return segment_.here(at_) + row * bytes_; }

 private:
  const Segment& segment_;
  std::size_t bytes_;
  upc_shared at_;
};

// Returns where a function lies in its program or library. Its address may differ from process to process.
std::int64_t place_of(AnyFunction function) {
  Dl_info library{};
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  const bool known = dladdr(reinterpret_cast<const void*>(function), &library) != 0;
  return static_cast<std::int64_t>(known ? address - reinterpret_cast<std::uintptr_t>(library.dli_fbase) : address);
}

void check_operator(const Checks& checks, const Reduction& asked) {
  const char* const name = name_of(asked.op);
  if (name == nullptr)
    checks.refuse("op is " + std::to_string(asked.op) + "; required: one of UPC_ADD to UPC_MAX, UPC_FUNC or UPC_NONCOMM_FUNC");
  const bool users = asked.op == UPC_FUNC || asked.op == UPC_NONCOMM_FUNC;
  if (users && asked.func == nullptr) checks.refuse(std::string("func is null; required: a function, because op is ") + name);
  if (is_floating(asked.type) && (asked.op == UPC_AND || asked.op == UPC_OR || asked.op == UPC_XOR))
    checks.refuse(std::string("op is ") + name + "; required: an operator that is not bitwise, because the type is a floating one");
}

void check(Thread& thread, const Reduction& asked) {
  Checks checks(thread, asked.function);
  checks.pointer("dst", asked.dst, asked.prefix());
  checks.pointer("src", asked.src, true);
  checks.word("op", asked.op);
  checks.word("elements", static_cast<std::int64_t>(asked.elements));
  checks.word("block", static_cast<std::int64_t>(asked.block));
  if (asked.op == UPC_FUNC || asked.op == UPC_NONCOMM_FUNC) checks.word("func", place_of(asked.func));
  checks.word("flags", asked.flags);
  checks.compare();
  checks.flags(asked.flags);
  checks.at_least_1("elements", asked.elements);
  check_operator(checks, asked);
  const std::size_t bytes = type_bytes(asked.type);
  std::size_t whole = 0;
  if (__builtin_mul_overflow(asked.elements, bytes, &whole) || whole > std::size_t{1} << 60)
    checks.refuse("elements is " + std::to_string(asked.elements) + "; required: what fits into memory");
  for (const auto& [name, p] : {std::pair{"src", asked.src}, std::pair{"dst", asked.dst}}) {
    checks.touches(name, p.thread, p.address, bytes, false);
    if (asked.block > 0 && p.phase >= asked.block && (asked.prefix() || std::strcmp(name, "src") == 0))
      checks.refuse(std::string(name) + " has phase " + std::to_string(p.phase) + "; required: a phase below block, which is " +
                    std::to_string(asked.block));
  }
  if (asked.prefix() && asked.dst.thread != asked.src.thread)
    checks.refuse("dst has affinity to thread " + std::to_string(asked.dst.thread) + "; required: that of src, which is thread " +
                  std::to_string(asked.src.thread));
  if (asked.prefix() && asked.block > 0 && asked.dst.phase != asked.src.phase)
    checks.refuse("dst has phase " + std::to_string(asked.dst.phase) + "; required: that of src, which is " +
                  std::to_string(asked.src.phase));
  if (asked.result == Result::on_all) checks.on_thread_0("dst", asked.dst);
  Checks places(thread, asked.function);
  const auto touch_all = [&](const char* name, upc_shared start, bool written) {
    const Layout layout(start, bytes, asked.block, asked.elements, thread.threads);
    for (int each = 0; each < thread.threads; ++each) {
      const Piece run = layout.run(each);
      places.touches(name, each, run.address, run.count * bytes, written);
    }
  };
  touch_all("src", asked.src, false);
  if (asked.prefix()) touch_all("dst", asked.dst, true);
  else
    for (int each = 0; each < thread.threads; ++each)
      if (asked.is_told(each)) places.touches("dst", each, asked.dst.address, bytes, true);
  places.no_overlap();
}

Arguments arguments_of(Collective collective, const Operator& op, const void* input, void* output, std::size_t rows) {
  return {.collective = collective,
          .input = input,
          .output = output,
          .count = rows,
          .element_bytes = op.partial_bytes(),
          .combine = &op.combine()};
}

Collective among_threads(const Reduction& asked) {
  return asked.result == Result::on_all ? Collective::allreduce : Collective::reduce;
}
int root_of(const Reduction& asked) { return asked.result == Result::on_all ? 0 : asked.dst.thread; }

// Reduces an array of one element, whose result is that element. The element travels as bytes, and the other threads contribute
// zeros.
void take_over(Thread& thread, const Reduction& asked, const Layout& layout) {
  const std::size_t bytes = type_bytes(asked.type);
  alignas(std::max_align_t) std::array<std::byte, sizeof(long double)> value{};
  if (const Piece mine = layout.run(thread.me); mine.count > 0) std::memcpy(value.data(), thread.mine(mine.address), bytes);
  const kernels::ReducePair pair = kernels::reduce_kernels(COPSE_BOR, COPSE_BYTE);
  const engine::Combine combine{.kernel = pair.one, .kernel_two = pair.two, .exact = true};
  run(thread, asked.function,
      {.collective = among_threads(asked),
       .input = value.data(),
       .output = value.data(),
       .count = bytes,
       .combine = &combine,
       .root = root_of(asked)});
  if (asked.is_told(thread.me)) std::memcpy(thread.mine(asked.dst.address), value.data(), bytes);
}

// Combines the elements of each block of this thread.
void fold_blocks(const Thread& thread, const Layout& layout, const Operator& op, std::size_t rows, const Partials& partials) {
  for (std::size_t row = 0; row < rows; ++row)
    if (const Piece block = layout.block(thread.me, row); block.count > 0)
      op.fold(partials[row], thread.mine(block.address), block.count);
}

void reduce(Thread& thread, const Reduction& asked, const Layout& layout, const Operator& op) {
  if (asked.elements == 1) return take_over(thread, asked, layout);
  const std::size_t rows = op.is_ordered() ? layout.rows() : 1;
  const Partials partials(thread, asked, op, rows);
  if (op.is_ordered()) {
    fold_blocks(thread, layout, op, rows, partials);
  } else if (const Piece mine = layout.run(thread.me); mine.count > 0) {
    op.fold(partials[0], thread.mine(mine.address), mine.count);
  }
  Arguments arguments = arguments_of(among_threads(asked), op, partials[0], partials[0], rows);
  arguments.root = root_of(asked);
  run(thread, asked.function, arguments);
  if (!asked.is_told(thread.me)) return;
  for (std::size_t row = 1; row < rows; ++row) op.join(partials[row - 1], partials[row]);
  op.store(thread.mine(asked.dst.address), partials[rows - 1]);
}

void prefix_reduce(Thread& thread, const Reduction& asked, const Layout& layout, const Operator& op) {
  const std::size_t rows = layout.rows();
  const Layout results(asked.dst, type_bytes(asked.type), asked.block, asked.elements, thread.threads);
  const Partials own(thread, asked, op, rows), before(thread, asked, op, rows), whole(thread, asked, op, rows);
  fold_blocks(thread, layout, op, rows, own);
  run(thread, asked.function, arguments_of(Collective::exscan, op, own[0], before[0], rows));
  if (rows > 1) run(thread, asked.function, arguments_of(Collective::allreduce, op, own[0], whole[0], rows));
  for (std::size_t row = 1; row < rows; ++row) {
    op.join(whole[row - 1], before[row]);
    op.join(whole[row - 1], whole[row]);  // from now on, of all rows up to this one
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const Piece block = layout.block(thread.me, row);
    if (block.count == 0) continue;
    std::byte* const to = thread.mine(results.block(thread.me, row).address);
    op.running(to, thread.mine(block.address), block.count, block.first == 0 ? nullptr : before[row]);
  }
}

void call(bupc_team_t team, Reduction asked) {
  Thread& thread = member(asked.function, team);
  const bool told_to_all = asked.result == Result::on_all;
  asked.dst = told_to_all ? from_first(thread, asked.dst) : within(thread, asked.function, "dst", asked.dst);
  asked.src = within(thread, asked.function, "src", asked.src);
  if (thread.check) check(thread, asked);
  must_not_be_null(thread, asked.function, "dst", asked.dst);
  must_not_be_null(thread, asked.function, "src", asked.src);
  const auto op = make_operator(asked.type, asked.op, asked.func);
  if (!op)
    fail(thread, asked.function,
         "op is " + std::to_string(asked.op) +
             "; required: an operator that is defined for the type, with a function if it needs one");
  if (asked.elements == 0) fail(thread, asked.function, "elements is 0; required: 1 or more");
  const Layout layout(asked.src, type_bytes(asked.type), asked.block, asked.elements, thread.threads);
  enter(thread, asked.function, asked.flags);
  (asked.prefix() ? prefix_reduce : reduce)(thread, asked, layout, *op);
  leave(thread, asked.function, asked.flags);
}

enum Types : int {
#define TYPE(letter, type) k##letter,
  COPSE_UPC_TYPES(TYPE)
#undef TYPE
};

}  // namespace
}  // namespace copse::upc

using namespace copse::upc;

extern "C" {

#define REDUCTION(name, letter, type, result, team, first)                                                                       \
  void name##letter(first upc_shared dst, upc_shared src, upc_op_t op, size_t elements, size_t block, type (*func)(type, type),  \
                    upc_flag_t flags) {                                                                                          \
    call(team,                                                                                                                   \
         {#name #letter, k##letter, dst, src, op, elements, block, reinterpret_cast<AnyFunction>(func), flags, Result::result}); \
  }
#define TEAM bupc_team_t team,
#define REDUCTIONS(letter, type)                                       \
  REDUCTION(upc_all_reduce, letter, type, one, nullptr, )              \
  REDUCTION(upc_all_prefix_reduce, letter, type, prefix, nullptr, )    \
  REDUCTION(bupc_all_reduce_all, letter, type, on_all, nullptr, )      \
  REDUCTION(bupc_team_reduce, letter, type, one, team, TEAM)           \
  REDUCTION(bupc_team_prefix_reduce, letter, type, prefix, team, TEAM) \
  REDUCTION(bupc_team_reduce_all, letter, type, on_all, team, TEAM)
COPSE_UPC_TYPES(REDUCTIONS)
#undef REDUCTIONS
#undef TEAM
#undef REDUCTION

}  // extern "C"
