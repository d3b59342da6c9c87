"""The README's table against the peers, written by `copse bench --readme`: nobody types its figures."""

import math
import re
from pathlib import Path

from .errors import CopseError

BEGIN, END = "<!-- peers:begin -->", "<!-- peers:end -->"


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _cell(us: float, best: float) -> str:
    return f"{us:.3g} ({best / us:.2f})"


def section(rows: list, result: dict, command: str, size_text) -> str:
    """Per number of ranks a table of the fastest bare MPI, and the fastest of the same MPIs under Copse."""
    mpis = ", ".join(result["mpi"].values())
    lines = [
        f"Written by `{command}` on {result['time'][:10]}: {result['machine']['processor']}, "
        f"{result['machine']['usable_cores']} cores, Linux {result['machine']['kernel']}; {mpis}. Minimum of the batches, "
        "in us a call; in brackets how many times faster than the fastest bare MPI of that line, which has its own best "
        "settings (pinned; yielding where ranks outnumber cores). The Copse columns are the fastest of the same MPIs "
        "with Copse preloaded. `warm`: the same buffers in every call; `cold`: always other ones.",
    ]
    for ranks in dict.fromkeys(r.ranks for r in rows):
        lines += ["", f"**{ranks} ranks**", "", "| call | size | mode | fastest bare MPI | Copse | Copse, shared heap |"]
        lines += ["| --- | ---: | --- | ---: | ---: | ---: |"]
        ratios: dict[str, list[float]] = {"Copse": [], "Copse with the shared heap": []}
        for cell in dict.fromkeys(r.cell for r in rows if r.ranks == ranks):
            here = [r for r in rows if r.ranks == ranks and r.cell == cell]
            bare = min((r for r in here if r.peer), key=lambda r: r.min_us, default=None)
            if bare is None:
                continue
            texts = []
            for title, plus in zip(ratios, (1, 2), strict=True):
                ours = min((r.min_us for r in here if r.side.count("+") == plus), default=None)
                texts.append(_cell(ours, bare.min_us) if ours else "-")
                if ours:
                    ratios[title].append(bare.min_us / ours)
            call, size, mode = cell
            lines.append(
                f"| {call} | {size_text(size)} | {mode if size else ''} | {bare.min_us:.3g} {bare.side} | {texts[0]} | {texts[1]} |"
            )
        lines.append("")
        for title, values in ratios.items():
            if values:
                slower = sum(v < 0.95 for v in values)
                lines.append(
                    f"- {title}: geometric mean {_mean(values):.2f} over {len(values)} cells; "
                    f"{slower} of them slower than 0.95, the worst {min(values):.2f}."
                )
    return "\n".join(lines)


def write(readme: Path, text: str) -> None:
    old = readme.read_text()
    if BEGIN not in old or END not in old:
        raise CopseError(f"{readme} has no place for the table", f"put back the lines {BEGIN} and {END}")
    readme.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", old, flags=re.DOTALL))
