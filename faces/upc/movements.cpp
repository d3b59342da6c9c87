// The collectives that move data (UPC 1.3, 7.3.1). Each is a row of collectives.def, run on the threads' own parts of the arrays.
#include <cstring>

#include "checks.hpp"
#include "engine/kernels/kernels.hpp"

namespace copse::upc {
namespace {

using algorithms::Collective;

// An array as an operation sees it: blocks that follow one another on the thread that the pointer names, or that many on every
// thread, from thread 0 on.
struct Array {
  const char* name;
  upc_shared at;
  bool everywhere;
  std::size_t blocks;
};

struct Movement {
  const char* function;
  Collective collective;
  Array dst, src;
  std::size_t bytes;  // of a block
  upc_flag_t flags;
  upc_shared perm = upc_null();
};

void touch(Checks& checks, const Thread& thread, const Array& side, std::size_t block, bool written) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(block, side.blocks, &bytes))
    checks.refuse("bytes is " + std::to_string(block) + "; required: what fits into memory");
  if (!side.everywhere) return checks.touches(side.name, side.at.thread, side.at.address, bytes, written);
  checks.on_thread_0(side.name, side.at);
  for (int each = 0; each < thread.threads; ++each) checks.touches(side.name, each, side.at.address, bytes, written);
}

void check(Thread& thread, const Movement& asked) {
  const bool permutes = asked.collective == Collective::permute;
  Checks checks(thread, asked.function);
  checks.pointer("dst", asked.dst.at);
  checks.pointer("src", asked.src.at);
  if (permutes) checks.pointer("perm", asked.perm);
  checks.word("bytes", static_cast<std::int64_t>(asked.bytes));
  checks.word("flags", asked.flags);
  checks.compare();
  checks.flags(asked.flags);
  checks.at_least_1("bytes", asked.bytes);
  touch(checks, thread, asked.dst, asked.bytes, true);
  touch(checks, thread, asked.src, asked.bytes, false);
  if (permutes) touch(checks, thread, {"perm", asked.perm, true, 1}, sizeof(int), false);
  checks.no_overlap();
}

// Gathers the permutation, whose entries any thread may have written before it entered. The result is not in shared memory, so this
// runs as MYSYNC, whatever the flags.
std::vector<int> permutation_of(Thread& thread, const Movement& asked) {
  std::vector<int> entries(static_cast<std::size_t>(thread.threads));
  Arguments arguments;
  arguments.collective = Collective::allgather;
  arguments.input = thread.mine(asked.perm.address);
  arguments.output = entries.data();
  arguments.count = sizeof(int);
  run(thread, asked.function, arguments);
  if (const std::string why = algorithms::not_a_permutation(entries); !why.empty())
    fail(thread, asked.function, "perm: " + why + " (ranks are threads)");
  return entries;
}

void move(const Movement& asked) {
  Thread& thread = here_collectively(asked.function);
  if (thread.check) check(thread, asked);
  std::vector<int> permutation;
  Arguments arguments;
  arguments.collective = asked.collective;
  arguments.count = asked.bytes;
  arguments.root = asked.dst.everywhere ? asked.src.at.thread : asked.dst.at.thread;
  if (asked.dst.everywhere && asked.src.everywhere) arguments.root = 0;
  arguments.input = thread.mine(asked.src.at.address);
  arguments.output = thread.mine(asked.dst.at.address);
  enter(thread, asked.function, asked.flags);
  if (asked.collective == Collective::permute) {
    permutation = permutation_of(thread, asked);
    arguments.permutation = permutation.data();
  }
  // In a broadcast, every thread has one buffer. The root gives src to the others and copies it to its own block of dst afterwards.
  const bool gives = asked.collective == Collective::broadcast && thread.me == arguments.root;
  if (gives) arguments.output = const_cast<void*>(arguments.input);
  else if (asked.collective == Collective::broadcast) arguments.input = arguments.output;
  run(thread, asked.function, arguments, asked.src.at.address, asked.dst.at.address, asked.flags);
  if (gives) kernels::copy(thread.mine(asked.dst.at.address), arguments.input, asked.bytes);
  leave(thread, asked.function, asked.flags);
}

std::size_t all() { return static_cast<std::size_t>(THREADS); }

}  // namespace
}  // namespace copse::upc

using namespace copse::upc;

extern "C" {

void upc_all_broadcast(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags) {
  move({"upc_all_broadcast", Collective::broadcast, {"dst", dst, true, 1}, {"src", src, false, 1}, bytes, flags});
}

void upc_all_scatter(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags) {
  move({"upc_all_scatter", Collective::scatter, {"dst", dst, true, 1}, {"src", src, false, all()}, bytes, flags});
}

void upc_all_gather(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags) {
  move({"upc_all_gather", Collective::gather, {"dst", dst, false, all()}, {"src", src, true, 1}, bytes, flags});
}

void upc_all_gather_all(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags) {
  move({"upc_all_gather_all", Collective::allgather, {"dst", dst, true, all()}, {"src", src, true, 1}, bytes, flags});
}

void upc_all_exchange(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags) {
  move({"upc_all_exchange", Collective::alltoall, {"dst", dst, true, all()}, {"src", src, true, all()}, bytes, flags});
}

void upc_all_permute(upc_shared dst, upc_shared src, upc_shared perm, size_t bytes, upc_flag_t flags) {
  move({"upc_all_permute", Collective::permute, {"dst", dst, true, 1}, {"src", src, true, 1}, bytes, flags, perm});
}

}  // extern "C"
