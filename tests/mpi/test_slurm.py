"""Programs under Slurm, on emulated nodes: `copse run srun`, and job scripts, the documents' own among them."""

import re
import subprocess
import time
from pathlib import Path

import pytest
from collectives import passed
from slurm import PMI2, Slurm

from copse import flavours, paths
from copse.cluster import Cluster, NotPermitted

NODES = 4
JOB = re.compile(r"^```sh\n(#!/bin/bash\n#SBATCH.*?)^```$", re.MULTILINE | re.DOTALL)
# All nodes share this machine's processors, and none of them knows of the others.
CROWDED = {"COPSE_WAIT": "yield", "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "16",
           "I_MPI_THREAD_YIELD": "2", "OMPI_MCA_mpi_yield_when_idle": "1", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0",
           "OMPI_MCA_btl_tcp_if_include": "eth0", "PRTE_MCA_prte_if_include": "eth0", "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
SECONDS = 120  # for a job

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    assert subprocess.run([paths.ROOT / "tools/slurm"], timeout=300).returncode == 0
    folder = tmp_path_factory.mktemp("slurm")
    try:
        with Cluster(folder / "nodes", NODES) as cluster, Slurm(cluster, folder / "slurm") as slurm:
            yield slurm
    except NotPermitted as error:
        pytest.skip(f"namespaces are not permitted here: {error}")


def variables_of(slurm, flavour: flavours.Flavour, **more: str) -> dict[str, str]:
    """Returns the variables of a user of this MPI, who has copse on PATH."""
    result = flavour.environment(slurm.environment) | CROWDED | {"COPSE_JOIN": "1", "COPSE_TRACE": "1"} | more
    if flavour.family is flavours.INTEL:
        result["I_MPI_PMI_LIBRARY"] = str(PMI2)
    return result | {"PATH": f"{paths.ROOT / 'build/bin'}:{result['PATH']}"}


@pytest.fixture
def srun(run, programs, slurm):
    """Runs a part of the test program by `copse run srun` with the given options."""

    def launch(flavour, options, *arguments):
        command = ["copse", "run", "--flavour", flavour.name, "srun", "--mpi=pmi2", *options, programs(flavour), *arguments]
        return run(slurm.command(command), env=variables_of(slurm, flavour), timeout=SECONDS)

    return launch


def submitted(slurm, script: Path, environment: dict[str, str]) -> str:
    """Submits a job script, which writes to the file `said` beside it, and returns the job's number."""
    said = script.with_name("said")
    return slurm.call(["sbatch", "--parsable", f"--chdir={script.parent}", f"--output={said}", f"--error={said}", script], environment).strip()


def end_of_job(slurm, job: str) -> None:
    end = time.monotonic() + SECONDS
    while slurm.call(["squeue", "-h", "-j", job]):
        assert time.monotonic() < end, f"job {job} does not end\n{slurm.logs()}"
        time.sleep(0.3)


def result_of(slurm, script: Path, environment: dict[str, str]) -> str:
    """Submits a job script, waits until the job has ended, and returns what it has printed."""
    end_of_job(slurm, submitted(slurm, script, environment))
    return script.with_name("said").read_text()


def nodes_of_communicators(text: str) -> set[int]:
    return {int(nodes) for nodes in re.findall(r"a communicator over (\d+) nodes, joined by the MPI's own messages", text)}


@pytest.mark.parametrize("name", ["mpich", "impi"])
def test_srun_starts_the_ranks(srun, name):
    done = srun(flavours.find(name), ["-N", "2", "-n", "4"], "random", 7, 60)
    assert passed(done, "random"), done.stdout + done.stderr
    assert 2 in nodes_of_communicators(done.stderr), done.stderr


@pytest.mark.parametrize("options", [["-N", "2", "-n", "3"], ["-N", "4", "-n", "5"], ["-N", "2", "-n", "4", "--distribution=cyclic"]], ids=" ".join)
def test_nodes_may_differ_and_ranks_lie_in_any_order(srun, options):
    """One rank on one node and two on another; neighbours in the world that sit on different nodes."""
    for part, *arguments in (("matrix", "world"), ("random", 11, 60)):
        done = srun(flavours.find("mpich"), options, part, *arguments)
        assert passed(done, part), done.stdout + done.stderr
        assert int(options[1]) in nodes_of_communicators(done.stderr), done.stderr


def test_mpirun_in_a_job_deals_the_ranks_out(slurm, programs, tmp_path):
    """MPICH's mpirun starts its helpers by srun. (srun with a host file would do the same, but Slurm 22.05's controller dies of one.)"""
    flavour = flavours.find("mpich")
    (tmp_path / "job.sh").write_text(
        f"#!/bin/bash\n#SBATCH --nodelist=n[0-2] --ntasks-per-node=2\ncopse run mpirun -ppn 1 -hosts n2,n0,n1 -n 4 {programs(flavour)} matrix world\n"
    )
    text = result_of(slurm, tmp_path / "job.sh", variables_of(slurm, flavour))
    assert re.search(r"^matrix: \d+ checks", text, re.MULTILINE), text + slurm.logs()
    assert 3 in nodes_of_communicators(text), text


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_the_documents_job_script_runs_as_it_stands(slurm, compile_mpi, tmp_path, name):
    """The scripts differ by the MPI: ranks come by srun, or, under Open MPI, by its mpirun."""
    scripts = JOB.findall((paths.ROOT / "docs/cluster.md").read_text())
    flavour = flavours.find(name)
    (script,) = (text for text in scripts if ("mpirun" in text) == (flavour.family is flavours.OPEN_MPI))
    source = (paths.ROOT / "examples/hello_allreduce.c").read_text()
    compile_mpi(flavour, source.replace("kCalls = 10000", "kCalls = 200"), "app").rename(tmp_path / "app")
    (tmp_path / "job.sh").write_text(script)
    text = result_of(slurm, tmp_path / "job.sh", variables_of(slurm, flavour))
    assert re.search(r"^8 ranks: sum 28, ", text, re.MULTILINE), text + slurm.logs()
    assert 4 in nodes_of_communicators(text), text


def test_a_cancelled_job_leaves_nothing(slurm, endless, tmp_path):
    flavour = flavours.find("mpich")
    (tmp_path / "job.sh").write_text(
        f"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2\ncopse run --flavour mpich srun --mpi=pmi2 {endless(flavour)}\n"
    )
    job, end = submitted(slurm, tmp_path / "job.sh", variables_of(slurm, flavour)), time.monotonic() + SECONDS
    while not (tmp_path / "said").exists() or (tmp_path / "said").read_text().count("process ") < 4:
        assert time.monotonic() < end, slurm.logs()
        time.sleep(0.3)
    ranks = f"pgrep -x {endless(flavour).name}"
    assert len(words_of_first_node(slurm, ranks)) == 2
    slurm.call(["scancel", job])
    end_of_job(slurm, job)
    while words_of_first_node(slurm, ranks):
        assert time.monotonic() < end + SECONDS, slurm.logs()
        time.sleep(0.3)
    assert [name for name in words_of_first_node(slurm, "ls /dev/shm") if "copse" in name] == []


def words_of_first_node(slurm, command: str) -> list[str]:
    """Returns the words that a command prints on the first node."""
    inside = [paths.ROOT / "bench/cluster/agent.sh", "n0", command]
    return subprocess.run(inside, env=slurm.environment, capture_output=True, text=True, timeout=60).stdout.split()
