"""Tells whether a machine is quiet enough to measure on: how much of the processors' time goes to other programs, or to the other
machines of a virtual machine's host."""

import os
import re
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

LIMIT = 0.05  # a larger share of the processors' time for others disturbs what is measured
GLANCE = 1.0  # seconds
Result = TypeVar("Result")
TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Times:
    """Times in seconds since some moment. `others` is the processor time of others, on the processors that this process may use."""

    clock: float
    others: float
    processors: int

    @classmethod
    def now(cls) -> "Times":
        """Returns the times now. A program that this process has started counts as its own once it has ended, and as another until then."""
        usable = os.sched_getaffinity(0)
        ticks = 0
        for line in Path("/proc/stat").read_text().splitlines():
            if (found := re.match(r"cpu(\d+) ", line)) and int(found[1]) in usable:
                user, nice, system, _idle, _waiting, interrupts, soft, *stolen = map(int, line.split()[1:9])
                ticks += user + nice + system + interrupts + soft + sum(stolen)
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.monotonic(), ticks * TICK - sum(own.ru_utime + own.ru_stime for own in used), len(usable))

    def share_of_others_since(self, earlier: "Times") -> float:
        """Returns the part of the processors' time that others took, from 0 to 1."""
        whole = (self.clock - earlier.clock) * self.processors
        return min(1.0, max(0.0, (self.others - earlier.others) / whole)) if whole > 0 else 0.0


class Patience:
    """Waits for a quiet machine, for `seconds` in all. A machine is quiet while others take no more than `limit` of its processors."""

    def __init__(self, seconds: float, say: Callable[[str], None], limit: float = LIMIT, now: Callable[[], Times] = Times.now):
        self.left = seconds
        self.say = say
        self.limit = limit
        self.now = now

    @property
    def takes_all(self) -> bool:
        """Whether every measurement counts, however busy the machine was."""
        return self.limit >= 1

    def wait(self) -> bool:
        """Returns True once a glance finds the machine quiet, or False when there is no patience left."""
        told = False
        while self.left > 0:
            before = self.now()
            time.sleep(min(GLANCE, self.left))
            after = self.now()
            self.left -= after.clock - before.clock
            others = after.share_of_others_since(before)
            if others <= self.limit:
                return True
            if not told:
                self.say(f"[yellow]this machine is busy: others take {others:.0%} of its processors; waiting, for {self.left:.0f} s at most[/]")
                told = True
        return False

    def undisturbed(self, run: Callable[[], Result]) -> tuple[Result, float]:
        """Calls `run`. While others disturb it and there is patience left, waits for a quiet machine and calls it again.

        Returns the result of the call that was disturbed least, and the others' share of the processors during it. Says so if that call
        was disturbed, too.
        """
        calmest: tuple[Result, float] | None = None
        while True:
            before = self.now()
            result = run()
            after = self.now()
            others = after.share_of_others_since(before)
            if calmest is None or others < calmest[1]:
                calmest = result, others
            if calmest[1] <= self.limit:
                return calmest
            self.left -= after.clock - before.clock
            if not self.wait():
                self.say(f"[yellow]measured while others took {calmest[1]:.0%} of the processors[/]")
                return calmest
