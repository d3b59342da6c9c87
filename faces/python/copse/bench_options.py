"""The options of `copse bench`, for the argument parser, and what each of them asks of the modules that measure."""

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import bench, files, flavours, paths, plots, quiet, readme, variables
from .bench_asked import Asked
from .bench_report import Row, Sample, draw, geometric_means, show, spread, summarise, verdicts, write
from .errors import CopseError

UNPUBLISHED = {"COPSE_JOIN", "COPSE_QUIET"}  # these are set anyhow, or change nothing that --readme and --document publish


def measure_regret(asked: Asked) -> None:
    from .regret import regret_command

    if asked.gives("against") and "," in asked.against:
        raise CopseError("the regret is measured with one MPI at a time", f"use: --against {asked.against.split(',')[0]}")
    tables = asked.table or []
    if len(tables) > 1:
        raise CopseError("the regret is measured with one table at a time", f"use: --table {tables[0]}")
    with asked.here() as cluster:
        regret_command(asked, tables[0] if tables else None, cluster, None if asked.busy or asked.nodes > 1 else asked.patient)


def measure_cluster(asked: Asked) -> None:
    from .cluster_bench import SIZES, cluster_command

    every = asked.operations == "all" or not asked.gives("operations")
    calls = bench.OPERATIONS if every else asked.words("operations", bench.OPERATIONS, "operation")
    modes = asked.words("mode", bench.MODES, "mode") if asked.gives("mode") else bench.MODES[:1]
    launches = asked.launches if asked.gives("launches") else 2
    grid = bench.Grid(calls, asked.sizes_or(SIZES), modes, asked.batches, launches, asked.cache)
    cluster_command(grid, asked.found(), asked.links, asked.shapes, asked.minutes, asked.output, asked.document)


def measure_overlap(asked: Asked) -> None:
    from .overlap import overlap_command

    counts = asked.counts() if asked.gives("ranks") else (2,)
    launches = 1 if asked.quick else asked.launches
    overlap_command(asked.found(), counts, asked.sizes_or((8,)), asked.compute, launches, asked.output, asked.document)


def measure_ft(asked: Asked) -> None:
    from .ft import CLASSES, ft_command

    launches = 1 if asked.quick else asked.launches
    ft_command(asked.words("ft", CLASSES, "class"), asked.counts("number of threads"), asked.found(), asked.heap, launches, asked.patient, asked.output)


def measure_suite(asked: Asked) -> None:
    from .upc_suite import suite_command

    sizes = asked.sizes_or((16 << 10, 64 << 10, 1 << 20))
    suite_command(sizes, asked.counts("number of threads"), asked.launches, asked.patient, asked.output)


def measure_uoms(asked: Asked) -> None:
    from .upc_uoms import uoms_command

    counts = asked.counts("number of threads")
    with asked.here() as cluster:
        uoms_command(asked.uoms, counts, asked.patient, asked.output, cluster)


def measure_upc(asked: Asked) -> None:
    from . import upc_bench

    calls = asked.words("operations", upc_bench.OPERATIONS, "operation") if asked.gives("operations") else upc_bench.DEFAULT_OPERATIONS
    sizes, counts = asked.sizes_or(upc_bench.SIZES), asked.counts("number of threads")
    with asked.here() as cluster:
        upc_bench.run(calls, sizes, counts, asked.batches, asked.patient, asked.output, cluster)


def grid_of(asked: Asked) -> bench.Grid:
    """Returns what is measured of each MPI."""
    return bench.Grid(
        bench.OPERATIONS if asked.operations == "all" else asked.words("operations", bench.OPERATIONS, "operation"),
        asked.sizes_or((8, 4 << 10, 1 << 20) if asked.quick else bench.SIZES),
        asked.words("mode", bench.MODES, "mode"),
        1 if asked.quick else asked.batches,
        1 if asked.quick else asked.launches,
        asked.cache,
        asked.nodes,
        asked.rate,
        asked.delay,
    )


def programs_of(asked: Asked, grid: bench.Grid, found: list[flavours.Flavour], own_only: bool) -> dict[str, list[flavours.Flavour]]:
    """Returns which MPIs run IMB-MPI1, and which the repository's own program."""
    if asked.imb and own_only:
        raise CopseError("over emulated nodes, and with --table or --learning, only the repository's own program is measured", "use: --own")
    runs_imb = {flavour.name for flavour in found if flavour.family is not flavours.OPEN_MPI}
    if asked.imb and len(runs_imb) < len(found):
        raise CopseError("IMB-MPI1 runs under MPICH's ABI only", f"add: --against {','.join(sorted(runs_imb)) or 'mpich,impi'}")
    not_imb = [operation for operation in grid.operations if operation not in bench.IMB_OPERATIONS]
    if asked.imb and not_imb:
        raise CopseError(f"IMB-MPI1 has no {not_imb[0]} with sizes of that meaning", "use: --own")
    by_default = asked.imb is None and not own_only and not not_imb and flavours.has_imb()
    use_imb = runs_imb if asked.imb or by_default else set()
    return {"imb": [f for f in found if f.name in use_imb], "own": [f for f in found if f.name not in use_imb]}


def compare_mpis(asked: Asked) -> None:
    """Measures what the command measures by default."""
    if asked.into is not None and asked.nodes > 1:
        raise CopseError("the README's table is about one node", "leave out --nodes, or --readme")
    if asked.into is not None and asked.imb is not False:
        raise CopseError("the README's table compares all MPIs on one program", "add: --own")
    grid, rank_counts, found = grid_of(asked), asked.counts(), asked.found()
    choices = bench.choices_of(found, asked.table or [], asked.learning)
    programs = programs_of(asked, grid, found, own_only=asked.nodes > 1 or bool(choices))
    if missing := sorted({flavour.preload.name for flavour in found if not flavour.preload.exists()}):
        asked.progress.print(f"[yellow]not built, so their MPIs only run bare: {', '.join(missing)}[/]")

    asked.output.mkdir(parents=True, exist_ok=True)
    asked.patient.wait()
    with asked.here() as cluster:
        samples, failure = bench.until_failure(
            bench.take_samples(program, bench.make_sides(members, asked.heap, cluster, choices), count, grid, asked.progress.print, asked.patient)
            for program, members in programs.items() for count in (rank_counts if members else ())
        )  # fmt: skip
    if failure and not samples:
        raise failure
    if not samples:
        raise CopseError("nothing was measured, because this machine was busy all the time", "end what runs beside, or add: --patience 600, or --busy")
    report(asked, grid, bench.make_sides(found, asked.heap, None, choices), samples, publish=failure is None)
    if failure:
        raise failure


def report(asked: Asked, grid: bench.Grid, sides: list[bench.Side], samples: list[Sample], publish: bool) -> None:
    """Prints and writes what was measured. `publish` tells whether that is all that --readme needs."""
    console = Console(width=None if sys.stdout.isatty() else 200)
    rows = summarise(samples, sides)
    show(console, rows)
    written = write(asked.output, grid, sides, samples, rows)
    if plots.can_draw():
        written += draw(rows, asked.output)
    else:
        asked.progress.print(f"[yellow]no plots: {plots.WITHOUT}; {plots.REMEDY}[/]", soft_wrap=True)
    if asked.into is not None and publish:
        write_readme(asked, rows)
    console.print("written: " + ", ".join(str(file) for file in written), soft_wrap=True)
    if (others := max(sample.others for sample in samples)) > quiet.LIMIT:
        console.print(f"[yellow]taken on a busy machine: others had up to {others:.0%} of the processors[/]", soft_wrap=True)
    if line := spread(rows):
        console.print(line, soft_wrap=True)
    for line in verdicts(geometric_means(rows)):
        console.print(line, soft_wrap=True, highlight=False)


def write_readme(asked: Asked, rows: list[Row]) -> None:
    """Writes the result between the marks of README.md and of the page that has the cells."""
    result = json.loads((asked.output / "results.json").read_text()) | {"tables": list(map(str, asked.table or [])), "learning": asked.learning}
    command = readme.command_line(asked.into)
    readme.write(asked.into, readme.glance(rows, result, command))
    readme.write(asked.into.parent / readme.CELLS, readme.section(rows, result, command))


@dataclass(frozen=True)
class Instead:
    """What is measured instead if an option is given, and which other options that has."""

    measure: Callable[[Asked], None]
    options: set[str]


INSTEAD = {
    "regret": Instead(measure_regret, {"operations", "sizes", "ranks", "mode", "cache", "against", "heap", "nodes", "rate", "delay", "patience", "busy", "quick", "table", "learning", "resume", "into"}),
    "cluster": Instead(measure_cluster, {"operations", "sizes", "mode", "cache", "against", "batches", "launches", "links", "shapes", "minutes", "document"}),
    "overlap": Instead(measure_overlap, {"sizes", "ranks", "against", "launches", "quick", "compute", "document"}),
    "ft": Instead(measure_ft, {"ranks", "against", "heap", "launches", "patience", "busy", "quick"}),
    "suite": Instead(measure_suite, {"upc", "sizes", "ranks", "launches", "patience", "busy"}),
    "uoms": Instead(measure_uoms, {"upc", "ranks", "patience", "busy", "nodes", "rate", "delay"}),
    "upc": Instead(measure_upc, {"operations", "sizes", "ranks", "batches", "patience", "busy", "nodes", "rate", "delay"}),
}
ONLY_WITH = {
    "resume": ("regret",), "compute": ("overlap",), "document": ("overlap", "cluster"), "suite": ("upc",), "uoms": ("upc",),
    "rate": ("nodes",), "delay": ("nodes",), "links": ("cluster",), "shapes": ("cluster",), "minutes": ("cluster",),
}  # fmt: skip


def chosen_instead(asked: Asked) -> str | None:
    """Returns the option that says what to measure instead, if there is one. Refuses options that would change nothing."""
    parameters = asked.context.command.params
    given = {parameter.name for parameter in parameters if asked.gives(parameter.name)}
    for name in given & set(ONLY_WITH):
        if not given & set(ONLY_WITH[name]):
            needed = " or ".join(f"--{other}" for other in ONLY_WITH[name])
            raise CopseError(f"--{name} is only for {needed}", f"add {needed}, or leave out --{name}")
    instead = next((name for name in INSTEAD if name in given), None)
    for name in sorted(given - {"output", instead}) if instead else ():
        if name not in INSTEAD[instead].options:
            parameter = next(parameter for parameter in parameters if parameter.name == name)
            option = (parameter.opts if getattr(asked, name) is not False else parameter.secondary_opts)[0]
            raise CopseError(f"{option} changes nothing with --{instead}", f"leave out {option}")
    return instead


def require_pages(asked: Asked) -> None:
    """Refuses documents that cannot be written, before anything is measured."""
    pages = ((asked.into, "README.md"), (asked.document, "docs/cluster.md" if asked.cluster else "docs/collective-processors.md"))
    for page, name in pages:
        if page is not None and not page.is_file():
            raise CopseError(f"there is no {page}", f"give the {name} of a checkout")
        if page is not None:
            variables.refuse(UNPUBLISHED, "changes what is measured, and the text would not say so")


def end_in_order() -> None:
    """Lets the signals that end this process end a running side, and emulated nodes, too. Under nohup SIGHUP stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda received, _: sys.exit(128 + received))


def bench_command(
    context: typer.Context,
    operations: Annotated[
        str, typer.Option(help=f"separated by commas, from {', '.join(bench.OPERATIONS)}; or all")
    ] = ",".join(bench.QUICK_OPERATIONS),
    sizes: Annotated[
        str,
        typer.Option(help="bytes of a block (K and M allowed): what a rank gives or gets; in an alltoall, what it sends to each other rank"),
    ] = ",".join(map(str, bench.SIZES)),
    ranks: Annotated[str, typer.Option(help="numbers of ranks; each is a separate comparison")] = "2,8",
    mode: Annotated[str, typer.Option(help="warm: always the same buffers; cold: each call takes the next buffer of a large ring")] = ",".join(bench.MODES),
    cache: Annotated[
        int, typer.Option(min=0, help="MiB of cache that cold calls must miss; 0 is all second and third caches, which in a virtual machine may be far too much")
    ] = 0,
    against: Annotated[str, typer.Option(help="the MPIs to measure, bare and with Copse; all: those that are installed")] = "all" if paths.INSTALLED else ",".join(bench.PEERS),
    imb: Annotated[
        bool | None,
        typer.Option(
            "--imb/--own",
            help="IMB-MPI1 (MPICH's ABI), or the repository's own program; by default IMB-MPI1 if it runs and has all "
            "operations, else the own program",
        ),
    ] = None,
    heap: Annotated[bool, typer.Option(help="measure the shared heap too")] = True,
    batches: Annotated[int, typer.Option(min=1, help="batches of each cell in a launch (own program)")] = 3,
    launches: Annotated[int, typer.Option(min=1, help="launches of each side, in turn")] = 3,
    nodes: Annotated[int, typer.Option(min=1, help="measure over so many emulated nodes, which share the ranks evenly (needs root or a user namespace)")] = 1,
    rate: Annotated[int, typer.Option(min=0, help="with --nodes: what a node may send, in Mbit/s; 0 is no limit")] = 0,
    delay: Annotated[int, typer.Option(min=0, max=1000000, help="with --nodes: by how many microseconds a message between nodes takes longer (in a checkout)")] = 0,
    patience: Annotated[float, typer.Option(min=0, help="seconds to wait, in all, while others use the processors; cells that were always disturbed get no figure")] = 60,
    busy: Annotated[bool, typer.Option("--busy", help="take figures as they are, although others use the processors, and whatever the caches do")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="a quick look: one batch, one launch, and few sizes unless --sizes is given")] = False,
    output: Annotated[Path, typer.Option(help="folder for tables and plots")] = paths.RESULTS / "bench",
    regret: Annotated[bool, typer.Option("--regret", help="measure what Copse's choice costs instead: its time over that of the fastest way that could be forced")] = False,
    upc: Annotated[bool, typer.Option("--upc", help="measure UPC's synchronisation modes instead; --ranks are numbers of UPC threads (in a checkout)")] = False,
    suite: Annotated[bool, typer.Option("--suite", help="with --upc: measure the UPC libraries of the papers and OpenSHMEM side by side")] = False,
    uoms: Annotated[str | None, typer.Option("--uoms", metavar="OPTIONS", help="with --upc: run the operations of UOMS with these options of its own, and draw them: --uoms '-maxsize 65536'")] = None,
    ft: Annotated[str | None, typer.Option("--ft", metavar="CLASSES", help="measure the NAS kernel FT instead, of the classes S, W, A: --ft S,W (in a checkout)")] = None,
    table: Annotated[list[Path] | None, typer.Option(help="compare what this tuning table chooses, too; give one for each MPI")] = None,
    learning: Annotated[float, typer.Option(min=0, help="let each cell run for so many seconds with learning, and compare that, too")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="with --regret: leave out the cells that --output has, of the same build, MPI, table, --learning and --quick")] = False,
    overlap: Annotated[bool, typer.Option("--overlap", help="measure instead how much of an allreduce hides behind computation, with helpers and without")] = False,
    compute: Annotated[float, typer.Option(min=0, help="with --overlap: the most microseconds of computation in an iteration; shorter ones are measured, too")] = 50,
    document: Annotated[Path | None, typer.Option(help="with --overlap or --cluster: write the result between the marks of this document, docs/collective-processors.md or docs/cluster.md")] = None,
    cluster: Annotated[bool, typer.Option("--cluster", help="measure over emulated nodes instead, on several links and in several shapes, beside each MPI's own hierarchical settings; if interrupted, the same command goes on where it was")] = False,
    links: Annotated[str, typer.Option(help="with --cluster: what a node may send, in Mbit/s (0 is no limit), and after a colon by how many microseconds a message takes longer")] = "1000,10000:50,0",
    shapes: Annotated[str, typer.Option(help="with --cluster: nodes x ranks of each")] = "4x2,2x4",
    minutes: Annotated[float, typer.Option(min=0, help="with --cluster: stop after so many minutes, and go on next time; 0 is no limit")] = 0,
    into: Annotated[
        Path | None, typer.Option("--readme", help="write the result between the marks of this README.md and of the docs/measurements.md beside it (needs --own)")
    ] = None,
) -> None:
    """Measure MPIs side by side, bare and with Copse. Writes a table, results.json, CSV files and plots."""
    asked = Asked(**locals())
    instead = chosen_instead(asked)
    files.require_folder(output)
    require_pages(asked)
    end_in_order()
    (INSTEAD[instead].measure if instead else compare_mpis)(asked)
