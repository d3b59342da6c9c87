/* Collectives of blocks of different sizes, for every C and C++ compiler.
 *
 * The specification has none, and no prototypes are standard. These follow Ryne and Seidel, "A specification of the extensions
 * to the collective operations of Unified Parallel C" (2005): a vector form (v), in which blocks have sizes and places of their
 * own, and a general form (x), in which every address is given. The tables are ordinary memory, and hold the same on all
 * threads. Sizes are in bytes and may be 0; the pointer to an empty block may be anything. A table of pairs of threads has the
 * entry of threads (a, b) at a * THREADS + b.
 * What is written must not overlap what is read.
 *
 * Flags are those of <copse/upc.h>. NOSYNC waits as MYSYNC does. Errors are told as there. */
#ifndef COPSE_UPC_V_H
#define COPSE_UPC_V_H

#include "copse/upc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Block t has bytes[t] bytes. In the array that holds all blocks, it begins places[t] bytes behind the pointer; where places is
 * NULL, the blocks lie one behind the other. The other array has its one block at the same address on every thread, and begins on
 * thread 0.
 *   scatter_v     block t of src, which lies on any one thread, is copied to dst on thread t
 *   gather_v      src on thread t is copied to block t of dst, which lies on any one thread
 *   gather_all_v  src on thread t is copied to block t of dst on every thread; both begin on thread 0
 *   exchange_v    block (f, t) has bytes[f * THREADS + t] bytes. It is copied from src on thread f to dst on thread t. On each
 *                 side, a thread's blocks lie one behind the other, in the order of the other thread. Both begin on thread 0 */
COPSE_API void upc_all_scatter_v(upc_shared dst, upc_shared src, const size_t* bytes, const size_t* places, upc_flag_t flags);
COPSE_API void upc_all_gather_v(upc_shared dst, upc_shared src, const size_t* bytes, const size_t* places, upc_flag_t flags);
COPSE_API void upc_all_gather_all_v(upc_shared dst, upc_shared src, const size_t* bytes, const size_t* places, upc_flag_t flags);
COPSE_API void upc_all_exchange_v(upc_shared dst, upc_shared src, const size_t* bytes, upc_flag_t flags);

/* Every block has an address of its own.
 *   broadcast_x   src, on any thread, is copied to dst[t], which lies on thread t
 *   scatter_x     src[t] is copied to dst[t], which lies on thread t; all of src lie on one thread
 *   gather_x      src[t], which lies on thread t, is copied to dst[t]; all of dst lie on one thread
 *   gather_all_x  src[f], which lies on thread f, is copied to dst[t * THREADS + f], which lies on thread t, for every t
 *   exchange_x    src[f * THREADS + t], which lies on thread f, is copied to dst[t * THREADS + f], which lies on thread t; it has
 *                 bytes[f * THREADS + t] bytes */
COPSE_API void upc_all_broadcast_x(const upc_shared* dst, upc_shared src, size_t bytes, upc_flag_t flags);
COPSE_API void upc_all_scatter_x(const upc_shared* dst, const upc_shared* src, const size_t* bytes, upc_flag_t flags);
COPSE_API void upc_all_gather_x(const upc_shared* dst, const upc_shared* src, const size_t* bytes, upc_flag_t flags);
COPSE_API void upc_all_gather_all_x(const upc_shared* dst, const upc_shared* src, const size_t* bytes, upc_flag_t flags);
COPSE_API void upc_all_exchange_x(const upc_shared* dst, const upc_shared* src, const size_t* bytes, upc_flag_t flags);

#ifdef __cplusplus
}
#endif

#endif
