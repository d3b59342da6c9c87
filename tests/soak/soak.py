#!/usr/bin/env python3
"""Groups of ranks join, compute and leave. Meanwhile others kill, stop and starve them, and occupy their names and ids.

    build/venv/bin/python tests/soak/soak.py --minutes 60                        # ends with a table of what was tried
    build/venv/bin/python tests/soak/soak.py --minutes 0                         # one group of every kind
    build/venv/bin/python tests/soak/soak.py --minutes 0 --only killed --seed 7  # the group `killed, number 7` of any run

At first every kind of group has one turn. After that the kinds are drawn. A defect is an end that the kind does not explain, a
rank that still runs long after its timeout, or something that is left: a process of a group that has ended, memory of Copse in a
process that is not of its group, a socket. The exit code is 1 if there was a defect.
"""

import argparse
import itertools
import json
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import leftovers
import mpi_groups
import ranks
import strangers
from groups import ROOT, Group, Workshop

from copse.tables import GrowingTable

DOCUMENT = ROOT / "docs" / "soak.md"
LOOK_SECONDS = 0.5
KINDS = {kind.__name__: (ranks.Ranks, kind) for kind in ranks.KINDS}
KINDS |= {kind.__name__: (mpi_groups.Program, kind) for kind in mpi_groups.KINDS}
FOR_ITS_TEST = {"planted": (ranks.Ranks, ranks.planted)}
ENDS = ("right", "served", "lost", "killed", "not met", "starved")  # the first columns of the table


def left_out(shop: Workshop) -> dict[str, str]:
    """Returns the kinds that this machine cannot have, with the reason."""
    result = {}
    if not shop.mpis:
        result |= {kind.__name__: "no MPI is installed (make setup)" for kind in mpi_groups.KINDS}
    if not strangers.may_choose_ids():
        result[ranks.reused.__name__] = "only root may choose process ids"
    return result


@dataclass(frozen=True)
class Defect:
    kind: str
    number: int
    text: str


@dataclass
class Soak:
    shop: Workshop
    watch: leftovers.Watch
    kinds: list[str]
    seed: int
    until: float
    over: bool = False
    turns: itertools.count = field(default_factory=itertools.count)
    groups: Counter = field(default_factory=Counter)  # by kind
    ends: Counter = field(default_factory=Counter)  # of ranks, by kind and end
    defects: list[Defect] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, at_a_time: int) -> None:
        with ThreadPoolExecutor(at_a_time) as pool:
            workers = [pool.submit(self._work) for _ in range(at_a_time)]
            try:
                while wait(workers, LOOK_SECONDS).not_done:
                    self._look()
            finally:
                self.over = True  # for Ctrl-C
        while not self._look():
            time.sleep(LOOK_SECONDS)
        for worker in workers:
            worker.result()

    def _work(self) -> None:
        while True:
            with self.lock:
                turn = next(self.turns)
            if self.over or (turn >= len(self.kinds) and time.monotonic() > self.until):
                return
            number = self.seed + turn
            self._one(self.kinds[turn] if turn < len(self.kinds) else random.Random(f"kind {number}").choice(self.kinds), number)

    def _one(self, name: str, number: int) -> None:
        make, kind = (KINDS | FOR_ITS_TEST)[name]
        group: Group = make(name, number, self.shop)
        self.watch.living[group.mark] = group.started
        try:
            complaints = kind(group)
        except Exception:  # the other groups go on
            complaints = [traceback.format_exc()]
        finally:
            del self.watch.living[group.mark]
        if sockets := group.sockets():
            complaints.append(f"sockets left: {sockets}")
        with self.lock:
            self.groups[name] += 1
            self.ends.update((name, end.how) for end in group.ends)
        if complaints:
            self._note(Defect(name, number, "\n  ".join([str(group), *complaints, *group.notes])))

    def _look(self) -> bool:
        """Tells whether nothing is left, or everything that is left has been reported."""
        found = self.watch.look()
        for leftover in found:
            kind, number = leftover.mark.split("/")[-2:]
            self._note(Defect(kind, int(number), f"{kind}, number {number}: {leftover.text}"))
        return not found and self.watch.is_sure()

    def _note(self, defect: Defect) -> None:
        with self.lock:
            self.defects.append(defect)
            print(f"DEFECT: {defect.text}", flush=True)

    def table(self) -> GrowingTable:
        hows = {how for _, how in self.ends}
        columns = [*(how for how in ENDS if how in hows), *sorted(hows.difference(ENDS))]
        defects = Counter(defect.kind for defect in self.defects)
        table = GrowingTable(["", "groups", *columns, "defects"])
        for kind in [*self.kinds, *(kind for kind in defects if kind not in self.kinds)]:
            table.put([kind, str(self.groups[kind]), *(str(self.ends[kind, how] or "") for how in columns), str(defects[kind])])
        return table

    def as_json(self) -> dict:
        kinds = {}
        for kind in self.kinds:
            ends = {how: count for (of, how), count in self.ends.items() if of == kind}
            kinds[kind] = {"groups": self.groups[kind], "ends": ends}
        return {"seed": self.seed, "kinds": kinds, "defects": [vars(defect) for defect in self.defects]}


def shared_kibibytes() -> int:
    return next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("Shmem:"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1, help="every kind has one turn even if this is too short")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the number of the first group; the others count on")
    parser.add_argument("--groups", type=int, default=3, help="groups at a time")
    parser.add_argument("--only", choices=[*KINDS, *FOR_ITS_TEST], metavar="KIND", help=f"one kind of {', '.join(KINDS)}")
    parser.add_argument("--patience", type=float, default=20, help="seconds that the processes of a group may go on after its end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the counts and the defects there, too")
    parser.add_argument("--document", action="store_true", help=f"writes the table into {DOCUMENT.name}, too")
    return parser.parse_args()


def main() -> int:
    options, before, begin = arguments(), shared_kibibytes(), time.monotonic()
    leftovers.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="soak", ignore_cleanup_errors=True) as folder:
        shop = Workshop(Path(folder), run=Path(folder).name)
        missing = left_out(shop)
        if options.only in missing:
            sys.exit(f"{options.only} is left out: {missing[options.only]}")
        kinds = [options.only] if options.only else [kind for kind in KINDS if kind not in missing]
        soak = Soak(shop, leftovers.Watch(options.patience, shop.run), kinds, options.seed, begin + 60 * options.minutes)
        soak.run(options.groups)
    table, about = soak.table(), [f"{kind} is left out: {reason}." for kind, reason in missing.items()]
    about.append(f"Shared memory of the machine: {shared_kibibytes() - before:+} KiB (of all programs, and of files that an MPI leaves).")
    about.append(f"{sum(soak.groups.values())} groups from number {options.seed} on, {(time.monotonic() - begin) / 60:.1f} minutes: "
                 f"{len(soak.defects)} defects.")  # fmt: skip
    print("\n".join(about))
    if options.document:
        table.write(DOCUMENT, "soak", about)
    if options.json:
        options.json.write_text(json.dumps({**soak.as_json(), "left_out": missing}, indent=2))
    return 1 if soak.defects else 0


if __name__ == "__main__":
    sys.exit(main())
