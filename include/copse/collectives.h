/* The collectives of the C interface, which <copse/copse.h> includes and explains: what all of them have in common stands
 * there. Each COPSE_COLLECTIVE(name, parameters) is a function that waits and one that does not. */
#ifndef COPSE_COLLECTIVE
#error "include <copse/copse.h> instead"
#endif

/* Returns when every rank has called it. */
COPSE_COLLECTIVE(barrier, copse_comm *comm);

/* `buffer` of rank `root` is copied to `buffer` of every rank. */
COPSE_COLLECTIVE(broadcast, copse_comm *comm, void *buffer, size_t bytes, int root);

/* Reductions. They combine ranks in an order that depends on the communicator alone, so that the same call gives the
 * same bits each time, and all ranks of an allreduce the same bits. In place: `input` equals `output`. */

/* output[i] on rank `root` = input[i] of rank 0 op ... op input[i] of the last rank. The others have no `output`. */
COPSE_COLLECTIVE(reduce, copse_comm *comm, const void *input, void *output, size_t count, copse_type type, copse_op op,
                 int root);

/* The same, on every rank. */
COPSE_COLLECTIVE(allreduce, copse_comm *comm, const void *input, void *output, size_t count, copse_type type,
                 copse_op op);

/* output[i] on rank r = input[i] of rank 0 op ... op input[i] of rank r. */
COPSE_COLLECTIVE(scan, copse_comm *comm, const void *input, void *output, size_t count, copse_type type, copse_op op);

/* The same, up to rank r - 1. Rank 0 has no `output`. */
COPSE_COLLECTIVE(exscan, copse_comm *comm, const void *input, void *output, size_t count, copse_type type, copse_op op);

/* The ranks' inputs, of a block of `count` or `counts[r]` elements for each rank r, are reduced; rank r gets block r as
 * its output. `counts` is the same on all ranks. */
COPSE_COLLECTIVE(reduce_scatter_block, copse_comm *comm, const void *input, void *output, size_t count, copse_type type,
                 copse_op op);
COPSE_COLLECTIVE(reduce_scatter, copse_comm *comm, const void *input, void *output, const size_t *counts,
                 copse_type type, copse_op op);

/* `input` of every rank becomes a block of the root's `output`. The others have no `output`, `sizes` and `places`. In
 * place: the root's `input` is its block in `output`. A root's sizes[r] may be more than the rank's `bytes`; if it is
 * less, the root gets COPSE_ERROR_TRUNCATED, and of that block as much as there is room for. */
COPSE_COLLECTIVE(gather, copse_comm *comm, const void *input, size_t bytes, void *output, int root);
COPSE_COLLECTIVE(gatherv, copse_comm *comm, const void *input, size_t bytes, void *output, const size_t *sizes,
                 const size_t *places, int root);

/* The blocks of the root's `input` go to the ranks' `output`. The others have no `input`, `sizes` and `places`. In
 * place: the root's `output` is its block in `input`. If sizes[r] is more than the rank's `bytes`, that rank or the root
 * gets COPSE_ERROR_TRUNCATED, and the rank as much as it has room for. */
COPSE_COLLECTIVE(scatter, copse_comm *comm, const void *input, void *output, size_t bytes, int root);
COPSE_COLLECTIVE(scatterv, copse_comm *comm, const void *input, const size_t *sizes, const size_t *places, void *output,
                 size_t bytes, int root);

/* `input` of every rank becomes a block of every rank's `output`. `sizes` is the same on all ranks, and says how long
 * the inputs are. In place: a rank's `input` is its block in `output`. */
COPSE_COLLECTIVE(allgather, copse_comm *comm, const void *input, size_t bytes, void *output);
COPSE_COLLECTIVE(allgatherv, copse_comm *comm, const void *input, void *output, const size_t *sizes,
                 const size_t *places);

/* Block r of `input` becomes block s of `output` of rank r, s being this rank. In place: `input` equals `output`. What
 * rank s gives to rank r must be as much as rank r expects. Of an alltoallv, if it is more, rank r gets
 * COPSE_ERROR_TRUNCATED, and as much as it has room for. */
COPSE_COLLECTIVE(alltoall, copse_comm *comm, const void *input, void *output, size_t bytes);
COPSE_COLLECTIVE(alltoallv, copse_comm *comm, const void *input, const size_t *input_sizes, const size_t *input_places,
                 void *output, const size_t *output_sizes, const size_t *output_places);

/* `input` of rank r becomes `output` of rank permutation[r] (upc_all_permute of UPC 1.3). `permutation` is the same on all
 * ranks. It has an entry for each of them, and every rank is there once; anything else is COPSE_ERROR_ARGUMENT. In place:
 * `input` equals `output`. */
COPSE_COLLECTIVE(permute, copse_comm *comm, const void *input, void *output, const int *permutation, size_t bytes);
