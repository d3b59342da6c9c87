"""Every command and every example in the documents is run as a reader would run it, in its order.

Each document gets a checkout, a home and variables of its own. What is built is that of the real checkout. A command counts
as right if it ends with 0. A command that is written into a document is run from then on: to leave it out takes a row in
EXCUSED, with the reason. A row that no longer fits a document is a failure, too.
"""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from blocks import COMMANDS, Item, items
import compiled
from compiled import COMPILERS, store
from limited import run_limited

from copse import flavours, paths

SECONDS = 900
DOCUMENTS = {
    str(path.relative_to(paths.ROOT)): path
    for pattern in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "examples/*.py", "examples/*.c", "examples/*.cpp")
    for path in sorted(paths.ROOT.glob(pattern))
}
TARGETS = (*compiled.TARGETS, "copse-overlap", "example-threads", "example-processes", "example-overlap",
           *(f"example-upc_{name}" for name in ("pi", "scatter", "multiply", "histogram", "matrix", "heat")))  # fmt: skip

OWN_BUILD = (
    "cmake -S . -B build/own -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DCOPSE_PYTHON=$(command -v python3) "
    "-DCOPSE_MPICH_HEADERS=/usr/include/x86_64-linux-gnu/mpich",
    "cmake --build build/own",
    "cmake --install build/own --prefix $HOME/copse --strip",
)
REGRET = ("--ranks 2 --no-heap --table build/tuning.json", "--resume --table build/tuning.json --readme README.md")
# What is not run here, and why.
AS_ROOT = "writes below /usr/local; tests/install/test_fresh_root.py does it in a root file system of its own"
CONTAINER = "takes ten minutes; tests/install/test_container.py does it with buildah"
SPACK = "Spack is in no registry that we reach; tests/install/test_recipes.py checks the recipe"
THIS_IS_PART = "runs these tests themselves"
NODES = "needs two nodes; tests/mpi/test_cluster.py names some that it emulates"
SUITE = "takes an hour; tests/mpi/test_mpi4py.py runs the same command on a share of the suite"
SLOW_FILES = r"^test_(io|util_dtlib|datatype\.)"
EXCUSED = {
    ("README.md", "make run"): "measures for an hour; tests/python/test_bench.py runs `copse bench` with few cells",
    ("README.md", "make test"): THIS_IS_PART,
    ("README.md", "2 ranks: sum 1, 0.31 us a call"): "what the command before it has printed",
    ("CONTRIBUTING.md", "make test"): THIS_IS_PART,
    ("CONTRIBUTING.md", "make test-full"): THIS_IS_PART,
    ("CONTRIBUTING.md", "build/venv/bin/python tests/mpi/mpi4py_suite.py --mpi mpich,openmpi --ranks 2,4"): SUITE,
    ("docs/flavours.md", "build/venv/bin/python tests/mpi/mpi4py_suite.py --ranks 1,2 --whole --trusting"): SUITE,
    ("docs/flavours.md", f"build/venv/bin/python tests/mpi/mpi4py_suite.py --ranks 3,4,7 --tests '{SLOW_FILES.replace('(', '(?!', 1)}' --trusting"): SUITE,
    ("docs/flavours.md", f"build/venv/bin/python tests/mpi/mpi4py_suite.py --ranks 3,4,7 --tests '{SLOW_FILES}' --trusting"): SUITE,
    ("docs/installing.md", "sudo make install"): AS_ROOT,
    ("docs/first-steps.md", "sudo make install"): AS_ROOT,
    ("docs/first-steps.md", "sudo make uninstall"): AS_ROOT,
    ("docs/first-steps.md", "sudo apt-get install -y make"): "is there; tests/install/walk.py types this page into a system without it",
    ("docs/installing.md", "dpkg-buildpackage -us -uc -b"): "takes minutes; tests/install/test_debian.py does it",
    **{("docs/installing.md", command): "takes minutes; tests/install/test_debian.py and test_recipes.py configure and build like this"
       for command in OWN_BUILD},
    ("docs/installing.md", "buildah build --tag copse --file packaging/container/Containerfile ."): CONTAINER,
    ("docs/installing.md", "podman run --rm --shm-size 1g copse copse doctor"): CONTAINER,
    ("docs/installing.md", "spack repo add packaging/spack/spack_repo/copse"): SPACK,
    ("docs/installing.md", "spack install copse ^mpich"): SPACK,
    ("docs/installing.md", "sudo make uninstall"): AS_ROOT,
    ("docs/collective-processors.md", "copse run --collective-processors out:1/8 mpirun -n 72 ./app"):
        "starts 72 ranks; tests/mpi/test_outside.py starts fewer",
    ("docs/collective-processors.md", "copse run --collective-processors cpus:7,15 mpirun -n 14 ./app"):
        "needs processors 7 and 15; tests/mpi/test_helpers.py names some that there are",
    ("docs/collective-processors.md", "copse bench --overlap --sizes 8,64K --launches 2 --document docs/collective-processors.md"):
        "measures for ten minutes or more; the command before it measures a part of that",
    ("docs/collective-processors.md", "build/venv/bin/python bench/solvers.py --document"):
        "measures for some minutes; tests/python/test_bench.py runs a part of it",
    ("docs/soak.md", "build/venv/bin/python tests/soak/soak.py --minutes 60"):
        "takes an hour; tests/soak/test_soak.py runs each kind of group once",
    ("docs/memory.md", "build/venv/bin/python bench/memory.py --ranks 2,8,32 --document"):
        "measures for a quarter of an hour; tests/python/test_bench.py runs a part of it",
    ("docs/memory.md", "build/venv/bin/python bench/persistent.py --document"):
        "measures for four minutes; tests/python/test_bench.py runs a part of it",
    ("docs/communicators.md", "build/venv/bin/python bench/communicators.py --ranks 2,8 --document"):
        "measures for half an hour; tests/python/test_bench.py runs a part of it",
    **{("docs/measurements.md", f"build/bin/copse bench --regret --against mpich {options}"):
       "measures for hours; tests/python/test_tune.py measures one call, and goes on with it" for options in REGRET},
    ("docs/upc-measurements.md", "build/venv/bin/python bench/upc.py --document --launches 3 --batches 8 --ft S,W,A"):
        "measures for a quarter of an hour; tests/python/test_bench.py runs a part of it",
    ("docs/busy-machines.md", "build/venv/bin/python bench/busy.py --document"):
        "measures for twenty minutes; tests/python/test_bench.py runs a part of it",
    ("docs/cluster.md", "copse run mpirun -n 8 -ppn 4 -hosts node1,node2 ./app"): NODES,
    ("docs/cluster.md", "copse run mpirun -n 8 --host node1:4,node2:4 ./app"): NODES,
    ("docs/cluster.md", "copse bench --cluster --document docs/cluster.md"):
        "measures for hours; tests/python/test_cluster_bench.py measures two calls",
    ("docs/cluster.md", "#!/bin/bash"): "tests/mpi/test_slurm.py submits both scripts",
    ("docs/programs.md", "apt-get install hpcc lammps quantum-espresso"): "installs a gigabyte of other people's programs",
    ("docs/programs.md", "build/venv/bin/python bench/programs.py --ranks 2 --rounds 3 --document"):
        "needs those programs; tests/python/test_programs.py runs the script with others",
    ("docs/programs.md", "build/venv/bin/python bench/programs.py --ranks 2 --rounds 3 --helper --document"):
        "needs those programs; tests/python/test_programs.py runs the script with others",
    ("docs/tuning.md", "COPSE_ALGORITHM='collective=algorithm[:carrier][:radix];...'"): "shows a form, and is no value",
    ("docs/upc.md", "copse: UPC thread 2: upc_all_broadcast: bytes is 16; required: 8, as on thread 0"):
        "is what Copse prints; tests/upc/errors_test.cpp expects this line",
    ("examples/processes.c", "build/release/bin/example-processes NAME RANK RANKS"): "shows a form; the next line starts four ranks",
}  # fmt: skip

# Commands that take longer than ten seconds, or fetch packages. Only the full run has them.
LONG = {
    ("README.md", "build/bin/copse verify"),
    ("docs/collective-processors.md", "copse run --collective-processors 1/8 mpirun -n 56 ./app"),
    ("docs/collective-processors.md", "copse bench --overlap --against mpich"),
    ("docs/installing.md", "pip wheel --no-deps ."),
    ("docs/installing.md", "pip install copse-0.2.0-py3-none-linux_x86_64.whl"),
    ("docs/machines.md", "copse price --plot winners.png --machine zoot"),
    ("docs/machines.md", "copse calibrate --output here.json"),
    ("docs/machines.md", "copse price allreduce 64K -n 8 --machine here.json"),
    ("docs/machines.md", "copse price allreduce 64K -n 8 --machine here.json --operation max --type float"),
    ("docs/machines.md", "copse calibrate --check --machine here.json"),
    ("docs/tuning.md", "copse tune --quick --mpi openmpi"),
    ("docs/tuning.md", "COPSE_TUNING=build/tuning.json copse run mpirun -n 2 ./app"),
}

# Commands that need something before or behind them. The braces stand for the command.
MPICH, OPENMPI = (paths.MPI_FOLDER / name / "bin" / "mpirun" for name in ("mpich", "openmpi"))
STANDARD = "mpicc_abi -O2 examples/hello_allreduce.c -o standard && {} mpirun -n 2 ./standard"
IN_OPENMPI = f"{OPENMPI.parent}/mpicc -O2 examples/hello_allreduce.c -o app && {{}} {OPENMPI} --allow-run-as-root --oversubscribe -n 2 ./app"
AROUND = {
    ("docs/flavours.md", "LD_PRELOAD=$PWD/build/lib/libcopse-mpi-mpich.so"): "{} mpirun -n 2 ./app",
    ("docs/flavours.md", "LD_PRELOAD=$PWD/build/lib/libcopse-mpi-openmpi.so"): IN_OPENMPI,
    ("docs/flavours.md", "LD_PRELOAD=$PWD/build/lib/libcopse-mpi-abi.so"): STANDARD,
    ("docs/tuning.md", "COPSE_ALGORITHM='allreduce=recursive_doubling;bcast=knomial:put:4'"): "{} copse run mpirun -n 4 ./app",
    ("docs/tuning.md", "COPSE_TUNING=learned.json copse run mpirun -n 8 ./app"):  # this short program may have taught nothing
        "[ -f learned.json ] || cp table.json learned.json; {}",
    ("docs/installing.md", "cmake -P $HOME/copse/share/copse/uninstall.cmake"): "make -s install PREFIX=$HOME/copse && {}",
}

# Examples that are not commands: the file that holds the example, what stands around it, and what uses it.
C_CALLS = """#include <copse/copse.h>
#include <stdio.h>
static void compute_something_else(void) {}
int main(void) {
  copse_comm *comm;
  if (copse_comm_join("documents", 0, 1, 10.0, &comm) != COPSE_OK) return 1;
  const int ordered[] = {3};
  int sorted[] = {0};
  const size_t gives[] = {sizeof ordered}, gets[] = {sizeof sorted};
  @
  copse_comm_free(comm);
  return sorted[0] == 3 ? 0 : 1;
}
"""
COMPILE = "gcc -Wall -Werror -I include %s -L build/lib -Wl,-rpath,$PWD/build/lib -lcopse -o %s && "
SHAPES = {
    ("README.md", "#include <copse/copse.h>"): ("sum.c", "@", "true"),  # the next commands of the document compile and run it
    ("docs/c-library.md", "copse_request *request;"): ("calls.c", C_CALLS, COMPILE % ("calls.c", "calls") + "./calls"),
    ("docs/upc.md", "static int program(int argc, char **argv) { ... return 0; }"):
        ("frame.c", '#include <copse/upc.h>\n#include <stdio.h>\n@\n',
         "sed -i 's/ \\.\\.\\. / (void)argc; (void)argv; printf(\"%d\\\\n\", MYTHREAD); /' frame.c && "
         + COMPILE % ("frame.c", "frame") + "copse run --upc-threads 2 ./frame | sort | tr -d '\\n' | grep -qx 01"),
    ("docs/installing.md", "find_package(Copse 0.2 REQUIRED)"):
        ("use/CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(sum C)\nadd_executable(sum ../sum.c)\n@\n",
         "cmake -S use -B use/build -DCMAKE_PREFIX_PATH=$HOME/copse > /dev/null && cmake --build use/build && test -x use/build/sum"),
    ("docs/tuning.md", '{"schema": "copse-tuning/1", "machine": "any", "rows": ['):
        ("table.json", "@", "COPSE_TUNING=table.json copse explain broadcast 64K -n 2 --reach kernel | grep -q shared:get"),
    ("docs/flavours.md", "import subprocess"): ("example.py", "@", "build/venv/bin/python example.py"),
}  # fmt: skip

# What stands for the reader's own program.
APP = "mpicc -O2 examples/hello_allreduce.c -o app && cp app your-mpi-program"
APPS = {"docs/upc.md": "gcc -O2 -I include examples/upc_scatter.c -L build/lib -Wl,-rpath,$PWD/build/lib -lcopse -o app"}

# Each command runs in a shell of its own, which begins where the one before has ended.
SHELL = """set -e -o pipefail
. /usr/share/modules/init/bash
. "$HOME/state"
{}
wait
declare -px | grep -v ' TMPDIR=' > "$HOME/state"
printf 'cd %q\\n' "$PWD" >> "$HOME/state"
"""


def key(item: Item) -> tuple[str, str]:
    return item.document, item.name


class Reader:
    """Somebody with a home and a checkout, who types what a document says."""

    def __init__(self, folder: Path) -> None:
        self.home, self.checkout = folder / "home", folder / "checkout"
        self.home.mkdir()
        listed = subprocess.run(["git", "-C", paths.ROOT, "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True, text=True)
        for name in listed.stdout.split("\0")[:-1]:
            if (paths.ROOT / name).is_file():  # a link of a worktree is no file of the checkout
                (self.checkout / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(paths.ROOT / name, self.checkout / name, follow_symlinks=False)
        self.link_build()
        (self.home / "state").write_text(f"cd {self.checkout}\n")

    def link_build(self) -> None:
        """What is built is the real checkout's. The Python environment is new, because it knows its checkout."""
        build = self.checkout / "build"
        (build / "bin").mkdir(parents=True)
        for name in ("release", "mpi", "wheel-tools", "site-tools"):
            (build / name).symlink_to(paths.BUILD / name)
        (build / "lib").symlink_to("release/lib")
        (build / "bin/copse").symlink_to("../../tools/copse")
        (build / "bin/copse-native").symlink_to("../release/bin/copse-native")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", build / "venv"], check=True)
        version = subprocess.run(["/usr/bin/python3", "-V"], check=True, capture_output=True, text=True).stdout.strip()
        wanted = (paths.ROOT / "tools/requirements/copse.txt").read_text()
        (build / "venv/made-from.txt").write_text(f"# {(build / 'venv').resolve()}, {version}\n{wanted}")  # as tools/setup does
        packages = next((build / "venv/lib").glob("python*/site-packages"))
        (packages / "copse.pth").write_text(f"{self.checkout}/faces/python\n{sysconfig.get_path('purelib')}\n")

    def types(self, command: str) -> subprocess.CompletedProcess[str]:
        places = [self.checkout / "build/bin", MPICH.parent, "/usr/local/bin", "/usr/bin", "/bin"]
        variables = {"HOME": str(self.home), "PATH": ":".join(map(str, places)), "LANG": "C.UTF-8", "CCACHE_DIR": str(store()), **COMPILERS}
        done, late = run_limited(["bash", "-c", SHELL.format(command)], SECONDS, env=variables)
        assert not late and done.returncode == 0, f"{command}\n{'no end' if late else done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done

    def follows(self, item: Item) -> None:
        if item.language == COMMANDS:
            self.types(AROUND.get(key(item), "{}").replace("{}", item.text))
        else:
            file, frame, use = SHAPES[key(item)]
            (self.checkout / file).parent.mkdir(exist_ok=True)
            (self.checkout / file).write_text(frame.replace("@", item.text))
            self.types(use)


def of_document(document: str) -> list[Item]:
    return items(DOCUMENTS[document], document)


WITH_ITEMS = [document for document in DOCUMENTS if any(key(item) not in EXCUSED for item in of_document(document))]


@pytest.fixture(scope="session")
def built() -> None:
    subprocess.run([paths.ROOT / "tools" / "build", "release", "--target", *TARGETS], check=True, timeout=3000)


@pytest.fixture
def reader(built, tmp_path) -> Reader:
    return Reader(tmp_path)


def follow(reader: Reader, document: str, left_out: set[tuple[str, str]]) -> None:
    todo = [item for item in of_document(document) if key(item) not in EXCUSED and key(item) not in left_out]
    if any("./app" in item.text or "your-mpi-program" in item.text for item in todo):
        reader.types(APPS.get(document, APP))
    if document == "docs/installing.md":  # it goes on with the README's program
        (reader.checkout / "sum.c").write_text(next(item.text for item in of_document("README.md") if item.language == "c"))
    for item in todo:
        reader.follows(item)


@pytest.mark.parametrize("document", WITH_ITEMS)
def test_a_reader_can_follow(document, reader):
    follow(reader, document, LONG)


@pytest.mark.full
@pytest.mark.parametrize("document", sorted({document for document, _ in LONG}))
def test_a_reader_can_follow_to_the_end(document, reader):
    follow(reader, document, set())


def test_no_row_is_stale():
    found = {key(item) for document in DOCUMENTS for item in of_document(document)}
    examples = {key(item) for document in DOCUMENTS for item in of_document(document) if item.language != COMMANDS}
    assert {*EXCUSED, *LONG, *AROUND, *SHAPES} - found == set()
    assert examples - {*SHAPES, *EXCUSED} == set(), "an example that nothing runs"
    assert (EXCUSED.keys() & LONG) | (EXCUSED.keys() & {*AROUND, *SHAPES}) == set()
    assert len(found) > 45 and len(EXCUSED) < len(found) / 3


def test_items_are_found_and_a_wrong_command_is_noticed(reader, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Text\n\n    false && true   # note\n    A=1 b\n\n```c\nint x;\n```\n<!-- generated: x -->\n```text\nout\n```\n<!-- end -->\n")
    assert [(i.line, i.language, i.text) for i in items(page, "p")] == [(3, "", "false && true"), (4, "", "A=1 b"), (6, "c", "int x;")]
    program = tmp_path / "page.c"
    program.write_text("/* Text:\n *\n *     gcc x\n */\nint x;\n\n    int y;\n")
    assert [i.text for i in items(program, "p")] == ["gcc x"]
    with pytest.raises(AssertionError, match="absent-command"):
        reader.types("absent-command")
    reader.types("export SEEN=yes; cd docs")
    assert reader.types("echo $SEEN $(basename $PWD)").stdout == "yes docs\n"
