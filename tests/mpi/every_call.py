"""Makes every collective call of mpi4py that Copse serves, on NumPy arrays and on Python objects. Rank 0 prints "fine".
"""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
root, last = 0, size - 1
ranks = np.arange(size, dtype="d")


def same(got, expected):
    assert np.array_equal(got, np.asarray(expected, dtype="d")), (rank, got, expected)


def array(*shape):
    return np.full(shape, -1.0)


mine = np.arange(1000.0) + rank
total = np.empty_like(mine)
comm.Allreduce(mine, total)
same(total, np.arange(1000.0) * size + ranks.sum())
given = mine.copy() if rank == last else np.empty_like(mine)
comm.Bcast(given, root=last)
same(given, np.arange(1000.0) + last)
summed = mine.copy()
comm.Reduce(MPI.IN_PLACE if rank == root else mine, summed if rank == root else None, root=root)
same(summed, total if rank == root else mine)
comm.Barrier()

one, blocks, got = np.full(3, float(rank)), np.repeat(ranks, 3), array(3 * size)
comm.Gather(one, got if rank == last else None, root=last)
same(got, blocks if rank == last else array(3 * size))
got = array(3)
comm.Scatter(blocks if rank == last else None, got, root=last)
same(got, one)
got = array(3 * size)
comm.Allgather(one, got)
same(got, blocks)
got[:] = -1
got[3 * rank : 3 * rank + 3] = rank
comm.Allgather(MPI.IN_PLACE, got)
same(got, blocks)
comm.Alltoall(blocks * 10 + rank, got)
same(got, np.repeat(ranks + rank * 10, 3))

# Rank r has r elements. The blocks lie in descending order of ranks with gaps between them.
counts = list(range(size))
places = [sum(counts[r + 1 :]) + last - r for r in range(size)]
whole = array(sum(counts) + size)
ragged = whole.copy()
for r in range(size):
    whole[places[r] : places[r] + r] = r
own = np.full(rank, float(rank))
got = ragged.copy()
comm.Gatherv(own, [got, counts, places, MPI.DOUBLE] if rank == root else None, root=root)
same(got, whole if rank == root else ragged)
got = array(rank)
comm.Scatterv([whole, counts, places, MPI.DOUBLE] if rank == root else None, got, root=root)
same(got, own)
got = ragged.copy()
comm.Allgatherv(own, [got, counts, places, MPI.DOUBLE])
same(got, whole)
got = array(rank * size)
comm.Alltoallv([whole, counts, places, MPI.DOUBLE], [got, [rank] * size, [rank * r for r in range(size)], MPI.DOUBLE])
same(got, np.full(rank * size, float(rank)))
got = array(rank * size)
comm.Alltoallw(
    [whole, counts, [8 * place for place in places], [MPI.DOUBLE] * size],
    [got, [rank] * size, [8 * rank * r for r in range(size)], [MPI.DOUBLE] * size],
)
same(got, np.full(rank * size, float(rank)))

got = array(3)
comm.Reduce_scatter_block(blocks + 1, got)
same(got, (one + 1) * size)
got = array(rank)
comm.Reduce_scatter(np.repeat(ranks, counts), got, counts)
same(got, own * size)
got = array(3)
comm.Scan(one, got)
same(got, [ranks[: rank + 1].sum()] * 3)
comm.Exscan(one, got)
if rank > 0:
    same(got, [ranks[:rank].sum()] * 3)

# Python objects
assert comm.allreduce(rank) == size * (size - 1) // 2
assert comm.allgather({"rank": rank}) == [{"rank": r} for r in range(size)]
assert comm.gather("x" * rank, root=last) == (["x" * r for r in range(size)] if rank == last else None)
assert comm.scatter([[r] * r for r in range(size)] if rank == root else None, root=root) == [rank] * rank
assert comm.alltoall([(rank, r) for r in range(size)]) == [(r, rank) for r in range(size)]
assert comm.scan(1) == rank + 1
print("fine") if rank == 0 else None
