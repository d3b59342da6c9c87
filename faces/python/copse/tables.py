"""What the scripts in bench/ and the soak have in common: they start programs, print a table row by row, and write it into a document."""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from . import paths, readme
from .bench import Side, chosen_numbers
from .bench_report import commit, processor_name
from .errors import CopseError
from .flavours import Flavour, find
from .trace import served_calls


def built(name: str) -> Path:
    """Returns one of the checkout's programs for measuring."""
    program = paths.BUILD / "release" / "bin" / name
    if not program.exists():
        raise CopseError(f"{name} is not built", "it is for checkouts: make build there")
    return program


Completed = subprocess.CompletedProcess[str]


def completed(title: str, command: Sequence[str], environment: Mapping[str, str], timeout: float) -> Completed:
    """Runs a program to its end. If it fails, the error names it and the command."""
    remedy = f"try: {shlex.join(map(str, command))}"
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise CopseError(f"{title} did not end within {timeout:g} s", remedy) from None
    if done.returncode:
        raise CopseError(f"{title} failed: {(done.stderr + done.stdout).strip()[-300:]}", remedy)
    return done


def output_of(title: str, command: Sequence[str], environment: Mapping[str, str], timeout: float) -> str:
    """Returns what a program prints."""
    return completed(title, command, environment, timeout).stdout


def calls_served(title: str, command: Sequence[str], trace: str) -> Counter[str]:
    """Returns the calls of a traced run that helpers made. If they made none, figures of the run would say nothing about them."""
    if served := served_calls(trace):
        return served
    why = "; ".join(re.findall(r"^copse: helpers: (.+)$", trace, re.MULTILINE)) or "the trace says nothing about helpers"
    raise CopseError(f"{title}: helpers made none of its calls ({why})", f"try: {shlex.join(map(str, command))}")


def require_served(title: str, command: Sequence[str], environment: Mapping[str, str], timeout: float) -> Counter[str]:
    """Runs an MPI program that is traced, and returns its calls that helpers made. It is an error if there are none."""
    return calls_served(title, command, completed(title, command, environment, timeout).stderr)


def unpinned_output(side: Side, ranks: int, program: Sequence[object], timeout: float, **ours: str) -> str:
    """Runs a program on ranks that are bound to no processor. `ours` are variables for Copse, if the side has it."""
    variables = {"LD_PRELOAD": preloaded, **ours} if (preloaded := side.preloaded()) else {}
    command = side.flavour.command(ranks, list(map(str, program)), crowded=True, variables=variables)
    return output_of(side.name, command, side.flavour.environment(), timeout)


def chosen_cells(mpis: Sequence[str], ranks: str, numbers: str, what: str) -> Iterator[tuple[Flavour, int, int]]:
    """Yields each MPI with each number of ranks and each number of `what`, from words with commas."""
    for flavour in map(find, mpis):
        for count in chosen_numbers(ranks, "number of ranks", 1):
            for number in chosen_numbers(numbers, f"number of {what}", 1):
                yield flavour, count, number


def parsed(parser: argparse.ArgumentParser, document: Path, marks: str, **instead: str) -> argparse.Namespace:
    """Returns a script's options, with `document` and `marks`: whether the table goes into the document, and between which marks.

    `instead` names other marks, each by the option with which the script makes another table. A part of a long table can go between marks of
    its own (--marks). A document without the marks is refused before anything is measured.
    """
    parser.add_argument("--document", action="store_true", help=f"write the table into {document.name}")
    parser.add_argument("--marks", metavar="NAME", help=f"the document's marks between which it goes, if they are not {' or '.join([marks, *instead.values()])}")
    options = parser.parse_args()
    if options.marks is None:
        options.marks = next((other for option, other in instead.items() if getattr(options, option)), marks)
    if options.document:
        readme.marks(document, options.marks)
    return options


def origin(command: str) -> str:
    """Returns how, when and where a document's table was made, and of which commit."""
    return f"Written by `{command}` on {time.strftime('%Y-%m-%d')}: {processor_name()}, {len(os.sched_getaffinity(0))} processors{commit()}."


def line_of(cells: Sequence[str]) -> str:
    """Returns a line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


class GrowingTable:
    """A table in Markdown, which is printed as it grows."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.lines: list[str] = []
        self.put(columns)
        self.put(["---"] * len(columns))

    def put(self, cells: Sequence[str]) -> None:
        self.lines.append(line_of(cells))
        print(self.lines[-1], flush=True)

    def write(self, document: Path, name: str, about: Sequence[str] = ()) -> None:
        """Puts the table between the document's marks of that name, below a line that says how, when and where it was made."""
        written = origin(shlex.join([str(Path(sys.argv[0]).resolve().relative_to(paths.ROOT)), *sys.argv[1:]]))
        readme.write(document, "\n".join([written, "", *about, *([""] if about else []), *self.lines]), name)
