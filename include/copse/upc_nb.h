/* UPC's non-blocking transfers (UPC 1.3, Optional Library Specifications, <upc_nb.h>), for every C and C++ compiler.
 *
 * Between nodes the network makes a transfer, while the caller goes on. On one node a transfer is a copy by the calling thread, and
 * nobody else could make it sooner. So there it is over when the function that starts it returns, which the specification allows:
 * the handle is then UPC_COMPLETE_HANDLE. So is a upc_memset_nb, and a upc_memcpy_nb with neither side on this node.
 *
 * Arguments are those of upc_memcpy and its like. Until a transfer is over, its source must not change, and its target must not be
 * looked at. Barriers, locks and upc_fence do not end it. */
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
COPSE_API upc_handle_t upc_memcpy_nb(upc_shared dst, upc_shared src, size_t bytes);
COPSE_API upc_handle_t upc_memget_nb(void* dst, upc_shared src, size_t bytes);
COPSE_API upc_handle_t upc_memput_nb(upc_shared dst, const void* src, size_t bytes);
COPSE_API upc_handle_t upc_memset_nb(upc_shared dst, int byte, size_t bytes);

/* Start a transfer without a handle. upc_synci and upc_synci_attempt wait for all of this thread. */
COPSE_API void upc_memcpy_nbi(upc_shared dst, upc_shared src, size_t bytes);
COPSE_API void upc_memget_nbi(void* dst, upc_shared src, size_t bytes);
COPSE_API void upc_memput_nbi(upc_shared dst, const void* src, size_t bytes);
COPSE_API void upc_memset_nbi(upc_shared dst, int byte, size_t bytes);

/* Wait for the end of a transfer: what was got is here, and what was put is there. The attempts return 1 if it is over, and 0
 * otherwise. Between nodes an attempt may wait for other puts to the same process. Error: a handle that was not returned by
 * one of the above. A handle that has been waited for may stand for a later transfer. */
COPSE_API void upc_sync(upc_handle_t handle);
COPSE_API int upc_sync_attempt(upc_handle_t handle);
COPSE_API void upc_synci(void);
COPSE_API int upc_synci_attempt(void);

#ifdef __cplusplus
}
#endif

#endif
