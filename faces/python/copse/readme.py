"""Writes the README's table of comparisons, and the cells behind it, for `copse bench --readme`. No figure is typed by hand."""

import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from . import files, paths, quiet
from .bench_report import size_text, time_text
from .errors import CopseError

CELLS = "docs/measurements.md"  # beside the README
TITLES = {1: "Copse", 2: "Copse with the shared heap"}  # by the number of preloaded libraries


def _cell(us: float, best: float) -> str:
    return f"{time_text(us)} ({best / us:.2f})"


def _mode(cell: tuple) -> str:
    _, size, mode = cell
    return f"{size_text(size)} {mode}" if size else ""


@dataclass
class Compared:
    """The results for one number of ranks.

    For each cell there are the row of the fastest bare MPI, and Copse's fastest times by the number of preloaded libraries.
    """

    ranks: int
    best: dict[tuple, object] = field(default_factory=dict)
    ours: dict[tuple, dict[int, float]] = field(default_factory=dict)

    def ratios(self, plus: int) -> dict[tuple, float]:
        """Returns how many times faster Copse is, by cell."""
        return {c: self.best[c].min_us / t[plus] for c, t in self.ours.items() if c in self.best and plus in t}


def _compared(rows: list) -> list[Compared]:
    result = {r.ranks: Compared(r.ranks) for r in rows}
    for r in rows:
        at = result[r.ranks]
        if r.peer:
            at.best[r.cell] = min(at.best.get(r.cell, r), r, key=lambda row: row.min_us)
        else:
            times = at.ours.setdefault(r.cell, {})
            times[r.side.count("+")] = min(times.get(r.side.count("+"), r.min_us), r.min_us)
    return [*result.values()]


def _origin(result: dict, command: str, docs: str) -> str:
    mpis = ", ".join(result["mpi"].values())
    flags = [s["flag_ns"] for s in result["samples"] if s["flag_ns"]]
    state = (
        f" A flag took {statistics.median(flags):.0f} ns from core to core and back (short where the host gives the "
        "processors a cache in common, several times as long where it does not, and calls with it)."
        if flags
        else ""
    )
    if (others := max(s["others"] for s in result["samples"])) > quiet.LIMIT:
        state += f" The machine was busy: others had up to {others:.0%} of its processors."
    return (
        f"Written by `{command}` on {result['time'][:10]}: {result['machine']['processor']}, "
        f"{result['machine']['usable_cores']} cores, Linux {result['machine']['kernel']}; {mpis}. How many times faster "
        "than the fastest bare MPI, which has its own best settings (pinned; yielding where ranks outnumber cores), is the "
        "fastest of the same MPIs with Copse preloaded: by the minimum of the batches, as geometric mean over the sizes "
        "and modes. Copse makes every call from the first one on (`COPSE_JOIN=1`); what its later start by default costs is in "
        f"[communicators]({docs}communicators.md). `warm`: the same buffers in every call; `cold`: always other ones.{state}"
    )


def glance(rows: list, result: dict, command: str) -> str:
    """Returns the README's table: a line for each number of ranks, with and without the shared heap."""
    lines = [_origin(result, command, "docs/"), "", "| ranks | | geometric mean | cells | slower than 0.95 | worst |"]
    lines.append("| ---: | --- | ---: | ---: | ---: | --- |")
    for at in _compared(rows):
        for plus, title in TITLES.items():
            if ratios := at.ratios(plus):
                worst = min(ratios, key=ratios.get)
                lines.append(
                    f"| {at.ranks} | {title} | {statistics.geometric_mean([*ratios.values()]):.2f} | {len(ratios)} | "
                    f"{sum(v < 0.95 for v in ratios.values())} | {ratios[worst]:.2f} ({f'{worst[0]} {_mode(worst)}'.strip()}) |"
                )
    return "\n".join([*lines, "", f"Every operation, and every cell: [{CELLS}]({CELLS})."])


def section(rows: list, result: dict, command: str) -> str:
    """Returns, for each number of ranks, a line for each operation and a folded table of cells.

    A cell has the fastest bare MPI, and the fastest of the same MPIs with Copse.
    """
    lines = [_origin(result, command, "")]
    for at in _compared(rows):
        ranks, best, ours = at.ranks, at.best, at.ours
        ratios = {plus: at.ratios(plus) for plus in TITLES}

        lines += ["", f"**{ranks} ranks**", "", f"| operation | cells | {TITLES[1]} | {TITLES[2]} |", "| --- | ---: | --- | --- |"]
        for call in dict.fromkeys(cell[0] for cell in best):
            texts = []
            for of_cells in ratios.values():
                own = {cell: ratio for cell, ratio in of_cells.items() if cell[0] == call}
                worst = min(own, key=own.get, default=None)
                where = f" ({_mode(worst)})" if worst and worst[1] else ""
                texts.append(f"{statistics.geometric_mean([*own.values()]):.2f}, worst {own[worst]:.2f}{where}" if own else "-")
            lines.append(f"| {call} | {sum(cell[0] == call for cell in best)} | {' | '.join(texts)} |")
        lines.append("")
        for plus, title in TITLES.items():
            if values := [*ratios[plus].values()]:
                lines.append(
                    f"- {title}: geometric mean {statistics.geometric_mean(values):.2f} over {len(values)} cells; "
                    f"{sum(v < 0.95 for v in values)} of them slower than 0.95, the worst {min(values):.2f}."
                )
        lines += ["", f"<details><summary>Every cell of {ranks} ranks, in us a call; in brackets how many times faster</summary>"]
        lines += ["", "| operation | size | mode | fastest bare MPI | Copse | Copse, shared heap |"]
        lines += ["| --- | ---: | --- | ---: | ---: | ---: |"]
        for cell, bare in best.items():
            call, size, mode = cell
            texts = [_cell(ours[cell][p], bare.min_us) if p in ours.get(cell, {}) else "-" for p in TITLES]
            lines.append(
                f"| {call} | {size_text(size)} | {mode if size else ''} | {time_text(bare.min_us)} {bare.side} | {' | '.join(texts)} |"
            )
        lines += ["", "</details>"]
    return "\n".join(lines)


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
