"""Groups of ranks of the C library: what is done to them, and what must hold then."""

import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import strangers
from groups import ROOT, End, Group, Workshop, stack_of

ENDS = {0: "right", 3: "lost", 4: "wrong", 5: "not met", 6: "starved", 7: "left something"}  # by the exit code of rank.c
GRACE_SECONDS = 60  # beyond the timeout: time to make calls on a machine that is busy with other groups
ENDLESS = 10**6  # rounds
SAYS_EVERY = 16  # a rank's process name says how many calls it has made, every so many calls (rank.c)
SURE = 16  # among so many calls one needs all ranks: each does with a probability of 5/7


class Ranks(Group):
    """One process for each rank. They join by name."""

    def __init__(self, kind: str, number: int, shop: Workshop):
        super().__init__(kind, number, shop)
        self.program, self.name, self.timeout = shop.rank(), f"soak-{os.getpid()}-{number}", 20.0
        self.processes: list[tuple[int, subprocess.Popen]] = []
        self.ranks = self.draw.choice([2, 2, 3, 3, 4, 5])
        self.calls = self.draw.choice([20, 100, 400, 1500])
        self.rounds = self.draw.choice([1, 2, 4])
        self.variables = dict(self.draw.choice([{}, {}, {"COPSE_CHECK": "1"}, {"COPSE_REACH": "staged"}, {"COPSE_REACH": "kernel"},
                                                {"COPSE_PROGRESS": "thread"}]))  # fmt: skip
        if self.draw.random() < 0.3:
            self.variables["LD_PRELOAD"] = str(ROOT / "build/lib/libcopse-heap.so")
        self.environment |= self.variables

    @property
    def address(self) -> str:
        """The abstract socket on which rank 0 listens in the first round."""
        return f"\0copse-{self.name}-0"

    def sockets(self) -> list[str]:
        return [line for line in Path("/proc/net/unix").read_text().splitlines() if f"copse-{self.name}-" in line]

    def start(self, rank: int) -> subprocess.Popen:
        command = [self.program, self.name, rank, self.ranks, self.number, self.rounds, self.calls, self.timeout]
        process = self.spawn(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.processes.append((rank, process))
        return process

    def start_all(self, without: int = -1) -> None:
        order = [rank for rank in range(self.ranks) if rank != without]
        self.draw.shuffle(order)
        for rank in order:
            self.pause(0, 0.02)
            self.start(rank)

    def victim(self) -> tuple[int, subprocess.Popen]:
        return self.draw.choice(self.processes)

    def wait(self) -> list[End]:
        """Waits for all ranks that have been started since the last time."""
        ends = [self._end_of(rank, process) for rank, process in self.processes]
        self.processes = []
        self.ends += ends
        return ends

    def expect(self, expected: dict[str, int]) -> list[str]:
        """Waits for all ranks. Complains if they did not end in these ways."""
        found = Counter(end.how for end in self.wait())
        return [] if found == Counter(expected) else [f"the ranks ended as {dict(found)}, expected {expected}"]

    def _end_of(self, rank: int, process: subprocess.Popen) -> End:
        done, came_on = "", monotonic()
        while process.poll() is None and monotonic() < came_on + self.timeout + GRACE_SECONDS:
            sleep(0.02)
            if self.rounds != ENDLESS and (now := name_of(process.pid)) != done:
                done, came_on = now, monotonic()
        try:
            text = process.communicate(timeout=5)[0].strip()
        except subprocess.TimeoutExpired:
            self.notes.append(f"rank {rank} (process {process.pid}) has not ended; it stands at\n{stack_of(process.pid)}")
            process.kill()
            process.communicate()
            return End(rank, "hung")
        how = "killed" if process.returncode == -signal.SIGKILL else ENDS.get(process.returncode, f"code {process.returncode}")
        self.notes.append(f"rank {rank} {how}: {text}")
        return End(rank, how, text)


def name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def kill(process: subprocess.Popen) -> int:
    """Returns how many calls the process had made, rounded down to what it says in its name. -1: it had made none."""
    process.send_signal(signal.SIGKILL)
    if process.returncode is None:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its name lasts until somebody asks how it has ended
    word, _, calls = name_of(process.pid).partition(" ")
    return int(calls) if word == "rank" and calls else -1


def after_death(ends: list[End], victim: int, made: int, calls: int) -> list[str]:
    """Complains about the ends of ranks that would have gone on for ever. One was killed after it had made so many calls, in
    rounds of `calls` each."""
    amid = SURE <= made % calls <= calls - SAYS_EVERY - SURE  # then all ranks were in the victim's round, and could not leave it
    complaints = []
    for end in ends:
        allowed = ("killed",) if end.rank == victim else ("lost",) if amid else ("lost", "not met")
        if end.how not in allowed:
            expected = " or ".join(allowed)
            complaints.append(f"rank {end.rank} ended as {end.how!r}, expected {expected}; rank {victim} died after {made} calls")
    lost = [end for end in ends if end.how == "lost"]
    if lost and not any("ended" in end.text for end in lost):
        complaints.append("no rank says that another has ended")
    return complaints


def after_restart(first: str, again: str, others: set[str], perhaps_done: bool) -> list[str]:
    """Complains about the ends of a rank that was killed, of the same rank started again, and of the other ranks. The dead rank
    had perhaps made all its calls."""
    if first == "right":
        good = others == {"right"} and again == "not met"
    elif again == "right":
        good = first == "killed" and others == {"right"}
    else:
        good = first == "killed" and again == "not met" and others <= {"lost", "not met", *(["right"] if perhaps_done else [])}
    return [] if good else [f"a rank was {first}, and {again} when it was started again; others: {', '.join(sorted(others))}"]


# The kinds of groups. Each starts the ranks, does something to them, and returns its complaints ------------------------------


def calm(group: Ranks) -> list[str]:
    group.start_all()
    return group.expect({"right": group.ranks})


def never_end(group: Ranks) -> None:
    """From now on the ranks go on until one dies."""
    group.rounds, group.timeout = ENDLESS, 6


def strike(group: Ranks, latest: float, stopped: bool) -> list[str]:
    """Kills a rank at some time up to `latest` seconds. It may have been stopped for up to a second before."""
    never_end(group)
    group.start_all()
    group.pause(0, latest)
    rank, process = group.victim()
    if stopped:
        process.send_signal(signal.SIGSTOP)
        group.pause(0, 1)
    made = kill(process)
    return after_death(group.wait(), rank, made, group.calls)


def killed(group: Ranks) -> list[str]:
    return strike(group, 0.6, stopped=False)


def stopped_and_killed(group: Ranks) -> list[str]:
    return strike(group, 0.3, stopped=True)


def reused(group: Ranks) -> list[str]:
    """A rank dies, and its process id belongs to a stranger before the others look again."""
    never_end(group)
    group.start_all()
    group.pause(0, 0.6)
    rank, victim = group.victim()
    others = [process for _, process in group.processes if process != victim]
    for process in others:
        process.send_signal(signal.SIGSTOP)
    made = kill(victim)
    victim.wait()
    taken = strangers.take_id(victim.pid, group.spawn, group.environment)
    for process in others:
        process.send_signal(signal.SIGCONT)
    complaints = after_death(group.wait(), rank, made, group.calls)
    if taken:
        group.ends.append(End(rank, "id reused"))
        if (ended := os.waitpid(victim.pid, os.WNOHANG)) != (0, 0):
            return [*complaints, f"the process with the dead rank's id has ended: {os.waitstatus_to_exitcode(ended[1])}"]
        os.kill(victim.pid, signal.SIGKILL)
        os.waitpid(victim.pid, 0)
    return complaints


def restarted(group: Ranks) -> list[str]:
    """A rank dies before all have come, and is started again."""
    late = group.draw.randrange(group.ranks)
    group.start_all(without=late)
    group.pause(0, 0.3)
    rank, process = group.victim()
    kill(process)
    process.wait()
    group.start(rank)
    group.pause(0, 0.3)
    group.start(late)
    return group.expect({"right": group.ranks, "killed": 1})


def restarted_amid(group: Ranks) -> list[str]:
    """A rank dies while the ranks meet or soon after, and is started again at once."""
    group.timeout = 6
    group.start_all()
    rank, process = group.victim()
    group.pause(0, 0.05)
    made = kill(process)
    process.wait()
    group.start(rank)
    ends = group.wait()
    first = next(end.how for end in ends if end.rank == rank)
    others = {end.how for end in ends if end.rank != rank}
    return after_restart(first, ends[-1].how, others, made >= group.rounds * group.calls - SAYS_EVERY - SURE)


def restarted_whole(group: Ranks) -> list[str]:
    """A group loses a rank, and starts again under the same name."""
    rounds = group.rounds
    complaints = killed(group)
    group.rounds, group.timeout = rounds, 20
    group.start_all()
    return complaints + group.expect({"right": group.ranks})


def stopped(group: Ranks) -> list[str]:
    group.start_all()
    for _ in range(group.draw.randint(1, 4)):
        _, process = group.victim()
        group.pause(0, 0.3)
        process.send_signal(signal.SIGSTOP)
        group.pause(0, 1)
        process.send_signal(signal.SIGCONT)
    return group.expect({"right": group.ranks})


def starved(group: Ranks) -> list[str]:
    """A rank is limited to few descriptors, little memory, or small files, from its start or suddenly."""
    group.timeout = 6
    group.start_all()
    _, process = group.victim()
    group.pause(0, 0.1)
    kind = group.draw.choice([resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_FSIZE])
    with suppress(ProcessLookupError, FileNotFoundError, IndexError):  # it has ended
        used = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
        least = {resource.RLIMIT_NOFILE: 4, resource.RLIMIT_AS: used, resource.RLIMIT_FSIZE: 0}[kind]
        more = {resource.RLIMIT_NOFILE: 12, resource.RLIMIT_AS: 96 << 20, resource.RLIMIT_FSIZE: 1 << 20}[kind]
        limit = least + group.draw.randint(0, more)
        resource.prlimit(process.pid, kind, (limit, limit))
    hows = {end.how for end in group.wait()}
    complaints = [f"a rank ended as {how!r}" for how in hows - {"right", "starved", "lost", "not met"}]
    if "lost" in hows and not hows & {"starved", "not met"}:
        complaints.append("ranks say that another has ended, but none had a reason to end")
    return complaints


def absent(group: Ranks) -> list[str]:
    group.timeout = group.draw.choice([0.5, 2, 4])
    group.start_all(without=group.draw.randrange(group.ranks))
    return group.expect({"not met": group.ranks - 1})


def doubled(group: Ranks) -> list[str]:
    """Two processes claim to be the same rank, and one of them is refused."""
    group.timeout = 8
    group.start_all()
    group.start(group.draw.randrange(group.ranks))
    return group.expect({"right": group.ranks, "not met": 1})


def squatted(group: Ranks) -> list[str]:
    """A stranger has the group's name, and leaves before rank 0 comes. A rank 0 that comes too early gives up at once."""
    stranger = strangers.Stranger(strangers.squat, group.address, group.number, group.foreign)
    too_early = group.draw.randint(0, 1)
    group.start_all(without=0)
    if too_early:
        with suppress(subprocess.TimeoutExpired):  # then group.expect() says that it hangs
            group.start(0).wait(group.timeout + GRACE_SECONDS)
    group.pause(0, 1)
    stranger.end()
    group.start(0)
    return group.expect({"right": group.ranks, "not met": too_early})


def squatted_for_good(group: Ranks) -> list[str]:
    group.timeout = 4
    stranger = strangers.Stranger(strangers.squat, group.address, group.number, group.foreign)
    group.start_all()
    complaints = group.expect({"not met": group.ranks})
    stranger.end()
    return complaints


def called_on(group: Ranks) -> list[str]:
    stranger = strangers.Stranger(strangers.call, group.address, group.number, group.foreign)
    group.start_all()
    group.pause(0.5, 2)
    stranger.end()
    return group.expect({"right": group.ranks})


LEAVES = """
import os
os.memfd_create("copse-planted", 0)
if os.fork() == 0:
    os.execv("/bin/sleep", ["sleep", "1000"])
if os.fork() == 0:
    os.setsid()
    os.execve("/bin/sleep", ["sleep", "1000"], {})
"""


def planted(group: Ranks) -> list[str]:
    """Leaves two processes with memory, one of which has shed the group's mark. Only for the soak's own test."""
    group.spawn([sys.executable, "-c", LEAVES], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()
    return calm(group)


KINDS = (calm, killed, stopped_and_killed, reused, restarted, restarted_amid, restarted_whole, stopped, starved, absent, doubled,
         squatted, squatted_for_good, called_on)  # fmt: skip
