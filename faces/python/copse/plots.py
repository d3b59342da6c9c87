"""Where plots are drawn: matplotlib, which an installed Copse does not bring along, because it is large and seldom needed."""

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import files

WITHOUT = f"{sys.executable} has no matplotlib, which draws the plots"
REMEDY = "install it for that Python (on Debian: apt install python3-matplotlib)"


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def pyplot() -> Any:
    """Returns matplotlib.pyplot, which here draws into files and needs no screen. Only if can_draw()."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


@dataclass(frozen=True)
class BySize:
    """A picture of something by the size of a message, with a line for each label."""

    title: str
    unit: str
    lines: dict[str, Sequence[tuple[float, float]]]  # (bytes, value)


def draw_by_size(rows: Sequence[Sequence[BySize]], file: Path) -> None:
    """Draws the pictures in rows, with logarithmic axes."""
    drawer = pyplot()
    across = max(map(len, rows))
    figure, axes = drawer.subplots(len(rows), across, figsize=(6 * across, 3.5 * len(rows)), squeeze=False)
    for row, pictures in zip(axes, rows, strict=True):
        for axis, picture in zip(row, pictures):  # noqa: B905 (a row may have fewer pictures than another)
            for label, points in picture.lines.items():
                if points:
                    axis.plot(*zip(*sorted(points), strict=True), marker="o", label=label)
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            axis.set_title(picture.title)
            axis.set_xlabel("bytes")
            axis.set_ylabel(picture.unit)
            axis.legend()
        for axis in row[len(pictures) :]:
            axis.set_axis_off()
    figure.tight_layout()
    with files.replaced(file) as new:
        figure.savefig(new)
    drawer.close(figure)
