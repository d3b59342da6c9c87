// Transfers that do not block (UPC 1.3, Optional Library Specifications, <upc_nb.h>).
#include "copse/upc_nb.h"

#include <algorithm>

#include "far.hpp"
#include "thread.hpp"

namespace copse::upc {
namespace {

// Starts a copy. If neither side is on this node, the copy blocks, because this thread must pass the bytes on. Setting memory
// (upc_memset_nb) blocks, too.
upc_handle_t start_copy(const Thread& thread, const char* function, upc_shared dst, upc_shared src, std::size_t bytes) {
  const Segment& segment = *thread.segment;
  must_be_memory(thread, function, src, bytes);
  must_be_memory(thread, function, dst, bytes);
  if (segment.is_here(src.thread)) return start_write(thread, function, dst, segment.here(src), bytes);
  if (segment.is_here(dst.thread)) return start_read(thread, function, segment.here(dst), src, bytes);
  copy(thread, function, dst, src, bytes);
  return UPC_COMPLETE_HANDLE;
}

void keep(Thread& thread, upc_handle_t handle) {
  if (handle != UPC_COMPLETE_HANDLE) thread.kept.implicit.push_back(handle);
}

void wait_for(const Thread& thread, const char* function, upc_handle_t handle) {
  if (!has_ended(thread, function, handle)) thread.progress->until([&] { return has_ended(thread, function, handle); });
}

}  // namespace
}  // namespace copse::upc

using namespace copse::upc;

extern "C" {

upc_handle_t upc_memcpy_nb(upc_shared dst, upc_shared src, size_t bytes) {
  return start_copy(here("upc_memcpy_nb"), "upc_memcpy_nb", dst, src, bytes);
}

upc_handle_t upc_memget_nb(void* dst, upc_shared src, size_t bytes) {
  return start_read(here("upc_memget_nb"), "upc_memget_nb", dst, src, bytes);
}

upc_handle_t upc_memput_nb(upc_shared dst, const void* src, size_t bytes) {
  return start_write(here("upc_memput_nb"), "upc_memput_nb", dst, src, bytes);
}

upc_handle_t upc_memset_nb(upc_shared dst, int byte, size_t bytes) {
  set(here("upc_memset_nb"), "upc_memset_nb", dst, byte, bytes);
  return UPC_COMPLETE_HANDLE;
}

void upc_memcpy_nbi(upc_shared dst, upc_shared src, size_t bytes) {
  Thread& thread = here("upc_memcpy_nbi");
  keep(thread, start_copy(thread, "upc_memcpy_nbi", dst, src, bytes));
}

void upc_memget_nbi(void* dst, upc_shared src, size_t bytes) {
  Thread& thread = here("upc_memget_nbi");
  keep(thread, start_read(thread, "upc_memget_nbi", dst, src, bytes));
}

void upc_memput_nbi(upc_shared dst, const void* src, size_t bytes) {
  Thread& thread = here("upc_memput_nbi");
  keep(thread, start_write(thread, "upc_memput_nbi", dst, src, bytes));
}

void upc_memset_nbi(upc_shared dst, int byte, size_t bytes) { set(here("upc_memset_nbi"), "upc_memset_nbi", dst, byte, bytes); }

void upc_sync(upc_handle_t handle) { wait_for(here("upc_sync"), "upc_sync", handle); }

int upc_sync_attempt(upc_handle_t handle) { return has_ended(here("upc_sync_attempt"), "upc_sync_attempt", handle) ? 1 : 0; }

void upc_synci(void) {
  Thread& thread = here("upc_synci");
  for (const upc_handle_t handle : thread.kept.implicit) wait_for(thread, "upc_synci", handle);
  thread.kept.implicit.clear();
}

int upc_synci_attempt(void) {
  Thread& thread = here("upc_synci_attempt");
  std::erase_if(thread.kept.implicit, [&](upc_handle_t handle) { return has_ended(thread, "upc_synci_attempt", handle); });
  return thread.kept.implicit.empty() ? 1 : 0;
}

}  // extern "C"
