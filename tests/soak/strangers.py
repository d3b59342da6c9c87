"""Strangers: processes that get in the way of ranks, by a group's name, by its socket, or by the process id of a dead rank."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

NOBODY = 65534
LONGEST_SECONDS = 300  # of a stranger whose soak has died
NOISE = [b"", b"\1\0\0\0", b"\0" * 64, b"copse", random.Random(1).randbytes(4096)]


class Stranger:
    """Does its work in a separate process until it is ended, as this user or as nobody."""

    def __init__(self, work: Callable, address: str, seed: int, foreign: bool):
        """Returns when the stranger is at work."""
        ready, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.closerange(3, tell)  # other groups wait until the pipes of their ranks are closed
                os.closerange(tell + 1, os.sysconf("SC_OPEN_MAX"))
                if foreign:
                    os.setuid(NOBODY)
                signal.alarm(LONGEST_SECONDS)
                work(address, random.Random(seed), lambda: os.write(tell, b"."))
            finally:
                os._exit(0)
        os.close(tell)
        os.read(ready, 1)
        os.close(ready)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def squat(address: str, draw: random.Random, ready: Callable) -> None:
    """Listens under a group's name."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(draw.choice([0, 1, 64]))
    listener.settimeout(0.05)
    answers, callers = draw.random() < 0.7, []
    ready()
    while not answers:
        time.sleep(1)
    while True:
        try:
            caller = listener.accept()[0]
            caller.setblocking(False)
            callers = [*callers[-100:], caller]
            caller.send(draw.choice(NOISE))
        except OSError:
            pass


def call(address: str, draw: random.Random, ready: Callable) -> None:
    """Calls a group's rank 0, over and over, and leaves many lines half open."""
    lines = []
    ready()
    while True:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        line.setblocking(False)
        try:
            line.connect(address)
            line.send(draw.choice(NOISE))
            if draw.random() < 0.7 and len(lines) < 100:
                lines.append(line)
        except OSError:
            pass
        time.sleep(draw.choice([0, 0, 0.001, 0.01]))


# Forks with an id of its own choice: clone3 with set_tid, which leaves the order of all other ids as it is.
TAKES_ID = """
import ctypes, os, signal, sys
chosen, arguments = ctypes.c_int(int(sys.argv[1])), (ctypes.c_uint64 * 11)()
arguments[4], arguments[8], arguments[9] = signal.SIGCHLD, ctypes.addressof(chosen), 1
child = ctypes.CDLL(None).syscall(435, arguments, ctypes.c_size_t(ctypes.sizeof(arguments)))
if child == 0:
    os.execv("/bin/sleep", ["sleep", "1000"])
sys.exit(child < 0)
"""


def may_choose_ids() -> bool:
    return os.geteuid() == 0


def take_id(pid: int, spawn: Callable[..., subprocess.Popen], environment: dict[str, str]) -> bool:
    """Starts a process that has this id and does nothing, and whose parent is the soak. Returns False if the id has been taken."""
    # A child of the bare system call would share the heap with its parent (docs/decisions/shared-heap.md).
    without_heap = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    return spawn([sys.executable, "-S", "-c", TAKES_ID, pid], stderr=subprocess.DEVNULL, env=without_heap).wait() == 0
