// Shared memory: allocation, and plain copies (UPC 1.3, 7.2.2 and 7.2.5).
#include <cstring>

#include "checks.hpp"
#include "engine/kernels/kernels.hpp"

namespace copse::upc {
namespace {

// Returns the bytes that each thread needs for an array that begins on thread 0.
std::size_t bytes_on_each(const Thread& thread, const char* function, std::size_t blocks, std::size_t bytes) {
  const auto threads = static_cast<std::size_t>(thread.threads);
  std::size_t total = 0;
  const std::size_t rows = blocks / threads + (blocks % threads != 0 ? 1 : 0);
  if (__builtin_mul_overflow(rows, bytes, &total) || total > thread.segment->half())
    fail(thread, function,
         std::to_string(blocks) + " blocks of " + std::to_string(bytes) + " bytes are more than fit; required: at most " +
             std::to_string(thread.segment->half()) + " bytes on each thread (COPSE_UPC_HEAP)");
  return total;
}

upc_shared found(const Thread& thread, const char* function, upc_shared p, std::size_t bytes) {
  if (upc_is_null(p))
    fail(thread, function,
         "no " + std::to_string(bytes) + " bytes are left; required: less memory in use, or a larger COPSE_UPC_HEAP, which is " +
             std::to_string(thread.segment->half()));
  return p;
}

upc_shared allocate_on_all(Thread& thread, const char* function, std::size_t blocks, std::size_t bytes) {
  const std::size_t each = bytes_on_each(thread, function, blocks, bytes);
  return each == 0 ? upc_null() : found(thread, function, thread.segment->allocate_on_all(each), each);
}

void free(Thread& thread, const char* function, upc_shared p) {
  if (upc_is_null(p)) return;
  if (!thread.segment->may_be_block(p))
    fail(thread, function,
         "the pointer is " + text_of(p) + "; required: what upc_all_alloc, upc_global_alloc or upc_alloc has returned");
  thread.segment->free(p);
}

}  // namespace

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
  const upc_shared made = thread.me == 0 ? allocate_on_all(thread, "upc_all_alloc", blocks, bytes) : upc_null();
  return from_thread_0(thread, "upc_all_alloc", made);
}

upc_shared upc_global_alloc(size_t blocks, size_t bytes) {
  return allocate_on_all(here("upc_global_alloc"), "upc_global_alloc", blocks, bytes);
}

upc_shared upc_alloc(size_t bytes) {
  const Thread& thread = here("upc_alloc");
  return bytes == 0 ? upc_null() : found(thread, "upc_alloc", thread.segment->allocate_on(thread.me, bytes), bytes);
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

void* upc_cast(upc_shared p) { return upc_is_null(p) ? nullptr : here("upc_cast").segment->here(p); }

void upc_memcpy(upc_shared dst, upc_shared src, size_t bytes) {
  const Segment& segment = *here("upc_memcpy").segment;
  copse::kernels::copy(segment.here(dst), segment.here(src), bytes);
}

void upc_memget(void* dst, upc_shared src, size_t bytes) {
  copse::kernels::copy(dst, here("upc_memget").segment->here(src), bytes);
}

void upc_memput(upc_shared dst, const void* src, size_t bytes) {
  copse::kernels::copy(here("upc_memput").segment->here(dst), src, bytes);
}

void upc_memset(upc_shared dst, int byte, size_t bytes) { std::memset(here("upc_memset").segment->here(dst), byte, bytes); }

}  // extern "C"
