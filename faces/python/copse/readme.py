"""Writes the README's table of comparisons, and the cells behind it, for `copse bench --readme`. No figure is typed by hand."""

import json
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from . import files, paths, quiet
from .bench_report import SLOWER, commit, size_text, time_text
from .errors import CopseError

CELLS = "docs/measurements.md"  # beside the README
TITLES = {1: "Copse", 2: "Copse with the shared heap"}  # by the number of preloaded libraries
TUNED_GOAL = 0.97  # no cell is to be slower than this by a tuning table, and none slower than SLOWER after learning

Kind = tuple[int, str]  # the number of preloaded libraries, and what chooses (bench.Choice)


def _cell(us: float, best: float) -> str:
    return f"{time_text(us)} ({best / us:.2f})"


def _mode(cell: tuple) -> str:
    _, size, mode = cell
    return f"{size_text(size)} {mode}" if size else ""


@dataclass
class Compared:
    """The results for one number of ranks.

    For each cell there are the row of the fastest bare MPI, and Copse's fastest times by kind of side.
    """

    ranks: int
    best: dict[tuple, object] = field(default_factory=dict)
    ours: dict[tuple, dict[Kind, float]] = field(default_factory=dict)

    def ratios(self, kind: Kind) -> dict[tuple, float]:
        """Returns how many times faster Copse is, by cell."""
        return {c: self.best[c].min_us / t[kind] for c, t in self.ours.items() if c in self.best and kind in t}


def _kinds(rows: list) -> dict[Kind, str]:
    """Returns a title for each kind of side: for each choice without and with the shared heap."""
    choices = dict.fromkeys(r.side.partition(" ")[2] for r in rows if not r.peer)
    return {(plus, choice): title + (f", {choice}" if choice else "") for choice in choices or [""] for plus, title in TITLES.items()}


def _limits(kinds: dict[Kind, str]) -> list[float]:
    return [SLOWER, TUNED_GOAL] if any(choice for _, choice in kinds) else [SLOWER]


def _compared(rows: list) -> list[Compared]:
    result = {r.ranks: Compared(r.ranks) for r in rows}
    for r in rows:
        at = result[r.ranks]
        if r.peer:
            at.best[r.cell] = min(at.best.get(r.cell, r), r, key=lambda row: row.min_us)
        else:
            times = at.ours.setdefault(r.cell, {})
            kind = r.side.count("+"), r.side.partition(" ")[2]
            times[kind] = min(times.get(kind, r.min_us), r.min_us)
    return [*result.values()]


def about_table(table: Path) -> str:
    """Returns a sentence about how a tuning table was made, or an empty text if the table does not say."""
    made = json.loads(table.read_text()).get("made", {})
    if not {"by", "on", "mpi"} <= made.keys():
        return ""
    took = f" in {made['seconds']} s" if "seconds" in made else ""
    return f" The table for {made['mpi']} was made by `{made['by']}` on {made['on']}{took}."


def _choices(result: dict) -> str:
    """Returns what the kinds of sides are, if several were compared."""
    tables, learning = result.get("tables"), result.get("learning")
    texts = []
    if tables or learning:
        texts.append(" *Untuned*: by the built-in rules, without learning.")
    if learning:
        texts.append(f" *Learning*: as untuned, after each cell has learned for three quarters of {learning:g} s (goal: no cell below {SLOWER}).")
    if tables:
        texts.append(f" *Tuned*: by a table of `copse tune`, without learning (goal: no cell below {TUNED_GOAL}).")
    return "".join([*texts, *(about_table(Path(table)) for table in tables or [])])


def _origin(result: dict, command: str, docs: str) -> str:
    mpis = ", ".join(result["mpi"].values())
    flags = [s["flag_ns"] for s in result["samples"] if s["flag_ns"]]
    state = (
        f" A flag took {statistics.median(flags):.0f} ns from core to core and back. That depends on where the host places the "
        "processors, and short calls take longer with it."
        if flags
        else ""
    )
    if (others := max(s["others"] for s in result["samples"])) > quiet.LIMIT:
        state += f" The machine was busy: others had up to {others:.0%} of its processors."
    return (
        f"Written by `{command}` on {result['time'][:10]}: {result['machine']['processor']}, "
        f"{result['machine']['usable_cores']} cores, Linux {result['machine']['kernel']}{commit()}; {mpis}. Each figure is the time "
        "of the fastest bare MPI, divided by that of the fastest of the same MPIs with Copse. Above 1, Copse is faster. The bare MPIs "
        "have their own best settings (pinned; yielding where ranks outnumber processors). Times are the least of the batches, and "
        "means are geometric, over the sizes and modes. Copse makes every call from the first one on (`COPSE_JOIN=1`); what its later start by default costs is in "
        f"[communicators]({docs}communicators.md). `warm`: the same buffers in every call; `cold`: always other ones.{state}{_choices(result)}"
    )


def glance(rows: list, result: dict, command: str) -> str:
    """Returns the README's table: a line for each number of ranks, with and without the shared heap."""
    kinds = _kinds(rows)
    limits = _limits(kinds)
    slower = " | ".join(f"slower than {limit}" for limit in limits)
    lines = [_origin(result, command, "docs/"), "", f"| ranks | | geometric mean | cells | {slower} | worst |"]
    lines.append(f"| ---: | --- | ---: | ---: | {' | '.join('---:' for _ in limits)} | --- |")
    for at in _compared(rows):
        for kind, title in kinds.items():
            if ratios := at.ratios(kind):
                worst = min(ratios, key=ratios.get)
                below = " | ".join(str(sum(v < limit for v in ratios.values())) for limit in limits)
                lines.append(
                    f"| {at.ranks} | {title} | {statistics.geometric_mean([*ratios.values()]):.2f} | {len(ratios)} | "
                    f"{below} | {ratios[worst]:.2f} ({f'{worst[0]} {_mode(worst)}'.strip()}) |"
                )
    return "\n".join([*lines, "", f"Every operation, and every cell: [{CELLS}]({CELLS})."])


def section(rows: list, result: dict, command: str) -> str:
    """Returns, for each number of ranks, a line for each operation and a folded table of cells.

    A cell has the fastest bare MPI, and the fastest of the same MPIs with Copse.
    """
    kinds = _kinds(rows)
    lines = [_origin(result, command, "")]
    for at in _compared(rows):
        lines += ["", f"**{at.ranks} ranks**", "", *_operations(at, kinds), "", *_means(at, kinds), ""]
        lines += [f"<details><summary>Every cell of {at.ranks} ranks, in us a call; in brackets how many times faster</summary>"]
        lines += ["", *_cells(at, kinds), "", "</details>"]
    return "\n".join(lines)


def _operations(at: Compared, kinds: dict[Kind, str]) -> list[str]:
    """Returns a table with a line for each operation."""
    ratios = [at.ratios(kind) for kind in kinds]
    lines = [f"| operation | cells | {' | '.join(kinds.values())} |", f"| --- | ---: | {' | '.join('---' for _ in kinds)} |"]
    for call in dict.fromkeys(cell[0] for cell in at.best):
        texts = []
        for of_cells in ratios:
            own = {cell: ratio for cell, ratio in of_cells.items() if cell[0] == call}
            worst = min(own, key=own.get, default=None)
            where = f" ({_mode(worst)})" if worst and worst[1] else ""
            texts.append(f"{statistics.geometric_mean([*own.values()]):.2f}, worst {own[worst]:.2f}{where}" if own else "-")
        lines.append(f"| {call} | {sum(cell[0] == call for cell in at.best)} | {' | '.join(texts)} |")
    return lines


def _means(at: Compared, kinds: dict[Kind, str]) -> list[str]:
    """Returns a line for each kind of side about all its cells."""
    lines = []
    for kind, title in kinds.items():
        if values := [*at.ratios(kind).values()]:
            slower = ", ".join(f"{sum(v < limit for v in values)} of them slower than {limit}" for limit in _limits(kinds))
            lines.append(f"- {title}: geometric mean {statistics.geometric_mean(values):.2f} over {len(values)} cells; {slower}, the worst {min(values):.2f}.")
    return lines


def _cells(at: Compared, kinds: dict[Kind, str]) -> list[str]:
    """Returns a table with a line for each cell."""
    titles = " | ".join(title.replace(" with the", ",") for title in kinds.values())
    lines = [f"| operation | size | mode | fastest bare MPI | {titles} |", f"| --- | ---: | --- | ---: | {' | '.join('---:' for _ in kinds)} |"]
    for cell, bare in at.best.items():
        call, size, mode = cell
        texts = [_cell(at.ours[cell][kind], bare.min_us) if kind in at.ours.get(cell, {}) else "-" for kind in kinds]
        lines.append(f"| {call} | {size_text(size)} | {mode if size else ''} | {time_text(bare.min_us)} {bare.side} | {' | '.join(texts)} |")
    return lines


def command_line(document: Path) -> str:
    """Returns this process's `copse` command, which names the document as in a checkout and not by a path of this machine."""
    place = document.resolve()
    shown = str(place.relative_to(paths.ROOT)) if place.is_relative_to(paths.ROOT) else document.name
    return " ".join(["build/bin/copse", *(shown if word == str(document) else word for word in sys.argv[1:])])


def marks(document: Path, name: str) -> tuple[str, str]:
    """Returns the document's two marks of that name. Raises CopseError if it lacks one."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    text = document.read_text()
    if begin not in text or end not in text:
        raise CopseError(f"{document} has no place for the table", f"put back the lines {begin} and {end}")
    return begin, end


def write(document: Path, text: str, name: str = "peers") -> None:
    """Puts the text between the document's two marks of that name."""
    begin, end = marks(document, name)
    files.write(document, re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{text}\n{end}", document.read_text(), flags=re.DOTALL))
