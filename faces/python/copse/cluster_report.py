"""What `copse bench --cluster` says of its samples: tables in Markdown, for the terminal and for docs/cluster.md.

The peer of a cell (setting, call, size, mode) is the fastest bare MPI, with its own hierarchical settings or without. Copse's figure is that
of the MPI under which it is fastest, as in the README. Both count by the minimum of the batches, unless it says "median".
"""

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .bench_report import SLOWER, Row, Sample, size_text, summarise, time_text
from .errors import CopseError
from .tables import line_of

MOST_DELAY = 1_000_000  # us


@dataclass(frozen=True)
class Link:
    rate: int  # Mbit/s that a node may send; 0 is no limit
    delay: int  # us that a message takes longer

    @property
    def name(self) -> str:
        rate = f"{self.rate / 1000:g} Gbit/s" if self.rate else "no limit"
        return rate + (f" and {self.delay} us" if self.delay else "")


@dataclass(frozen=True)
class Setting:
    """Where the same calls are made: emulated nodes, their ranks, and the links between them."""

    nodes: int
    ranks_of_node: int
    link: Link

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_of_node

    @property
    def shape(self) -> str:
        return f"{self.nodes} nodes of {self.ranks_of_node}"

    @property
    def name(self) -> str:
        return f"{self.shape}, {self.link.name}"


def links_of(text: str) -> list[Link]:
    links = []
    for word in text.split(","):
        found = re.fullmatch(r"(\d+)(?::(\d+))?", word)
        link = Link(int(found[1]), int(found[2] or 0)) if found else None
        if link is None or link.delay > MOST_DELAY:
            raise CopseError(f"{word!r} is not a link", "use e.g. 1000,10000:50,0: Mbit/s, and up to a second in microseconds after a colon")
        links.append(link)
    return list(dict.fromkeys(links))


def shapes_of(text: str) -> list[tuple[int, int]]:
    """Returns numbers of nodes, and of the ranks of each."""
    shapes = []
    for word in text.split(","):
        found = re.fullmatch(r"(\d+)x(\d+)", word)
        if not found or int(found[1]) < 2 or int(found[2]) < 1:
            raise CopseError(f"{word!r} is not a shape", "use e.g. 4x2,2x4: two nodes or more, and the ranks of each")
        shapes.append((int(found[1]), int(found[2])))
    return list(dict.fromkeys(shapes))


def settings_of(links: str, shapes: str) -> list[Setting]:
    return [Setting(*shape, link) for shape in shapes_of(shapes) for link in links_of(links)]


@dataclass(frozen=True)
class Batch:
    """One batch of a side's calls. The program of its sample is the setting."""

    setting: Setting
    sample: Sample
    wire: float  # bytes that all nodes send for a call
    most: float  # bytes of the node that sends most


@dataclass(frozen=True)
class Cell:
    setting: str
    call: str
    bytes: int
    mode: str
    peer: str
    peer_us: float
    ours: str
    our_us: float
    median_ratio: float

    @property
    def ratio(self) -> float:
        return self.peer_us / self.our_us

    @property
    def name(self) -> str:
        return f"{self.call} {size_text(self.bytes)}".strip()


def rows_of(batches: Iterable[Batch], sides: list) -> list[Row]:
    """Returns what each side takes in each cell."""
    return summarise([batch.sample for batch in batches], sides)


def cells_of(rows: Iterable[Row]) -> list[Cell]:
    """Returns the cells in which a bare MPI and Copse have figures."""
    together: dict[tuple, list[Row]] = {}
    for row in rows:
        together.setdefault((row.program, *row.cell), []).append(row)
    cells = []
    for place, found in together.items():
        ours = [row for row in found if row.ratio_min is not None]
        if ours:
            peer, best = min((row for row in found if row.peer), key=lambda row: row.min_us), min(ours, key=lambda row: row.min_us)
            cells.append(Cell(*place, peer.side, peer.min_us, best.side, best.min_us, max(row.ratio_median for row in ours)))
    return cells


def mean(ratios: Iterable[float]) -> str:
    return f"{statistics.geometric_mean(ratios):.2f}"


def table_of(head: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Returns a table in Markdown, whose columns are numbers from column `left` on."""
    return [line_of(head), line_of(["---"] * left + ["---:"] * (len(head) - left)), *map(line_of, lines)]


def summary(cells: list[Cell], trips: dict[str, float]) -> list[str]:
    """Returns a line for each setting, and one for all. `trips` has the microseconds of a byte there and back."""

    def line(name: str, among: list[Cell], trip: str) -> list[str]:
        worst = min(among, key=lambda cell: cell.ratio)
        slower = sum(cell.ratio < SLOWER for cell in among)
        ratios = [mean(cell.ratio for cell in among), mean(cell.median_ratio for cell in among)]
        return [name, str(len(among)), *ratios, str(slower), f"{worst.ratio:.2f} ({worst.name})", trip]

    settings = dict.fromkeys(cell.setting for cell in cells)
    lines = [line(name, [c for c in cells if c.setting == name], f"{trips[name]:.0f} us" if name in trips else "-") for name in settings]
    head = ["nodes and links", "cells", "geometric mean", "of medians", f"below {SLOWER}", "worst", "a byte there and back"]
    return table_of(head, [*lines, line("all", cells, "")] if len(lines) > 1 else lines)


def by_operation(cells: list[Cell]) -> list[str]:
    """Returns the mean and the worst of each operation in each setting."""
    settings, calls = (list(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("setting", "call"))

    def text(call: str, setting: str) -> str:
        among = [cell.ratio for cell in cells if (cell.call, cell.setting) == (call, setting)]
        return f"{mean(among)}, {min(among):.2f}" if among else "-"

    return table_of(["geometric mean, worst", *settings], [[call, *(text(call, setting) for setting in settings)] for call in calls])


def slower_cells(cells: list[Cell]) -> list[str]:
    slow = sorted((cell for cell in cells if cell.ratio < SLOWER), key=lambda cell: cell.ratio)
    head = ["nodes and links", "operation", "size", "mode", "fastest bare MPI, us", "Copse, us", "ratio"]
    lines = [[c.setting, c.call, size_text(c.bytes), c.mode if c.bytes else "", f"{time_text(c.peer_us)} ({c.peer})", f"{time_text(c.our_us)} ({c.ours})",
              f"{c.ratio:.2f}"] for c in slow]  # fmt: skip
    return table_of(head, lines, left=4) if slow else [f"No cell is below {SLOWER}."]


def wires(batches: list[Batch], cells: list[Cell]) -> list[str]:
    """Returns what a call of the largest size sends over the links, for each shape on its first link: under Copse, and under the bare MPI
    that is fastest there. If there are several modes, the first one counts."""
    settings: dict[str, Setting] = {}
    for batch in batches:
        settings.setdefault(batch.setting.shape, batch.setting)
    largest, mode = max(cell.bytes for cell in cells), cells[0].mode
    sent: dict[tuple, list[Batch]] = {}
    for batch in batches:
        s = batch.sample
        sent.setdefault((s.program, s.call, s.bytes, s.mode, s.side), []).append(batch)

    def text(cell: Cell, side: str) -> str:
        of_side = sent[cell.setting, cell.call, cell.bytes, mode, side]
        return ", ".join(f"{statistics.median(getattr(batch, name) for batch in of_side) / (1 << 20):.1f}" for name in ("wire", "most"))

    lines = []
    for setting in settings.values():
        for cell in (cell for cell in cells if (cell.setting, cell.bytes, cell.mode) == (setting.name, largest, mode)):
            lines.append([setting.name, cell.call, text(cell, cell.ours), text(cell, cell.peer)])
    return table_of(["nodes and links", f"{size_text(largest)} each".strip(), "Copse, MiB", "fastest bare MPI, MiB"], lines, left=2)


def shares(cells: list[Cell], settings: Iterable[Setting]) -> list[str]:
    """Returns how long the largest broadcast takes, measured by what its bytes take on one link. Nothing for links without a limit."""
    rates = {setting.name: setting.link.rate for setting in settings if setting.link.rate}
    largest = max(cell.bytes for cell in cells)
    lines = []
    for cell in cells:
        if cell.call == "bcast" and cell.bytes == largest and cell.setting in rates:
            link_us = cell.bytes * 8 / rates[cell.setting]
            lines.append([cell.setting, f"{link_us / 1000:.1f} ms", f"{cell.our_us / link_us:.2f}", f"{cell.peer_us / link_us:.2f}"])
    return table_of([f"a broadcast of {size_text(largest)}", "on the link", "Copse", "fastest bare MPI"], lines) if lines else []


def text_of(batches: list[Batch], sides: list, trips: dict[str, float], left_out: Iterable[str] = ()) -> str:
    """Returns all tables. `left_out`: launches that failed again and again."""
    rows = rows_of(batches, sides)
    settings = list(dict.fromkeys(batch.setting for batch in batches))
    order = {setting.name: place for place, setting in enumerate(settings)}
    cells = sorted(cells_of(rows), key=lambda cell: order[cell.setting])
    if not cells:
        return "No cell has figures of a bare MPI and of Copse."
    names = dict.fromkeys(row.side for row in rows if row.ratio_min is not None)
    means = ", ".join(f"{name} {mean(row.ratio_min for row in rows if row.side == name and row.ratio_min is not None)}" for name in names)
    lines = ["How many times faster than the fastest bare MPI Copse is:", "", *summary(cells, trips), ""]
    lines += [f"Copse under each MPI, beside the same bare ones: {means}.", "", *by_operation(cells)]
    if share := shares(cells, settings):
        lines += ["", "Times of what the link alone takes:", "", *share]
    lines += ["", "What the nodes send for a call: all of them, and the one that sends most.", "", *wires(batches, cells)]
    lines += ["", f"<details><summary>Every cell below {SLOWER}</summary>", "", *slower_cells(cells), "", "</details>"]
    if missing := list(left_out):
        lines += ["", f"These launches failed again and again, so their MPI has no figures from them: {'; '.join(missing)}."]
    return "\n".join(lines)
