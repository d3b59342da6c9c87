"""`copse info` with the real copse-native. It shows what the native code found, and names each reach that does not work
with the reason.
"""

import json
import os
import re
import subprocess

import pytest
from typer.testing import CliRunner

from copse import __main__, paths
from copse.info import ROOM_OF_RANK, size_text

REFUSING = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/types.h>
#include <sys/uio.h>
ssize_t process_vm_readv(pid_t p, const struct iovec *l, unsigned long n, const struct iovec *r, unsigned long m,
                         unsigned long f) {
  (void)p, (void)l, (void)n, (void)r, (void)m, (void)f;
  errno = EPERM;
  return -1;
}
int sched_setaffinity(pid_t p, size_t n, const cpu_set_t *s) {
  (void)p, (void)n, (void)s;
  errno = EPERM;
  return -1;
}
"""


@pytest.fixture
def info(native_binary):
    """Runs `copse info <arguments>` in this process, wide enough for every column, and returns its output."""

    def call(*arguments, **environment):
        clean = {name: None for name in os.environ if name.startswith("COPSE_")}
        done = CliRunner().invoke(
            __main__.make_app(), ["info", *arguments], env={**clean, "COLUMNS": "400", **environment}
        )
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return call


def report(native, **environment):
    done = native("info", "--json", env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def reach(report, name):
    return next(row for row in report["reaches"] if row["reach"] == name)


def test_the_process_is_where_its_affinity_says(native_binary):
    cpu = max(os.sched_getaffinity(0))
    done = subprocess.run(["taskset", "-c", str(cpu), native_binary, "info", "--json"], capture_output=True, timeout=60)
    process = json.loads(done.stdout)["process"]
    assert process["processors"] == [cpu]
    assert process["oversubscribed_from"] == 2
    assert {"node", "core"} <= process["place"].keys()


def test_common_memory_works_and_the_machine_is_this_one(native):
    found = report(native)
    assert reach(found, "staged") == {
        "reach": "staged",
        "by": "common memory: a memfd through /proc/<pid>/fd",
        "works": True,
        "allowed": True,
        "why_not": "",
    }
    usable = {processor["number"] for processor in found["machine"]["processors"]}
    assert found["machine"]["this_machine"] and usable >= set(found["process"]["processors"])
    assert found["summary"].startswith("this machine: ")
    assert "like" in found
    assert "core" in found["kind"] and "GiB" not in found["kind"].split("L3")[0], "memory differs by what the system keeps"


def test_a_described_machine_is_shown_but_not_where_the_process_is(native, info):
    found = report(native, COPSE_TOPOLOGY="ig")
    assert found["machine"]["counts"]["numa"] == 8 and not found["machine"]["this_machine"]
    assert found["process"] == report(native)["process"]
    regions = re.findall(r"│ (\d) +│ ([\d,-]+) +│ +16 GiB", info(COPSE_TOPOLOGY="ig"))
    assert [index for index, _ in regions] == list("01234567")
    assert regions[1][1] == "6-11"
    assert "COPSE_TOPOLOGY=ig" in info(COPSE_TOPOLOGY="ig") and "COPSE_TOPOLOGY" not in info()


@pytest.mark.parametrize(
    "limit, allowed",
    [("any", {"staged", "kernel", "direct"}), ("staged", {"staged"}), ("kernel", {"staged", "kernel"})],
)
def test_reach_limit(native, limit, allowed):
    found = report(native, COPSE_REACH=limit)
    assert {row["reach"] for row in found["reaches"] if row["allowed"]} == allowed


def test_what_the_system_refuses_is_named_with_the_reason(native, info, tmp_path, monkeypatch):
    source, library = tmp_path / "refusing.c", tmp_path / "refusing.so"
    source.write_text(REFUSING)
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True, timeout=60)
    found = report(native, LD_PRELOAD=str(library))
    assert reach(found, "kernel")["works"] is False
    assert reach(found, "kernel")["why_not"] == "process_vm_readv: Operation not permitted"
    assert found["binding"]["allowed"] is False
    assert found["binding"]["why_not"] == "sched_setaffinity: Operation not permitted"
    assert reach(found, "staged")["works"] is True
    shown = info(LD_PRELOAD=str(library))
    assert re.search(r"kernel +│.*│ no +│ yes +│ process_vm_readv: Operation not permitted", shown)
    assert "refused: sched_setaffinity" in shown


def test_the_shared_heap_is_tried_in_a_process_of_its_own(native, run, native_binary):
    assert reach(report(native), "direct")["works"] is True
    assert native("heap").stdout == "libcopse-heap.so is not preloaded\n"
    limited = run(["prlimit", "--fsize=1000000", native_binary, "info", "--json"])
    row = reach(json.loads(limited.stdout), "direct")
    assert (row["works"], row["why_not"][:23]) == (False, "the limit on file sizes")


def test_the_memory_to_expect(info):
    header = (paths.ROOT / "src/communicator/memory_room.hpp").read_text()
    factor, shift = re.search(r"kRoomOfRank = std::uint64_t\{(\d+)\} << (\d+);", header).groups()
    assert ROOM_OF_RANK == int(factor) << int(shift)
    told = json.loads(info("--json", COPSE_MEMORY="1G"))
    ranks = len(told["process"]["processors"])
    assert told["memory"] == {"rank_bytes": ROOM_OF_RANK, "node_bytes": ranks * ROOM_OF_RANK, "limit": "1G"}
    each, node = size_text(ROOM_OF_RANK), size_text(ranks * ROOM_OF_RANK)
    expected = f"about {each} more for each rank, as its share of common memory, {node} with a rank on each processor; page tables not counted"
    assert f"{expected}; COPSE_MEMORY=1G" in info(COPSE_MEMORY="1G") and f"{expected}; no limit" in info()


@pytest.mark.parametrize("command", ["info", "env"])
def test_a_wrong_value_is_one_line_with_the_nearest(native, command):
    done = native(command, env={**os.environ, "COPSE_REACH": "stagd"})
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "did you mean 'staged'?" in done.stderr


def test_every_variable_is_shown_as_it_is_written(native, info):
    rows = json.loads(native("env", "--json").stdout)
    assert len(rows) > 5 and all(row.keys() == {"name", "values", "default", "meaning"} for row in rows)
    shown = info("--env")
    for row in rows:
        assert all(f" {row[key]} " in shown for key in row), row
    assert json.loads(info("--env", "--json")) == {"variables": rows}


def test_every_algorithm_is_shown(native, info):
    rows = json.loads(native("algorithms", "--json").stdout)
    registered = re.findall(r"^ALGORITHM\((\w+), (\w+),", (paths.ROOT / "src/algorithms/registry.def").read_text(), re.M)
    assert [(row["collective"], row["algorithm"]) for row in rows] == registered
    shown = info("--algorithms")
    for row in rows:
        assert re.search(rf"│ {row['collective']} +│ {row['algorithm']} +│ {' '.join(row['carriers'])} ", shown), row
        assert row["summary"] in shown and row["source"] in shown


def test_people_and_programs_are_told_the_same(native, info):
    told = json.loads(info("--json"))
    machine = report(native)
    assert {key: told[key] for key in machine} == machine
    assert machine["summary"] in info() and machine["summary"] in native("info").stdout
    assert [row["name"] for row in told["mpi"]] != []
