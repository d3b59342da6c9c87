// Shared memory: allocation, and plain copies (UPC 1.3, 7.2.2 and 7.2.5).
#include <algorithm>
#include <cstring>
#include <vector>

#include "checks.hpp"
#include "far.hpp"

namespace copse::upc {
namespace {

constexpr std::size_t kPiece = 65536;  // what goes over the network at a time

// Returns the bytes that each thread needs for an array that begins on thread 0, or 0 if so many cannot be had.
std::size_t bytes_on_each(const Thread& thread, const char* function, std::size_t blocks, std::size_t bytes) {
  const auto threads = static_cast<std::size_t>(thread.threads);
  std::size_t total = 0;
  const std::size_t rows = blocks / threads + (blocks % threads != 0 ? 1 : 0);
  const std::size_t most = thread.segment->most_on_all(thread.number());
  if (!__builtin_mul_overflow(rows, bytes, &total) && total <= most) return total;
  if (thread.check)
    fail(thread, function,
         std::to_string(blocks) + " blocks of " + std::to_string(bytes) + " bytes are more than fit; required: at most " +
             std::to_string(most) + " bytes on each thread (COPSE_UPC_HEAP)");
  return 0;
}

// Under COPSE_CHECK it is an error if there is no memory. Otherwise the result is null.
upc_shared found(const Thread& thread, const char* function, upc_shared p, std::size_t bytes) {
  if (thread.check && upc_is_null(p))
    fail(thread, function,
         "no " + std::to_string(bytes) + " bytes are left; required: less memory in use, or a larger COPSE_UPC_HEAP, which is " +
             std::to_string(thread.segment->half()));
  return p;
}

upc_shared allocate_blocks(Thread& thread, const char* function, std::size_t blocks, std::size_t bytes) {
  const std::size_t each = bytes_on_each(thread, function, blocks, bytes);
  return each == 0 ? upc_null() : found(thread, function, allocate_on_all(thread, each), each);
}

void free(Thread& thread, const char* function, upc_shared p) {
  if (upc_is_null(p)) return;
  if (!thread.segment->may_be_block(p))
    fail(thread, function,
         "the pointer is " + text_of(p) + "; required: what upc_all_alloc, upc_global_alloc or upc_alloc has returned");
  give_back(thread, function, p);
}

// Sets memory of another node.
void set_far(const Thread& thread, const char* function, upc_shared at, int byte, std::size_t bytes) {
  const std::vector<std::byte> piece(std::min(bytes, kPiece), static_cast<std::byte>(byte));
  for (std::size_t done = 0; done < bytes; done += piece.size(), at.address += piece.size())
    write(thread, function, at, piece.data(), std::min(piece.size(), bytes - done));
}

// Copies where neither side is on this node.
void copy_far(const Thread& thread, const char* function, upc_shared to, upc_shared from, std::size_t bytes) {
  std::vector<std::byte> piece(std::min(bytes, kPiece));
  for (std::size_t done = 0; done < bytes; done += piece.size()) {
    const std::size_t now = std::min(piece.size(), bytes - done);
    read(thread, function, piece.data(), {from.address + done, 0, from.thread}, now);
    write(thread, function, {to.address + done, 0, to.thread}, piece.data(), now);
  }
}

}  // namespace

void copy(const Thread& thread, const char* function, upc_shared to, upc_shared from, std::size_t bytes) {
  const Segment& segment = *thread.segment;
  must_be_memory(thread, function, from, bytes);
  must_be_memory(thread, function, to, bytes);
  if (segment.is_here(from.thread)) return write(thread, function, to, segment.here(from), bytes);
  if (segment.is_here(to.thread)) return read(thread, function, segment.here(to), from, bytes);
  copy_far(thread, function, to, from, bytes);
}

void set(const Thread& thread, const char* function, upc_shared at, int byte, std::size_t bytes) {
  must_be_memory(thread, function, at, bytes);
  if (!thread.segment->is_here(at.thread)) return set_far(thread, function, at, byte, bytes);
  std::memset(thread.segment->here(at), byte, bytes);
}

}  // namespace copse::upc

using namespace copse::upc;

extern "C" {

upc_shared upc_all_alloc(size_t blocks, size_t bytes) {
  Thread& thread = here_collectively("upc_all_alloc");
  if (thread.check) {
    Checks checks(thread, "upc_all_alloc");
    checks.word("blocks", static_cast<std::int64_t>(blocks));
    checks.word("bytes", static_cast<std::int64_t>(bytes));
    checks.compare();
  }
  const upc_shared made = thread.me == 0 ? allocate_blocks(thread, "upc_all_alloc", blocks, bytes) : upc_null();
  return from_thread_0(thread, "upc_all_alloc", made);
}

upc_shared upc_global_alloc(size_t blocks, size_t bytes) {
  return allocate_blocks(here("upc_global_alloc"), "upc_global_alloc", blocks, bytes);
}

upc_shared upc_alloc(size_t bytes) {
  const Thread& thread = here("upc_alloc");
  return bytes == 0 ? upc_null() : found(thread, "upc_alloc", allocate_here(thread, bytes), bytes);
}

void upc_free(upc_shared p) { free(here("upc_free"), "upc_free", p); }

void upc_all_free(upc_shared p) {
  Thread& thread = here_collectively("upc_all_free");
  if (thread.check) {
    Checks checks(thread, "upc_all_free");
    checks.pointer("the pointer", p);
    checks.compare();
  }
  meet_all(thread, "upc_all_free");
  if (thread.me == 0) free(thread, "upc_all_free", p);
}

void* upc_cast(upc_shared p) {
  const Segment& segment = *here("upc_cast").segment;
  return upc_is_null(p) || !segment.is_here(p.thread) ? nullptr : segment.here(p);
}

void* copse_upc_at(upc_shared p) {
  const Thread& thread = here("UPC_AT");
  if (upc_is_null(p)) fail(thread, "UPC_AT", "the pointer is null; required: a pointer to shared memory");
  must_be_thread(thread, "UPC_AT", p);
  if (!thread.segment->is_here(p.thread))
    fail(thread, "UPC_AT",
         "the element has affinity to thread " + std::to_string(p.thread) +
             ", which runs on another node; required: UPC_GET or UPC_PUT, or load and store in C++");
  return thread.segment->here(p);
}

int copse_upc_castable(size_t thread) {
  const Thread& me = here("upc_thread_info");
  return thread < static_cast<std::size_t>(me.threads) && me.segment->is_here(static_cast<int>(thread)) ? 1 : 0;
}

void upc_memcpy(upc_shared dst, upc_shared src, size_t bytes) { copy(here("upc_memcpy"), "upc_memcpy", dst, src, bytes); }

void upc_memget(void* dst, upc_shared src, size_t bytes) { read(here("upc_memget"), "upc_memget", dst, src, bytes); }

void upc_memput(upc_shared dst, const void* src, size_t bytes) { write(here("upc_memput"), "upc_memput", dst, src, bytes); }

void upc_memset(upc_shared dst, int byte, size_t bytes) { set(here("upc_memset"), "upc_memset", dst, byte, bytes); }

}  // extern "C"
