"""The options of `copse run`, for the argument parser."""

from typing import Annotated

import typer

from . import flavours, run, upc_libraries


def run_command(
    command: Annotated[
        list[str], typer.Argument(metavar="MPIRUN ...", help="the launcher and all its arguments, unchanged")
    ],
    shared_heap: Annotated[
        bool, typer.Option("--shared-heap", help="allocate in memory that the node's ranks share, so that messages are copied once")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="report at the end which algorithms ran")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="do not say where Copse can do nothing for the program")] = False,
    check: Annotated[bool, typer.Option("--check", help="stop with an error if ranks make different calls")] = False,
    algorithm: Annotated[
        str | None, typer.Option("--algorithm", metavar="CALL=NAME;...", help="force algorithms: allreduce=tiled")
    ] = None,
    flavour: Annotated[
        str, typer.Option("--flavour", help=f"auto, or {', '.join(flavours.NAMES)}")
    ] = "auto",
    collective_processors: Annotated[
        str | None,
        typer.Option("--collective-processors", metavar="N|1/N|cpus:LIST|out:N|out:1/N", help="start helper processes on each node, which make started collectives for the ranks; with out: take them from the launched ranks"),
    ] = None,
    upc_threads: Annotated[
        int | None, typer.Option("--upc-threads", metavar="N", help="run a program for <copse/upc.h> with so many UPC threads: copse run --upc-threads 8 ./app")
    ] = None,
    upc_processes: Annotated[
        int | None, typer.Option("--upc-processes", metavar="N", help="divide the UPC threads among so many processes")
    ] = None,
    upc_collectives: Annotated[
        str | None, typer.Option("--upc-collectives", metavar="NAME", help=f"run UPC's collectives as a library of the papers does: {', '.join(upc_libraries.WORDS)}")
    ] = None,
) -> None:
    """Run an MPI program with Copse's collectives: copse run mpirun -n 4 ./app"""
    run.start(command, run.Options(shared_heap, trace, quiet, check, algorithm, flavour, upc_threads, upc_processes, upc_collectives, collective_processors))
