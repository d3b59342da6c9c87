/* The collectives of the C interface. <copse/copse.h> includes this file and explains what all of them have in
 * common. Each COPSE_COLLECTIVE(name, parameters) is two functions: one that waits and one that does not. */
#ifndef COPSE_COLLECTIVE
#error "include <copse/copse.h> instead"
#endif

/* Returns when every rank has called it. */
COPSE_COLLECTIVE(barrier, copse_comm* comm);

/* Copies `buffer` of rank `root` to `buffer` of every rank. */
COPSE_COLLECTIVE(broadcast, copse_comm* comm, void* buffer, size_t bytes, int root);

/* Reductions. The order in which ranks are combined depends only on the communicator. So the same call always gives
 * the same bits, and all ranks of an allreduce get the same bits. In place: `input` equals `output`. */

/* On rank `root`, output[i] = input[i] of rank 0 op ... op input[i] of the last rank. The other ranks have no
 * `output`. */
COPSE_COLLECTIVE(reduce, copse_comm* comm, const void* input, void* output, size_t count, copse_type type, copse_op op, int root);

/* Does the same as a reduce, but every rank has an `output`. */
COPSE_COLLECTIVE(allreduce, copse_comm* comm, const void* input, void* output, size_t count, copse_type type, copse_op op);

/* On rank r, output[i] = input[i] of rank 0 op ... op input[i] of rank r. */
COPSE_COLLECTIVE(scan, copse_comm* comm, const void* input, void* output, size_t count, copse_type type, copse_op op);

/* Does the same as a scan, but only up to rank r - 1. Rank 0 has no `output`. */
COPSE_COLLECTIVE(exscan, copse_comm* comm, const void* input, void* output, size_t count, copse_type type, copse_op op);

/* Reduces the ranks' inputs, each of which has a block of `count` or `counts[r]` elements for every rank r. Rank r
 * gets block r as its output. `counts` is the same on all ranks. */
COPSE_COLLECTIVE(reduce_scatter_block, copse_comm* comm, const void* input, void* output, size_t count, copse_type type,
                 copse_op op);
COPSE_COLLECTIVE(reduce_scatter, copse_comm* comm, const void* input, void* output, const size_t* counts, copse_type type,
                 copse_op op);

/* `input` of every rank becomes a block of the root's `output`. The other ranks have no `output`, `sizes` and
 * `places`. In place: the root's `input` is its block in `output`. The root's sizes[r] may be larger than the
 * `bytes` of rank r. If it is smaller, the root gets COPSE_ERROR_TRUNCATED and as much of that block as it has room
 * for. */
COPSE_COLLECTIVE(gather, copse_comm* comm, const void* input, size_t bytes, void* output, int root);
COPSE_COLLECTIVE(gatherv, copse_comm* comm, const void* input, size_t bytes, void* output, const size_t* sizes,
                 const size_t* places, int root);

/* The blocks of the root's `input` go to the ranks' `output`. The other ranks have no `input`, `sizes` and `places`.
 * In place: the root's `output` is its block in `input`. If sizes[r] is larger than the `bytes` of rank r, rank r or
 * the root gets COPSE_ERROR_TRUNCATED, and rank r gets as much as it has room for. */
COPSE_COLLECTIVE(scatter, copse_comm* comm, const void* input, void* output, size_t bytes, int root);
COPSE_COLLECTIVE(scatterv, copse_comm* comm, const void* input, const size_t* sizes, const size_t* places, void* output,
                 size_t bytes, int root);

/* `input` of every rank becomes a block of every rank's `output`. `sizes` is the same on all ranks and gives the
 * sizes of the inputs. In place: a rank's `input` is its block in `output`. */
COPSE_COLLECTIVE(allgather, copse_comm* comm, const void* input, size_t bytes, void* output);
COPSE_COLLECTIVE(allgatherv, copse_comm* comm, const void* input, void* output, const size_t* sizes, const size_t* places);

/* On rank s, block r of `input` becomes block s of the `output` of rank r. In place: `input` equals `output`. Rank s
 * must give rank r as much as rank r expects. If it gives more in an alltoallv, rank r gets COPSE_ERROR_TRUNCATED,
 * and as much as it has room for. */
COPSE_COLLECTIVE(alltoall, copse_comm* comm, const void* input, void* output, size_t bytes);
COPSE_COLLECTIVE(alltoallv, copse_comm* comm, const void* input, const size_t* input_sizes, const size_t* input_places,
                 void* output, const size_t* output_sizes, const size_t* output_places);

/* `input` of rank r becomes `output` of rank permutation[r] (upc_all_permute of UPC 1.3). `permutation` is the same on all
 * ranks. It has an entry for each of them, and every rank is there once; anything else is COPSE_ERROR_ARGUMENT. In place:
 * `input` equals `output`. */
COPSE_COLLECTIVE(permute, copse_comm* comm, const void* input, void* output, const int* permutation, size_t bytes);
