"""The program of each rank for mpi4py_suite.py: runs mpi4py's own test program and records the outcome of every test.

    mpi4py_ranks.py <mpi4py's test folder> <journal folder> <options of the test program>

The file of a rank's journal is named by its rank. First comes the process id. Then each test has a line when it begins and a
line when it has ended: name, outcome and reason, separated by tabs. After the last test comes a line `end`. The journal
folder's files `only` and `done` name tests, one a line. If `only` is not empty, no other tests run. Tests in `done` do not
run. SIGUSR1 prints where the rank is.
"""

import faulthandler
import importlib.util
import os
import signal
import sys
import unittest
from pathlib import Path

suite, folder = Path(sys.argv[1]), Path(sys.argv[2])


class Journal(unittest.TextTestResult):
    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        from mpi4py import MPI  # only the suite's own program may be the first to import it

        self.file = os.open(folder / str(MPI.COMM_WORLD.rank), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(self.file, f"{os.getpid()}\n".encode())

    def write(self, test, outcome: str, reason: str = "") -> None:
        line = "\t".join([test.id(), outcome, " ".join(reason.split())])
        os.write(self.file, f"{line}\n".encode())

    def startTest(self, test) -> None:
        super().startTest(test)
        self.outcome = ("ok", "")
        self.write(test, "begun")

    def stopTest(self, test) -> None:
        self.write(test, *self.outcome)
        super().stopTest(test)

    def addError(self, test, err) -> None:
        super().addError(test, err)
        self.outcome = ("error", repr(err[1]))
        if not isinstance(test, unittest.TestCase):  # set-up of a class or a module
            self.write(test, *self.outcome)

    def addFailure(self, test, err) -> None:
        super().addFailure(test, err)
        self.outcome = ("failed", repr(err[1]))

    def addSubTest(self, test, subtest, err) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.outcome = ("failed", f"{subtest}: {err[1]!r}")

    def addSkip(self, test, reason: str) -> None:
        super().addSkip(test, reason)
        self.outcome = ("skipped", reason)

    def addExpectedFailure(self, test, err) -> None:
        super().addExpectedFailure(test, err)
        self.outcome = ("failed as expected", "")

    def addUnexpectedSuccess(self, test) -> None:
        super().addUnexpectedSuccess(test)
        self.outcome = ("unexpectedly ok", "")


def tests_in(suite_or_test):
    if isinstance(suite_or_test, unittest.TestSuite):
        for part in suite_or_test:
            yield from tests_in(part)
    else:
        yield suite_or_test


class Runner(unittest.TextTestRunner):
    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **{**options, "resultclass": Journal})

    def run(self, test):
        only, done = ((folder / name).read_text().splitlines() for name in ("only", "done"))
        chosen = [one for one in tests_in(test) if (not only or one.id() in only) and one.id() not in done]
        result = super().run(unittest.TestSuite(chosen))
        os.write(result.file, b"end\n")
        return result


faulthandler.enable()
faulthandler.register(signal.SIGUSR1, all_threads=True)
__file__ = str(suite / "main.py")  # the workers of an mpi4py pool import the main program, which must be mpi4py's own
spec = importlib.util.spec_from_file_location("main", suite / "main.py")
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
sys.dont_write_bytecode = True
program.main(module=None, argv=[str(suite / "main.py"), *sys.argv[3:]], testRunner=Runner)
