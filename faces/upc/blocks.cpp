// Collectives of blocks of different sizes (<copse/upc_v.h>). Each is a v-variant of collectives.def: every thread knows all sizes,
// and tells where its own blocks lie. The vector forms are the general ones with computed addresses.
#include <functional>

#include "checks.hpp"
#include "communicator/arguments.hpp"
#include "copse/upc_v.h"

namespace copse::upc {
namespace {

using algorithms::Collective;

// What moves. The functions tell where block (from, to) lies on each side, and how long it is.
struct Blocks {
  const char* function;
  Collective collective;
  std::function<upc_shared(int from, int to)> src, dst;
  std::function<std::size_t(int from, int to)> bytes;
  upc_flag_t flags;
  int root = 0;

  // Tells whether block (from, to) is one of the call.
  [[nodiscard]] bool moves(int from, int to) const {
    if (collective == Collective::scatter) return from == root;
    return collective != Collective::gather || to == root;
  }
};

upc_shared behind(upc_shared p, int thread, std::size_t bytes) {
  return upc_is_null(p) ? p : upc_shared{p.address + bytes, 0, thread};
}

// Returns where block `end` begins if the blocks lie one behind the other.
template <class Size>
std::size_t bytes_before(int end, const Size& size) {
  std::size_t bytes = 0;
  for (int before = 0; before < end; ++before) bytes += size(before);
  return bytes;
}

// Returns where block `t` of an array begins. The blocks have places, or they lie one behind the other.
std::size_t place_of(const std::size_t* bytes, const std::size_t* places, int t) {
  return places != nullptr ? places[t] : bytes_before(t, [&](int before) { return bytes[before]; });
}

// Returns the thread of the first block that is not empty, which is the root of a call whose blocks each have a pointer. The
// pointers of empty blocks may be anything.
int root_of(const upc_shared* blocks, const std::size_t* bytes) {
  for (int t = 0; t < THREADS; ++t)
    if (bytes[t] > 0) return blocks[t].thread;
  return 0;
}

std::int64_t mixed(std::int64_t hash, std::size_t word) {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15;
  const std::uint64_t next = (static_cast<std::uint64_t>(hash) ^ word) * kPrime;
  return static_cast<std::int64_t>(next ^ next >> 29);
}

// Calls body(from, to, src, dst, bytes) for every block of the call.
template <class Body>
void for_each_block(const Thread& thread, const Blocks& asked, const Body& body) {
  for (int from = 0; from < thread.threads; ++from)
    for (int to = 0; to < thread.threads; ++to)
      if (asked.moves(from, to)) body(from, to, asked.src(from, to), asked.dst(from, to), asked.bytes(from, to));
}

void check(Thread& thread, const Blocks& asked) {
  std::int64_t hash = mixed(0, static_cast<std::size_t>(asked.root));
  for_each_block(thread, asked, [&](int, int, upc_shared src, upc_shared dst, std::size_t bytes) {
    hash = mixed(hash, bytes);
    if (bytes == 0) return;
    for (const std::size_t word :
         {src.address, dst.address, static_cast<std::size_t>(src.thread), static_cast<std::size_t>(dst.thread)})
      hash = mixed(hash, word);
  });
  Checks checks(thread, asked.function);
  checks.word("a checksum of the tables", hash);
  checks.word("flags", asked.flags);
  checks.compare();
  checks.flags(asked.flags);
  for_each_block(thread, asked, [&](int from, int to, upc_shared src, upc_shared dst, std::size_t bytes) {
    if (bytes > 0 && (src.thread != from || dst.thread != to))
      checks.refuse("a block goes from thread " + std::to_string(src.thread) + " to thread " + std::to_string(dst.thread) +
                    "; required: from thread " + std::to_string(from) + " to thread " + std::to_string(to));
    // In a gather_all, the block of a thread goes to every thread, but it is one piece of memory. So it is noted once.
    if (to == 0 || asked.collective != Collective::allgather) checks.touches("src", src.thread, src.address, bytes, false);
    checks.touches("dst", dst.thread, dst.address, bytes, true);
  });
  checks.no_overlap();
}

// This thread's blocks on one side, from where the first of them begins.
struct Share {
  std::byte* begin = nullptr;
  std::vector<communicator::Block> blocks;

  void add(const Thread& thread, const char* function, const char* name, upc_shared block, std::size_t bytes) {
    if (bytes == 0) return blocks.push_back({0, 0});
    must_not_be_null(thread, function, name, block);
    std::byte* const at = thread.segment->here(block);
    if (begin == nullptr) begin = at;
    blocks.push_back({at - begin, bytes});
  }
};

void move(const Blocks& asked) {
  Thread& thread = here_collectively(asked.function);
  if (thread.check) check(thread, asked);
  const int me = thread.me;
  const bool gives_all = asked.collective == Collective::alltoall || (asked.collective == Collective::scatter && me == asked.root);
  const bool gets_all = asked.collective != Collective::scatter && (asked.collective != Collective::gather || me == asked.root);
  Share given, got;
  const auto give = [&](int to) { given.add(thread, asked.function, "src", asked.src(me, to), asked.bytes(me, to)); };
  const auto get = [&](int from) { got.add(thread, asked.function, "dst", asked.dst(from, me), asked.bytes(from, me)); };
  for (int other = 0; other < thread.threads; ++other) {
    if (gives_all) give(other);
    if (gets_all) get(other);
  }
  if (!gives_all && asked.moves(me, asked.root)) give(asked.root);
  if (!gets_all && asked.moves(asked.root, me)) get(asked.root);
  Arguments arguments;
  arguments.collective = asked.collective;
  arguments.root = asked.root;
  arguments.ragged = true;
  arguments.input = given.begin;
  arguments.output = got.begin;
  if (gives_all) arguments.input_blocks = given.blocks.data();
  if (gets_all) arguments.output_blocks = got.blocks.data();
  arguments.count = asked.collective == Collective::scatter ? asked.bytes(asked.root, me) : asked.bytes(me, asked.root);
  enter(thread, asked.function, asked.flags);
  run(thread, asked.function, arguments);
  leave(thread, asked.function, asked.flags);
}

// Copies one block to every thread. `asked` describes that as a scatter whose blocks are all the same memory.
void broadcast(const Blocks& asked) {
  Thread& thread = here_collectively(asked.function);
  if (thread.check) check(thread, asked);
  const std::size_t bytes = asked.bytes(asked.root, thread.me);
  must_not_be_null(thread, asked.function, "dst", asked.dst(asked.root, thread.me));
  must_not_be_null(thread, asked.function, "src", asked.src(asked.root, thread.me));
  std::byte* const own = thread.segment->here(asked.dst(asked.root, thread.me));
  std::byte* const buffer = thread.me == asked.root ? thread.segment->here(asked.src(asked.root, thread.me)) : own;
  enter(thread, asked.function, asked.flags);
  run(thread, asked.function,
      {.collective = Collective::broadcast, .input = buffer, .output = buffer, .count = bytes, .root = asked.root});
  if (thread.me == asked.root) communicator::OwnCopy{own, buffer, bytes}.make();
  leave(thread, asked.function, asked.flags);
}

}  // namespace
}  // namespace copse::upc

using namespace copse::upc;
using copse::algorithms::Collective;

extern "C" {

void upc_all_scatter_v(upc_shared dst, upc_shared src, const size_t* bytes, const size_t* places, upc_flag_t flags) {
  move({"upc_all_scatter_v", Collective::scatter, [&](int, int to) { return behind(src, src.thread, place_of(bytes, places, to)); },
        [&](int, int to) { return behind(dst, to, 0); }, [&](int, int to) { return bytes[to]; }, flags, src.thread});
}

void upc_all_gather_v(upc_shared dst, upc_shared src, const size_t* bytes, const size_t* places, upc_flag_t flags) {
  move({"upc_all_gather_v", Collective::gather, [&](int from, int) { return behind(src, from, 0); },
        [&](int from, int) { return behind(dst, dst.thread, place_of(bytes, places, from)); },
        [&](int from, int) { return bytes[from]; }, flags, dst.thread});
}

void upc_all_gather_all_v(upc_shared dst, upc_shared src, const size_t* bytes, const size_t* places, upc_flag_t flags) {
  move({"upc_all_gather_all_v", Collective::allgather, [&](int from, int) { return behind(src, from, 0); },
        [&](int from, int to) { return behind(dst, to, place_of(bytes, places, from)); },
        [&](int from, int) { return bytes[from]; }, flags});
}

void upc_all_exchange_v(upc_shared dst, upc_shared src, const size_t* bytes, upc_flag_t flags) {
  const int threads = THREADS;
  const auto size = [=](int from, int to) { return bytes[from * threads + to]; };
  move({"upc_all_exchange_v", Collective::alltoall,
        [&](int from, int to) { return behind(src, from, bytes_before(to, [&](int before) { return size(from, before); })); },
        [&](int from, int to) { return behind(dst, to, bytes_before(from, [&](int before) { return size(before, to); })); }, size,
        flags});
}

void upc_all_broadcast_x(const upc_shared* dst, upc_shared src, size_t bytes, upc_flag_t flags) {
  broadcast({"upc_all_broadcast_x", Collective::scatter, [&](int, int) { return src; }, [&](int, int to) { return dst[to]; },
             [&](int, int) { return bytes; }, flags, src.thread});
}

void upc_all_scatter_x(const upc_shared* dst, const upc_shared* src, const size_t* bytes, upc_flag_t flags) {
  move({"upc_all_scatter_x", Collective::scatter, [&](int, int to) { return src[to]; }, [&](int, int to) { return dst[to]; },
        [&](int, int to) { return bytes[to]; }, flags, root_of(src, bytes)});
}

void upc_all_gather_x(const upc_shared* dst, const upc_shared* src, const size_t* bytes, upc_flag_t flags) {
  move({"upc_all_gather_x", Collective::gather, [&](int from, int) { return src[from]; }, [&](int from, int) { return dst[from]; },
        [&](int from, int) { return bytes[from]; }, flags, root_of(dst, bytes)});
}

void upc_all_gather_all_x(const upc_shared* dst, const upc_shared* src, const size_t* bytes, upc_flag_t flags) {
  const int threads = THREADS;
  move({"upc_all_gather_all_x", Collective::allgather, [&](int from, int) { return src[from]; },
        [&](int from, int to) { return dst[to * threads + from]; }, [&](int from, int) { return bytes[from]; }, flags});
}

void upc_all_exchange_x(const upc_shared* dst, const upc_shared* src, const size_t* bytes, upc_flag_t flags) {
  const int threads = THREADS;
  move({"upc_all_exchange_x", Collective::alltoall, [&](int from, int to) { return src[from * threads + to]; },
        [&](int from, int to) { return dst[to * threads + from]; }, [&](int from, int to) { return bytes[from * threads + to]; },
        flags});
}

}  // extern "C"
