"""`copse bench`: what it reads, what it reckons, and one real measurement under every MPI it compares by default."""

import csv
import json

import pytest

from copse import bench, flavours
from copse.errors import CopseError

GRID = bench.Grid(calls=("barrier", "bcast"), sizes=(8, 4096), modes=("warm",), batches=1, launches=1)
IMB_OUTPUT = """
#----------------------------------------------------------------
# Benchmarking Barrier
# #processes = 2
#----------------------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.80         0.81         0.80
# Benchmarking Bcast
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.10         0.43         0.30
         4096         1000         0.90         1.62         1.10
        65536           -1         time-out.
# All processes entering MPI_Finalize
"""


class Printing:
    """A side that prints what it is told to."""

    def __init__(self, text):
        self.text = text

    def start(self, ranks, program):
        return self.text


def test_of_imb_the_slowest_rank_counts():
    readings = list(bench.measure_imb(Printing(IMB_OUTPUT), 2, GRID))
    assert readings == [
        ("barrier", 0, "warm", 0, 0.81),
        ("bcast", 8, "warm", 0, 0.43),
        ("bcast", 4096, "warm", 0, 1.62),
    ]


def samples_of(side, *times, size=8):
    return [bench.Sample("own", 2, side, 0, "bcast", size, "warm", i, us) for i, us in enumerate(times)]


def sides():
    found = [flavours.find(name) for name in ("mpich", "openmpi")]
    return [*map(bench.Side, found), bench.Side(found[0], ("libcopse-mpi-mpich.so",))]


def test_ratios_are_of_the_best_peer():
    samples = samples_of("mpich", 4, 8, 9) + samples_of("openmpi", 6, 6, 6) + samples_of("mpich+copse", 2, 3, 4)
    rows = {row.side: row for row in bench.summarise(samples, sides())}
    copse = rows["mpich+copse"]
    assert (copse.min_us, copse.median_us) == (2, 3)
    assert (copse.ratio_min, copse.ratio_median) == (4 / 2, 6 / 3)  # mpich is best by minimum, openmpi by median
    assert rows["mpich"].ratio_min is None and rows["openmpi"].peer


def test_a_cell_that_no_peer_finished_has_no_ratio():
    rows = bench.summarise(samples_of("mpich+copse", 2), sides())
    assert [(row.ratio_min, row.peer) for row in rows] == [(None, False)]
    assert bench.geometric_means(rows) == []


def test_means_are_geometric_and_name_the_worst_cell():
    samples = samples_of("mpich", 8) + samples_of("mpich+copse", 1)
    samples += samples_of("mpich", 1, size=4096) + samples_of("mpich+copse", 2, size=4096)
    means = {m["mode"]: m for m in bench.geometric_means(bench.summarise(samples, sides()))}
    assert means["all"]["ratio_min"] == pytest.approx(2)  # of 8 and 0.5
    assert (means["all"]["worst"], means["all"]["worst_cell"]) == (0.5, "bcast 4 KiB warm")


def test_sizes_and_times_read_well():
    assert bench.chosen_numbers("8,4K,1M", "size", 8, suffixes=True) == (8, 4096, 1 << 20)
    assert [bench.size_text(size) for size in (0, 8, 4096, 1 << 20)] == ["", "8 B", "4 KiB", "1 MiB"]
    assert [bench.time_text(us) for us in (0.0431, 1.5, 12.34, 4207.6)] == ["0.0431", "1.50", "12.3", "4208"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--calls", "bcst"], ["bcst", "bcast"]),
        (["--sizes", "8,12"], ["12", "multiples of 8"]),
        (["--ranks", "0"], ["0", "2,8"]),
        (["--against", "lam"], ["lam", "openmpi"]),
        (["--imb", "--against", "openmpi"], ["MPICH", "--against"]),
    ],
)
def test_mistakes_are_named_with_their_remedy(copse, arguments, words):
    done = copse("bench", *arguments)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert all(word in done.stderr for word in words)


def test_a_failing_side_says_what_to_try():
    side = bench.Side(flavours.find("mpich"))
    with pytest.raises(CopseError, match="exit code 3.*try: .*mpiexec"):
        side.start(2, ["sh", "-c", "exit 3"])


def test_wrong_data_ends_the_mpi_benchmark(run, compile_mpi):
    mpi = flavours.find("mpich")
    wrong = "#define MPI_Bcast(b, n, t, r, c) (MPI_Bcast(b, n, t, r, c), ((double*)(b))[(n) - 1] += 1)\n"
    program = compile_mpi(mpi, f'#include <mpi.h>\n{wrong}#include "{bench.SOURCE}"\n')
    done = run(mpi.command(2, [program, "--calls", "bcast", "--sizes", "512", "--batches", "1"]), env=mpi.environment())
    assert done.returncode == 1
    assert "bcast of 512 bytes (warm) on rank 1 of 2: element 63 is 65, expected 64" in done.stderr


def test_every_mpi_is_measured_and_written(copse, tmp_path):
    done = copse("bench", "--own", "--quick", "--sizes", "8", "--ranks", "2", "--no-heap", "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "results.json").read_text())
    assert result["schema"] == bench.SCHEMA
    cells = {(row["side"], row["call"], row["mode"]) for row in result["summary"]}
    for name in bench.PEERS:
        assert {(name, "barrier", "warm")} | {
            (name, call, mode) for call in bench.CALLS[1:] for mode in bench.MODES
        } <= cells
    with (tmp_path / "samples.csv").open() as file:
        assert all(float(row["us"]) > 0 for row in csv.DictReader(file))
    assert (tmp_path / "mpi_collectives-2.png").stat().st_size > 1000
