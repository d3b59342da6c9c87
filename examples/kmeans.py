"""k-means over all ranks with mpi4py. Each rank has a share of the points. Two allreduces per round move the centres.

    cd build/mpi/mpich/bin        # an MPI and a Python with mpi4py from set-up; or your own
    ./mpirun -n 2 ./python ../../../../examples/kmeans.py
    ../../../bin/copse run --trace ./mpirun -n 2 ./python ../../../../examples/kmeans.py

The script runs unmodified on any MPI, with or without Copse, and prints the same numbers. bench/share.py measures which
share of its time the collective calls take.
"""

import sys

import numpy as np
from mpi4py import MPI

POINTS, DIMENSIONS, CLUSTERS, ROUNDS = 20000, 16, 8, 30


def nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    distances = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    return distances.argmin(axis=1)


def main() -> None:
    comm = MPI.COMM_WORLD
    random = np.random.default_rng(seed=comm.rank)
    true_centres = np.random.default_rng(seed=12345).uniform(-10, 10, (CLUSTERS, DIMENSIONS))
    points = true_centres[random.integers(CLUSTERS, size=POINTS)] + random.normal(size=(POINTS, DIMENSIONS))

    centres = np.empty((CLUSTERS, DIMENSIONS))
    if comm.rank == 0:
        centres[:] = true_centres + random.normal(scale=3, size=centres.shape)
    comm.Bcast(centres, root=0)

    start = MPI.Wtime()
    sums, counts = np.empty_like(centres), np.empty(CLUSTERS)
    for _ in range(ROUNDS):
        label = nearest(points, centres)
        own_sums, own_counts = np.zeros_like(centres), np.bincount(label, minlength=CLUSTERS).astype(float)
        np.add.at(own_sums, label, points)
        comm.Allreduce(own_sums, sums)
        comm.Allreduce(own_counts, counts)
        centres = sums / np.maximum(counts, 1)[:, None]
    seconds = comm.reduce(MPI.Wtime() - start, op=MPI.MAX)

    if comm.rank == 0:
        error = np.abs(centres - true_centres).max()
        print(f"{comm.size} ranks: centres within {error:.3f} of the true ones; {counts.sum():.0f} points")
        print("sums of the centres:", *(f"{total:.9f}" for total in centres.sum(axis=1)))
        print(f"{seconds / ROUNDS * 1e3:.1f} ms a round", file=sys.stderr)


if __name__ == "__main__":
    main()
