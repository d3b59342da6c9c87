// The collectives that move data (UPC 1.3, Relocalization Operations). Each is a row of collectives.def, run on the
// threads' own parts of the arrays.
#include <cstring>

#include "checks.hpp"
#include "teams.hpp"

namespace copse::upc {
namespace {

using algorithms::Collective;

enum class Blocks : std::uint8_t { one, for_each };  // for_each: one for every thread

// An array as an operation sees it: blocks that follow one another on the thread that the pointer names, or that many on every
// thread, from thread 0 on.
struct Array {
  const char* name;
  upc_shared at;
  bool everywhere;
  Blocks blocks;
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
  const int blocks = side.blocks == Blocks::one ? 1 : thread.threads;
  if (__builtin_mul_overflow(block, static_cast<std::size_t>(blocks), &bytes))
    checks.refuse("bytes is " + std::to_string(block) + "; required: what fits into memory");
  if (!side.everywhere) return checks.touches(side.name, side.at.thread, side.at.address, bytes, written);
  checks.on_thread_0(side.name, side.at);
  for (int each = 0; each < thread.threads; ++each) checks.touches(side.name, each, side.at.address, bytes, written);
}

void check(Thread& thread, const Movement& asked) {
  const bool permutes = algorithms::traits_of(asked.collective).permutes;
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
  if (permutes) touch(checks, thread, {"perm", asked.perm, true, Blocks::one}, sizeof(int), false);
  checks.no_overlap();
}

// Gathers the permutation, whose entries any thread may have written before it entered. The result is not in shared memory, so this
// runs as MYSYNC, whatever the flags.
std::vector<int> permutation_of(Thread& thread, const Movement& asked) {
  std::vector<int> entries = gathered(thread, asked.function, *reinterpret_cast<const int*>(thread.mine(asked.perm.address)));
  if (const std::string why = algorithms::not_a_permutation(entries); !why.empty())
    fail(thread, asked.function, "perm: " + why + " (ranks are threads)");
  return entries;
}

void move(bupc_team_t team, Movement asked) {
  Thread& thread = member(asked.function, team);
  for (Array* const side : {&asked.dst, &asked.src})
    side->at = side->everywhere ? from_first(thread, side->at) : within(thread, asked.function, side->name, side->at);
  asked.perm = from_first(thread, asked.perm);
  if (thread.check) check(thread, asked);
  must_not_be_null(thread, asked.function, "dst", asked.dst.at);
  must_not_be_null(thread, asked.function, "src", asked.src.at);
  const algorithms::Traits& traits = algorithms::traits_of(asked.collective);
  if (traits.permutes) must_not_be_null(thread, asked.function, "perm", asked.perm);
  std::vector<int> permutation;
  Arguments arguments;
  arguments.collective = asked.collective;
  arguments.count = asked.bytes;
  arguments.root = asked.dst.everywhere ? asked.src.at.thread : asked.dst.at.thread;
  if (asked.dst.everywhere && asked.src.everywhere) arguments.root = 0;
  arguments.input = thread.mine(asked.src.at.address);
  arguments.output = thread.mine(asked.dst.at.address);
  enter(thread, asked.function, asked.flags);
  if (traits.permutes) {
    permutation = permutation_of(thread, asked);
    arguments.permutation = permutation.data();
  }
  // In a broadcast, every thread has one buffer. The root gives src to the others and copies it to its own block of dst besides.
  const bool gives = traits.one_buffer && thread.me == arguments.root;
  if (gives) arguments.output = const_cast<void*>(arguments.input);
  else if (traits.one_buffer) arguments.input = arguments.output;
  communicator::OwnCopy own;
  if (gives) own = {thread.mine(asked.dst.at.address), arguments.input, asked.bytes};
  run(thread, asked.function, arguments, asked.src.at.address, asked.dst.at.address, asked.flags, own);
  leave(thread, asked.function, asked.flags);
}

// For each operation, the function for all threads and that for a team.
constexpr bool kOnOne = false, kOnAll = true;

void broadcast(const char* function, bupc_team_t team, upc_shared dst, upc_shared src, std::size_t bytes, upc_flag_t flags) {
  move(team, {function, Collective::broadcast, {"dst", dst, kOnAll, Blocks::one}, {"src", src, kOnOne, Blocks::one}, bytes, flags});
}
void scatter(const char* function, bupc_team_t team, upc_shared dst, upc_shared src, std::size_t bytes, upc_flag_t flags) {
  move(team,
       {function, Collective::scatter, {"dst", dst, kOnAll, Blocks::one}, {"src", src, kOnOne, Blocks::for_each}, bytes, flags});
}
void gather(const char* function, bupc_team_t team, upc_shared dst, upc_shared src, std::size_t bytes, upc_flag_t flags) {
  move(team,
       {function, Collective::gather, {"dst", dst, kOnOne, Blocks::for_each}, {"src", src, kOnAll, Blocks::one}, bytes, flags});
}
void gather_all(const char* function, bupc_team_t team, upc_shared dst, upc_shared src, std::size_t bytes, upc_flag_t flags) {
  move(team,
       {function, Collective::allgather, {"dst", dst, kOnAll, Blocks::for_each}, {"src", src, kOnAll, Blocks::one}, bytes, flags});
}
void exchange(const char* function, bupc_team_t team, upc_shared dst, upc_shared src, std::size_t bytes, upc_flag_t flags) {
  move(team, {function,
              Collective::alltoall,
              {"dst", dst, kOnAll, Blocks::for_each},
              {"src", src, kOnAll, Blocks::for_each},
              bytes,
              flags});
}
void permute(const char* function, bupc_team_t team, upc_shared dst, upc_shared src, upc_shared perm, std::size_t bytes,
             upc_flag_t flags) {
  move(team,
       {function, Collective::permute, {"dst", dst, kOnAll, Blocks::one}, {"src", src, kOnAll, Blocks::one}, bytes, flags, perm});
}

}  // namespace
}  // namespace copse::upc

namespace upc = copse::upc;

extern "C" {

#define MOVEMENT(name)                                                                                      \
  void upc_all_##name(upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags) {                     \
    upc::name("upc_all_" #name, nullptr, dst, src, bytes, flags);                                           \
  }                                                                                                         \
  void bupc_team_##name(bupc_team_t team, upc_shared dst, upc_shared src, size_t bytes, upc_flag_t flags) { \
    upc::name("bupc_team_" #name, team, dst, src, bytes, flags);                                            \
  }
MOVEMENT(broadcast)
MOVEMENT(scatter)
MOVEMENT(gather)
MOVEMENT(gather_all)
MOVEMENT(exchange)
#undef MOVEMENT

void upc_all_permute(upc_shared dst, upc_shared src, upc_shared perm, size_t bytes, upc_flag_t flags) {
  upc::permute("upc_all_permute", nullptr, dst, src, perm, bytes, flags);
}
void bupc_team_permute(bupc_team_t team, upc_shared dst, upc_shared src, upc_shared perm, size_t bytes, upc_flag_t flags) {
  upc::permute("bupc_team_permute", team, dst, src, perm, bytes, flags);
}

}  // extern "C"
