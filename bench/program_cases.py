"""The real programs of bench/programs.py: for each its package, its input, and how to read its results.

No input is downloaded. The inputs of HPCC and LAMMPS are a page of text each, and Quantum ESPRESSO's own ld1.x makes its
pseudopotential. Results are names with numbers: everything that a program writes and that does not depend on time.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from copse import flavours, paths
from copse.errors import CopseError

sys.path.insert(0, str(paths.ROOT / "tests" / "mpi"))
import mpi4py_suite  # noqa: E402

Results = Mapping[str, Sequence[float]]
Command = Sequence[str | Path]
DEBIAN = "openmpi-debian"  # the MPI that Debian's programs are linked with
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@dataclass(frozen=True)
class Case:
    """A program with an input."""

    name: str
    package: str  # Debian's, or empty
    executable: str
    about: str
    # Writes the input for this many ranks into a folder, small or as measured. Returns the program and its arguments.
    prepare: Callable[[Path, flavours.Flavour, int, bool], Command]
    results: Callable[[Path, str], Results]  # from the folder in which it ran and its standard output
    # The difference that the program itself tolerates, relative for numbers larger than one. Sums over ranks may be taken
    # in another order.
    tolerance: float
    mpis: tuple[str, ...] = (DEBIAN,)
    starts: bool = False  # collective calls, which helpers then make
    source: str = "of this repository"  # of what is in no package of Debian

    @property
    def missing(self) -> bool:
        return bool(self.package) and shutil.which(self.executable) is None

    @property
    def origin(self) -> str:
        command = ["dpkg-query", "-W", "-f", "${Package} ${Version}", self.package]
        return subprocess.run(command, capture_output=True, text=True).stdout if self.package else self.source


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(NUMBER, text)]


# HPCC: HPL, transposition, random access, FFT and bandwidth. Each checks its own results.

HPCC_INPUT = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{size}       Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows}       Ps
{columns}    Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""
HPCC_CHECKS = r"^(\w*(?:RnormI|Anorm[1I]|Xnorm[1I]|residual|Errors\w*|maxErr|Success|_N|_n)\w*)=(\S+)$"


def prepare_hpcc(folder: Path, flavour: flavours.Flavour, ranks: int, small: bool) -> Command:
    rows = max(n for n in range(1, ranks + 1) if ranks % n == 0 and n * n <= ranks)
    text = HPCC_INPUT.format(size=400 if small else 2000, rows=rows, columns=ranks // rows)
    (folder / "hpccinf.txt").write_text(text)
    return ["hpcc"]


def hpcc_results(folder: Path, printed: str) -> Results:
    text = (folder / "hpccoutf.txt").read_text()
    checks = {name: numbers(value) for name, value in re.findall(HPCC_CHECKS, text, re.MULTILINE)}
    if checks.get("Success") != [1.0] or "FAILED" in text or "PASSED" not in text:
        raise CopseError(f"HPCC's own checks failed in {folder}", "look at its hpccoutf.txt")
    return checks  # without the number of passed tests, because transposition repeats as time allows


# LAMMPS: a liquid of Lennard-Jones atoms, which is its usual benchmark, and a salt with long-range forces from FFTs.

LAMMPS_ENDS = """
thermo_modify format float %.17g
run {steps}
write_dump all custom final.dump id x y z vx vy vz modify sort id format float %.17g
"""
MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 20
"""
SALT = """units lj
atom_style charge
lattice custom 1.0 basis 0 0 0 basis 0.5 0.5 0 basis 0.5 0 0.5 basis 0 0.5 0.5 &
  basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 2 box
create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass * 1.0
set type 1 charge 1.0
set type 2 charge -1.0
velocity all create 1.0 87287 loop geom
pair_style lj/cut/coul/long 2.5
pair_coeff * * 1.0 0.9 2.5
kspace_style pppm 1.0e-4
fix 1 all npt temp 1.0 1.0 0.5 iso 1.0 1.0 5.0
timestep 0.002
thermo 10
"""


def lammps(text: str, cells: tuple[int, int], steps: tuple[int, int]) -> Callable[..., Command]:
    """Numbers of cells and steps, for the small input and for the measured one."""

    def prepare(folder: Path, flavour: flavours.Flavour, ranks: int, small: bool) -> Command:
        which = 0 if small else 1
        (folder / "in.txt").write_text((text + LAMMPS_ENDS).format(cells=cells[which], steps=steps[which]))
        return ["lmp", "-in", "in.txt", "-screen", "none"]

    return prepare


def lammps_results(folder: Path, printed: str) -> Results:
    thermo = re.findall(r"^Step .*?\n(.*?)^Loop time", (folder / "log.lammps").read_text(), re.MULTILINE | re.DOTALL)
    atoms = (folder / "final.dump").read_text().partition("ITEM: ATOMS")[2].partition("\n")[2]
    return {"thermo": numbers(thermo[-1]), "atoms": numbers(atoms)}


# Quantum ESPRESSO: silicon, scf with forces and stress.

SILICON_ATOM = """&input
  title='Si', prefix='Si', zed=14.0, rel=1, config='[Ne] 3s2 3p2 3d-2', iswitch=3, dft='PBE'
/
&inputp
  lloc=2, pseudotype=1, file_pseudopw='Si.UPF', tm=.true.
/
3
3S 1 0  2.00  0.00 2.10 2.10 0.0
3P 2 1  2.00  0.00 2.10 2.10 0.0
3D 3 2 -2.00  0.30 2.10 2.10 0.0
"""
SILICON = """&control
  calculation='scf', prefix='si', pseudo_dir='.', outdir='.', tprnfor=.true., tstress=.true.
/
&system
  ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc={cutoff}
/
&electrons
  conv_thr=1.0e-10
/
ATOMIC_SPECIES
Si 28.086 Si.UPF
ATOMIC_POSITIONS alat
Si 0.00 0.00 0.00
Si 0.26 0.24 0.25
K_POINTS automatic
{mesh} {mesh} {mesh} 1 1 1
"""


def pseudopotential(flavour: flavours.Flavour, scratch: Path) -> str:
    """Makes the file once, in a scratch folder, because ld1.x writes the date into it."""
    made = scratch / "Si.UPF"
    if not made.exists():
        done = subprocess.run(flavour.command(1, ["ld1.x"]), env=flavour.environment(), cwd=scratch, input=SILICON_ATOM,
                              capture_output=True, text=True, timeout=120)  # fmt: skip
        if done.returncode or not made.exists():
            raise CopseError(f"ld1.x made no pseudopotential: {(done.stdout + done.stderr)[-300:]}", "run it by hand")
    return made.read_text()


def prepare_silicon(folder: Path, flavour: flavours.Flavour, ranks: int, small: bool) -> Command:
    (folder / "Si.UPF").write_text(pseudopotential(flavour, folder.parent))
    (folder / "si.in").write_text(SILICON.format(cutoff=12 if small else 24, mesh=2 if small else 4))
    return ["pw.x", "-in", "si.in"]


def silicon_results(folder: Path, printed: str) -> Results:
    text = (folder / "si.xml").read_text()
    found = {
        name: numbers(" ".join(re.findall(rf"<{name}\b[^>]*>(.*?)</{name}>", text, re.DOTALL)))
        for name in ("etot", "eigenvalues", "forces", "stress")
    }
    if "convergence has been achieved" not in printed or not all(found.values()):
        raise CopseError(f"pw.x did not converge in {folder}", "look at what it printed")
    return found


# k-means in mpi4py.


def prepare_kmeans(folder: Path, flavour: flavours.Flavour, ranks: int, small: bool) -> Command:
    return [flavour.python, paths.ROOT / "examples" / "kmeans.py"]


# The Intel MPI Benchmarks. They do not look at the data that they move, so what they compute is what they have run.

IMB_END = "# All processes entering MPI_Finalize"  # their last line


def imb(name: str) -> Callable[..., Command]:
    """All benchmarks of a program, each size as often as is said here, however long that takes."""

    def prepare(folder: Path, flavour: flavours.Flavour, ranks: int, small: bool) -> Command:
        sizes = ["-iter", "5", "-msglog", "3:8"] if small else ["-iter", "100", "-msglog", "3:16"]
        return [flavours.imb(name), "-iter_policy", "off", *sizes]

    return prepare


def imb_results(folder: Path, printed: str) -> Results:
    """Returns sizes and repetitions by benchmark: the columns whose heads begin with #. The others are times."""
    if IMB_END not in printed:
        raise CopseError(f"the benchmarks did not come to their end in {folder}", f"look at what they printed: {printed[-300:]}")
    found: dict[str, list[float]] = {}
    name, columns = "", 0
    for line in printed.splitlines():
        if heading := re.match(r"# Benchmarking (\S+)", line):
            name = heading[1]
        elif re.match(r" *#(bytes|repetitions) ", line):
            columns = line.count("#")
        elif name and re.fullmatch(r"\s*\d[-\d.\s]*", line):
            found.setdefault(name, []).extend(map(float, line.split()[:columns]))
    return found


# mpi4py's own tests of collectives and communicators.

TESTS, SMALL_TESTS = r"^test_(cco_\w+|comm|comm_topo)\.py$", r"^test_cco_nb_\w+\.py$"  # the latter start their calls


def prepare_mpi4py(folder: Path, flavour: flavours.Flavour, ranks: int, small: bool) -> Command:
    for name in ("only", "done"):  # all tests run
        (folder / name).touch()
    options = ["-q", "-i", SMALL_TESTS if small else TESTS, *mpi4py_suite.LEFT_OUT.get(flavour.family, ())]
    return [flavour.python, mpi4py_suite.RANKS_PROGRAM, mpi4py_suite.SUITE, folder, *options]


def mpi4py_results(folder: Path, printed: str) -> Results:
    """Returns for each test and rank whether it passed or was skipped. If one fails, so does the whole program."""
    journals = [mpi4py_suite.read_journal(file) for file in sorted(folder.glob("[0-9]*"), key=lambda file: int(file.name))]
    if not journals or not all(journal.ended for journal in journals):
        raise CopseError(f"mpi4py's tests did not come to their end in {folder}", "run them with tests/mpi/mpi4py_suite.py")
    names = dict.fromkeys(name for journal in journals for name in journal.outcomes)
    return {name: [float(journal.outcomes.get(name) == "ok") for journal in journals] for name in names}


CASES = (
    Case("HPCC", "hpcc", "hpcc", "its whole suite, HPL of 2000 unknowns",
         prepare_hpcc, hpcc_results, 1e-6),
    Case("LAMMPS melt", "lammps", "lmp", "32,000 Lennard-Jones atoms, 200 steps",
         lammps(MELT, (6, 20), (50, 200)), lammps_results, 1e-8),
    Case("LAMMPS salt", "lammps", "lmp", "4,096 ions with PPPM at constant pressure, 100 steps",
         lammps(SALT, (4, 8), (30, 100)), lammps_results, 1e-8),
    Case("Quantum ESPRESSO", "quantum-espresso", "pw.x", "silicon, scf with forces and stress",
         prepare_silicon, silicon_results, 1e-7),
    Case("k-means", "", "", "examples/kmeans.py",
         prepare_kmeans, lambda folder, printed: {"printed": numbers(printed)}, 1e-9, flavours.NAMES),
)
# Programs whose time says little about others. They make every kind of call, and are there for their results.
CALLING_ALL = (
    Case("IMB-MPI1", "", "", "all its benchmarks up to 64 KiB; what has run is compared, because it does not look at the data",
         imb("IMB-MPI1"), imb_results, 0, ("mpich", "impi"), source="as Intel built it"),
    Case("IMB-NBC", "", "", "like IMB-MPI1, with started calls",
         imb("IMB-NBC"), imb_results, 0, ("mpich", "impi"), starts=True, source="as Intel built it"),
    Case("mpi4py's tests", "", "", "of collectives and communicators; which pass on each rank is compared",
         prepare_mpi4py, mpi4py_results, 0, ("mpich", "impi", "openmpi"), starts=True, source="from its source package"),
)  # fmt: skip
