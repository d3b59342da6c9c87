/* UPC's non-blocking transfers (UPC 1.3, Optional Library Specifications, <upc_nb.h>), for every C and C++ compiler.
 *
 * On one machine a transfer is a copy by the calling thread, and nobody else could make it sooner. Between nodes the network makes
 * it, and the caller waits. So it is over when the function that starts it returns, which the specification allows: the handle is
 * then UPC_COMPLETE_HANDLE. Arguments are those of upc_memcpy and its
 * like. As with these, barriers, locks and upc_fence order the accesses. */
#ifndef COPSE_UPC_NB_H
#define COPSE_UPC_NB_H

#include "copse/upc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A transfer that has been started. The complete one is all zero bits. */
typedef size_t upc_handle_t;
#define UPC_COMPLETE_HANDLE ((upc_handle_t)0)

/* Start a transfer whose end upc_sync or upc_sync_attempt waits for, once for each handle. */
static inline upc_handle_t upc_memcpy_nb(upc_shared dst, upc_shared src, size_t bytes) {
  upc_memcpy(dst, src, bytes);
  return UPC_COMPLETE_HANDLE;
}
static inline upc_handle_t upc_memget_nb(void* dst, upc_shared src, size_t bytes) {
  upc_memget(dst, src, bytes);
  return UPC_COMPLETE_HANDLE;
}
static inline upc_handle_t upc_memput_nb(upc_shared dst, const void* src, size_t bytes) {
  upc_memput(dst, src, bytes);
  return UPC_COMPLETE_HANDLE;
}
static inline upc_handle_t upc_memset_nb(upc_shared dst, int byte, size_t bytes) {
  upc_memset(dst, byte, bytes);
  return UPC_COMPLETE_HANDLE;
}

/* Start a transfer without a handle. upc_synci and upc_synci_attempt wait for all of this thread. */
static inline void upc_memcpy_nbi(upc_shared dst, upc_shared src, size_t bytes) { upc_memcpy(dst, src, bytes); }
static inline void upc_memget_nbi(void* dst, upc_shared src, size_t bytes) { upc_memget(dst, src, bytes); }
static inline void upc_memput_nbi(upc_shared dst, const void* src, size_t bytes) { upc_memput(dst, src, bytes); }
static inline void upc_memset_nbi(upc_shared dst, int byte, size_t bytes) { upc_memset(dst, byte, bytes); }

/* Wait for the end of a transfer. The attempts return 1 if it is over, which it always is, and 0 otherwise. */
static inline void upc_sync(upc_handle_t handle) { (void)handle; }
static inline int upc_sync_attempt(upc_handle_t handle) { return handle == UPC_COMPLETE_HANDLE; }
static inline void upc_synci(void) {}
static inline int upc_synci_attempt(void) { return 1; }

#ifdef __cplusplus
}
#endif

#endif
