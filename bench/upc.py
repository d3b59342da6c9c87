#!/usr/bin/env python3
"""Measures UPC's collectives: what the synchronisation modes cost, the libraries of the papers beside NUMACol (Copse's choice), and FT.

`copse bench --upc`, `copse bench --upc --suite` and `copse bench --ft` print every cell of the same. This sums the cells up.

    build/venv/bin/python bench/upc.py [--ranks 2,8] [--launches 3] [--ft S,W] [--against mpich] [--document]
"""

import argparse
from pathlib import Path
from statistics import geometric_mean, median

from copse import bench, flavours, ft, paths, quiet, tables, upc_bench, upc_suite
from copse.bench_report import size_text
from copse.errors import run_script
from rich.console import Console

DOCUMENT = paths.ROOT / "docs" / "upc-measurements.md"
SIZES = "16K,64K,1M"


def modes(threads: tuple[int, ...], batches: int, patience: quiet.Patience) -> tables.GrowingTable:
    """What a call takes in each mode, and how many times what it takes with no synchronisation."""
    table = tables.GrowingTable(["threads", "operation", "bytes", *(f"{mode}, us" for mode in upc_bench.MODES), "as multiples of NOSYNC"])
    for count in threads:
        found, _ = patience.undisturbed(lambda count=count: upc_bench.measure(upc_bench.DEFAULT_OPERATIONS, upc_bench.SIZES, count, batches))
        for (_, operation, size), by_mode in upc_bench.fastest(found).items():
            multiples = " : ".join(f"{by_mode[mode] / by_mode['NOSYNC']:.2f}" for mode in upc_bench.MODES)
            table.put([str(count), operation, size_text(size), *(f"{by_mode[mode]:.3f}" for mode in upc_bench.MODES), multiples])
    return table


def libraries(threads: tuple[int, ...], sizes: tuple[int, ...], launches: int, patience: quiet.Patience, say) -> tuple[tables.GrowingTable, list[str]]:
    """Each library's time over that of NUMACol, which is Copse's choice: geometric means over the sizes, by operation."""
    programs = upc_suite.programs()
    times, _ = upc_suite.measure(programs, sizes, threads, launches, patience, say)
    others = [side for side in programs if side != upc_suite.OWN]
    table = tables.GrowingTable(["threads", "operation", *others, "best of them", "worst cell of the best"])
    for count in threads:
        for operation in upc_suite.OPERATIONS:
            cells = [times.least[count, operation, size] for size in sizes]
            best = [times.best_of_others((count, operation, size)) for size in sizes]
            ratios = ["" if side not in cells[0] else f"{geometric_mean(cell[side] / cell[upc_suite.OWN] for cell in cells):.2f}" for side in others]
            table.put([str(count), operation, *ratios, f"{geometric_mean(best):.2f}", f"{min(best):.2f}"])
    return table, [f"- {line}" for line in upc_suite.summary(times, list(programs))]


def kernel(classes: tuple[str, ...], threads: tuple[int, ...], found: list[flavours.Flavour], launches: int, patience: quiet.Patience, say) -> tables.GrowingTable:
    table = tables.GrowingTable(["class", "threads", "exchange", "ms, least", "ms, median", "Mop/s", "of the time in the exchange"])
    for count in threads:
        ways = ft.ways_of(count, found, heap=False)
        for of_class in classes:
            results, _ = ft.measure(ways, count, of_class, launches, patience, say)
            for title, result in results.items():
                table.put([of_class, str(count), title, f"{1e3 * min(result.seconds):.2f}", f"{1e3 * median(result.seconds):.2f}", f"{result.mops:.0f}", f"{median(result.shares):.0%}"])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,8", help="numbers of UPC threads")
    parser.add_argument("--sizes", default=SIZES, help="bytes, for the libraries")
    parser.add_argument("--launches", type=int, default=3, help="of the libraries and of FT")
    parser.add_argument("--batches", type=int, default=10, help="of the modes")
    parser.add_argument("--ft", default="S,W", help="classes of FT")
    parser.add_argument("--against", default="mpich", help="MPIs for FT, with commas")
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait, in all, while others use the processors")
    parser.add_argument("--document", action="store_true", help=f"write the tables into {DOCUMENT.name}")
    options = parser.parse_args()
    threads = bench.chosen_numbers(options.ranks, "number of threads", 1)
    sizes = bench.chosen_numbers(options.sizes, "size", 8, suffixes=True)
    say = Console(stderr=True).print
    patience = quiet.Patience(options.patience, say)
    written = [("upc-modes", modes(threads, options.batches, patience), [])]
    table, about = libraries(threads, sizes, options.launches, patience, say)
    written.append(("upc-libraries", table, about))
    found = list(map(flavours.find, options.against.split(",")))
    written.append(("upc-ft", kernel(bench.chosen_words(options.ft, ft.CLASSES, "class"), threads, found, options.launches, patience, say), []))
    for name, table, about in written if options.document else []:
        table.write(DOCUMENT, name, about)


if __name__ == "__main__":
    run_script(main)
