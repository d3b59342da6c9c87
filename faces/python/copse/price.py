"""`copse price ...`: what a call would cost on a machine, by every algorithm. The native helper does the work.

With --plot, it draws who wins where: for each recorded machine, the cheapest algorithm by size.
"""

from pathlib import Path

import typer

from . import files, native, plots
from .bench_report import size_text
from .errors import CopseError

PLOT = "--plot"
LETTERS = {"line": "", "slot": "s", "get": "g", "put": "p"}  # of carriers, in the cells of the picture


def price_command(context: typer.Context) -> None:
    """Price every algorithm that could run a call on a machine, and show where the time goes. Arguments are passed to copse-native price.

    --plot FILE.png [COLLECTIVE...] draws who wins where on all recorded machines instead.
    """
    arguments = [*context.args]
    if PLOT not in arguments:
        native.become("price", *arguments)
    at = arguments.index(PLOT)
    if at + 1 == len(arguments) or not arguments[at + 1].lower().endswith(".png"):
        raise CopseError(f"{PLOT} needs the name of a picture", f"use e.g. {PLOT} winners.png")
    if not plots.can_draw():
        raise CopseError(plots.WITHOUT, plots.REMEDY)
    file = Path(arguments[at + 1])
    results = native.query("price", "--winners", *arguments[:at], *arguments[at + 2 :])
    with files.replaced(file) as new:
        draw(results, new)
    print(f"{file}: who wins where, for {len(results)} machines and collectives")


def draw(results: list[dict], file: Path) -> None:
    """Draws a panel for each collective: a line for each machine, a column for each size, a colour for each algorithm."""
    pyplot = plots.pyplot()
    collectives = list(dict.fromkeys(result["collective"] for result in results))
    across = min(2, len(collectives))
    down = -(-len(collectives) // across)
    machines = len({result["machine"] for result in results})
    figure, axes = pyplot.subplots(down, across, figsize=(10.5 * across, (2.0 + 0.42 * machines) * down), squeeze=False, layout="constrained")
    for axis in axes.flat[len(collectives) :]:
        axis.set_axis_off()
    for axis, collective in zip(axes.flat, collectives, strict=False):
        draw_panel(axis, [result for result in results if result["collective"] == collective])
    figure.suptitle("Who wins where, by the price (copse price). Letters: the carrier, s slot, g get, p put; none: in a line", fontsize=13)
    figure.savefig(file, dpi=110, format="png")
    pyplot.close(figure)


def colours_of(results: list[dict]) -> dict[str, tuple]:
    """Returns a colour for each winner, the most frequent ones first. Neighbours in the list differ clearly."""
    from matplotlib import colormaps

    wins: dict[str, int] = {}
    for result in results:
        for winner in result["winners"]:
            wins[winner["algorithm"]] = wins.get(winner["algorithm"], 0) + 1
    palette = colormaps["tab20"].colors
    shades = [*palette[0::2], *palette[1::2]]
    return {name: shades[i % len(shades)] for i, name in enumerate(sorted(wins, key=wins.get, reverse=True))}


def draw_panel(axis, results: list[dict]) -> None:
    from matplotlib.patches import Patch

    colours = colours_of(results)
    axis.imshow([[colours[winner["algorithm"]] for winner in result["winners"]] for result in results], aspect="auto")
    for row, result in enumerate(results):
        for column, winner in enumerate(result["winners"]):
            axis.text(column, row, LETTERS[winner["carrier"]], ha="center", va="center", fontsize=8)
    sizes = [winner["bytes"] for winner in results[0]["winners"]]
    axis.set_xticks(range(len(sizes)), [size_text(size).replace("iB", "") for size in sizes], rotation=60, fontsize=8)
    axis.set_yticks(range(len(results)), [f"{result['machine']}, {result['ranks']}" for result in results], fontsize=9)
    axis.set_xticks([i - 0.5 for i in range(len(sizes) + 1)], minor=True)
    axis.set_yticks([i - 0.5 for i in range(len(results) + 1)], minor=True)
    axis.grid(which="minor", color="white", linewidth=1)
    axis.tick_params(which="minor", length=0)
    blocks = " (each block)" if results[0]["blocks"] else ""
    axis.set_title(f"{results[0]['collective']}, bytes{blocks}; machine, ranks", loc="left", fontsize=11)
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    axis.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.02), fontsize=8, frameon=False)
