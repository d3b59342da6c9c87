"""The MPI flavours with which Copse is run, tested and measured. Only this module knows how each is started.

A flavour is one installed MPI: one of three that tools/setup takes from PyPI (MPICH 5, Intel MPI, Open MPI 5) or one of
two from Debian (MPICH 4.0, Open MPI 4.1). Where Copse is installed, the first three are what is found on PATH. Launcher options and preload libraries depend on the family. Intel MPI is a
family of its own, because it has MPICH's ABI but pins and yields by its own variables.

    from copse import flavours
    for flavour in flavours.installed():
        command = flavour.command(2, ["./app"], pinned=True)
        subprocess.run(command, env=flavour.environment())

`copse run` imports this module before each program. So what takes long to import is imported only where it is used, and the classes
are named tuples: `dataclasses` imports `inspect`, which takes longer than any other module here.
"""

import os
import re
import shutil
import sys
from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from . import paths
from .errors import CopseError


def siblings_of(processor: int) -> set[int]:
    """Returns the processors of its core."""
    try:
        listed = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list").read_text()
    except OSError:
        return {processor}
    ends = [list(map(int, part.split("-"))) for part in listed.strip().split(",")]
    return {number for part in ends for number in range(part[0], part[-1] + 1)}


def processors_by_core() -> list[int]:
    """Returns the processors that may be used: first one of each core, then the second ones, and so on."""
    usable = os.sched_getaffinity(0)
    return sorted(usable, key=lambda processor: (sum(other < processor for other in siblings_of(processor) & usable), processor))


def number_of_cores() -> int:
    """Returns the number of cores of which at least one processor may be used."""
    usable = os.sched_getaffinity(0)
    return sum(processor == min(siblings_of(processor) & usable) for processor in usable)


class Family(namedtuple("Family", "name title preload sonames version_pattern yielding hierarchical preload_option preload_joins")):
    """What all MPIs with the same ABI and launcher share.

    - preload: the library in build/lib that serves its classic ABI
    - sonames: names of the classic ABI's libmpi
    - version_pattern: finds the version in what `mpiexec --version` prints
    - yielding: launcher options for more ranks than cores: peers run at their best
    - hierarchical: launcher options for several nodes: ways that know of nodes, where the MPI would choose others
    - preload_option: sets a variable for the ranks, but not for the launcher
    - preload_joins: whether that option takes NAME=VALUE as one argument, not NAME VALUE
    """

    def variable(self, name: str, value: str) -> list[str]:
        """Returns launcher options that set `name` for every rank but not for the launcher."""
        return [self.preload_option, f"{name}={value}"] if self.preload_joins else [self.preload_option, name, value]

    def pinning(self, ranks: int) -> list[str]:
        """Returns launcher options that put rank r on core r."""
        cores = processors_by_core()[:ranks]
        if len(cores) < ranks:
            raise CopseError(f"cannot pin {ranks} ranks to {len(cores)} usable cores", "use fewer ranks or do not pin")
        listed = ",".join(map(str, cores))
        if self is INTEL:
            return self.variable("I_MPI_PIN_PROCESSOR_LIST", listed)
        if self is OPEN_MPI:  # it has a place for each core, unless it is told to count hardware threads
            if ranks <= number_of_cores():
                return ["--bind-to", "core", "--map-by", "core"]
            return ["--use-hwthread-cpus", "--bind-to", "hwthread", "--map-by", "hwthread"]
        return ["-bind-to", f"user:{listed}"]


def _genv(**variables: object) -> tuple[str, ...]:
    """Returns the options by which MPICH's launcher, and Intel's, set variables for all ranks."""
    return tuple(word for name, value in variables.items() for word in ("-genv", name, str(value)))


# What an MPI can be told about its nodes. By default, MPICH and Intel MPI choose among ways that know of nodes and ways that do not, and
# Open MPI uses HAN (its priority is above tuned's), with libnbc between the nodes. So these are second opinions.
# - MPICH: compositions (doc/mpich/tuning_parameters.md, 2.2). 1 is one leader for each node; several leaders are 4 for an allreduce, and 1
#   for allgather and alltoall. Without a size for its memory, the first allreduce would set it.
# - Intel MPI: the algorithms that its reference of I_MPI_ADJUST calls "topology aware". Where there are several, one for short
#   messages and one for long ones.
# - Open MPI: ADAPT between the nodes, under HAN.
_LONG = "65537-2147483647"
MPICH_HIERARCHY = _genv(
    MPIR_CVAR_BARRIER_COMPOSITION=1,
    MPIR_CVAR_BCAST_COMPOSITION=1,
    MPIR_CVAR_REDUCE_COMPOSITION=1,
    MPIR_CVAR_ALLREDUCE_COMPOSITION=4,
    MPIR_CVAR_ALLREDUCE_SHM_PER_LEADER=1 << 20,
    MPIR_CVAR_ALLGATHER_COMPOSITION=1,
    MPIR_CVAR_ALLTOALL_COMPOSITION=1,
)
INTEL_HIERARCHY = _genv(
    I_MPI_ADJUST_BARRIER=4,
    I_MPI_ADJUST_BCAST=f"4:0-65536;6:{_LONG}",
    I_MPI_ADJUST_REDUCE=f"4:0-65536;6:{_LONG}",
    I_MPI_ADJUST_ALLREDUCE=f"6:0-65536;4:{_LONG}",
    I_MPI_ADJUST_GATHER=2,
    I_MPI_ADJUST_GATHERV=2,
    I_MPI_ADJUST_SCATTER=2,
    I_MPI_ADJUST_SCATTERV=2,
    I_MPI_ADJUST_ALLGATHER=4,
    I_MPI_ADJUST_ALLGATHERV=4,
    I_MPI_ADJUST_REDUCE_SCATTER=5,
    I_MPI_ADJUST_SCAN=2,
    I_MPI_ADJUST_EXSCAN=2,
)
OPEN_MPI_HIERARCHY = tuple(word for call in ("bcast", "reduce", "allreduce") for word in ("--mca", f"coll_han_{call}_up_module", "1"))

MPICH = Family(
    name="mpich",
    title="MPICH",
    preload="libcopse-mpi-mpich.so",
    sonames=("libmpi.so.12", "libmpich.so.12"),
    version_pattern=r"HYDRA build details:\s+Version:\s+(\S+)",
    # fmt: off
    yielding=("-genv", "MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1",
              "-genv", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "16"),
    # fmt: on
    hierarchical=MPICH_HIERARCHY,
    preload_option="-genv",
    preload_joins=False,
)
INTEL = Family(
    name="impi",
    title="Intel MPI",
    preload=MPICH.preload,
    sonames=("libmpi.so.12",),
    version_pattern=r"Intel\(R\) MPI Library.*Version\s+(\S+)",
    yielding=("-genv", "I_MPI_THREAD_YIELD", "2"),
    hierarchical=INTEL_HIERARCHY,
    preload_option="-genv",
    preload_joins=False,
)
OPEN_MPI = Family(
    name="openmpi",
    title="Open MPI",
    preload="libcopse-mpi-openmpi.so",
    sonames=("libmpi.so.40",),
    version_pattern=r"\((?:Open MPI|OpenRTE)\)\s+(\S+)",
    yielding=("--oversubscribe", "--mca", "mpi_yield_when_idle", "1"),
    hierarchical=OPEN_MPI_HIERARCHY,
    preload_option="-x",
    preload_joins=True,
)
FAMILIES = (INTEL, OPEN_MPI, MPICH)  # the most specific version pattern first

STANDARD_ABI_SONAME = "libmpi_abi.so.1"
STANDARD_ABI_PRELOAD = "libcopse-mpi-abi.so"


def family_named(name: str) -> Family:
    """The family that a flavour belongs to."""
    if name not in _FINDERS:
        raise CopseError(f"there is no MPI flavour {name!r}", f"use one of: {', '.join(NAMES)}")
    return _FINDERS[name][1]


class Flavour(namedtuple("Flavour", "name family mpicc mpiexec python libraries extra")):
    """One installed MPI.

    - mpicc, mpiexec: the paths of its compiler and launcher
    - python: a Python with mpi4py that runs on this MPI, in environment()
    - libraries: the folder of its libmpi if the loader would not find it by itself, else None
    - extra: the variables that it needs
    """

    @cached_property
    def version(self) -> str:
        import subprocess

        printed = subprocess.run(
            [self.mpiexec, "--version"], capture_output=True, text=True, env=self.environment(), timeout=30
        ).stdout
        found = re.search(self.family.version_pattern, printed)
        return found[1] if found else "unknown"

    @property
    def title(self) -> str:
        return f"{self.family.title} {self.version}"

    def program(self, source: Path, *libraries: str) -> Path:
        """Returns the program of a C file. Compiles it, unless that was done before for the same text, headers and compiler."""
        import subprocess

        from . import files

        read = b"".join(file.read_bytes() for file in [source, *sorted(source.parent.glob("*.h"))])
        key = files.digest(read + os.fsencode(self.mpicc.resolve()))
        program = paths.cache() / "bench" / "bin" / self.name / f"{source.stem}-{key}"
        if not program.exists():
            with files.replaced(program, 0o777) as new:
                command = [self.mpicc, "-O2", "-std=gnu11", source, "-o", new, *libraries]
                done = subprocess.run(command, env=self.environment(), capture_output=True, text=True)
                if done.returncode:
                    raise CopseError(f"{self.mpicc} cannot compile {source.name}: {done.stderr}", paths.make("setup"))
        return program

    @cached_property
    def libmpi(self) -> Path:
        """The library file of the classic ABI."""
        if found := library_in([self.libraries] if self.libraries else loader_folders(), self.family):
            return found
        raise CopseError(f"{self.name} has no {' or '.join(self.family.sonames)}", paths.make("setup"))

    @cached_property
    def standard_abi(self) -> Path | None:
        """The library file of the MPI standard ABI, or None if this MPI has none."""
        found = self.libraries / STANDARD_ABI_SONAME if self.libraries else None
        return found if found and found.exists() else None

    @property
    def preload(self) -> Path:
        """The preload library that serves programs linked with this MPI's classic ABI."""
        return paths.PRELOAD_FOLDER / self.family.preload

    @property
    def world_library(self) -> Path:
        """The library that stands before `preload` if some ranks are helpers."""
        return paths.PRELOAD_FOLDER / world_library_of(self.family.preload)

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Returns `base` (default: the caller's environment) with what this MPI's compiler, launcher and ranks need."""
        result = dict(os.environ if base is None else base)
        result.update(self.extra)
        result["PATH"] = f"{self.mpiexec.parent}:{result.get('PATH', os.defpath)}"
        if self.libraries:
            result["LD_LIBRARY_PATH"] = ":".join(
                filter(None, [str(self.libraries), result.get("LD_LIBRARY_PATH")])
            )
        return result

    def command(
        self,
        ranks: int,
        program: Sequence[str | Path],
        *,
        pinned: bool = False,
        crowded: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Returns the command that runs `program` on `ranks` ranks of this machine. Start it with environment().

        If there are more ranks than usable cores, or if the machine is `crowded` with other work, the MPI's own yielding is
        switched on, as its makers would do. `variables` are set only for the ranks. `pinned` puts rank r on core r.
        """
        command = [str(self.mpiexec)]
        if self.family is OPEN_MPI and os.geteuid() == 0:
            command.append("--allow-run-as-root")
        if pinned:
            command += self.family.pinning(ranks)
        if crowded or ranks > len(os.sched_getaffinity(0)):
            command += self.family.yielding
        for name, value in (variables or {}).items():
            command += self.family.variable(name, value)
        return [*command, "-n", str(ranks), *map(str, program)]


def world_library_of(preload: str) -> str:
    """Returns the name of the library that stands before a preload library if some ranks are helpers."""
    return preload.replace("copse-mpi-", "copse-world-")


def loader_folders() -> list[Path]:
    """Returns the folders in which the loader finds an MPI's library by itself."""
    import subprocess

    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, env={"PATH": "/sbin:/usr/sbin"}).stdout
    return sorted({Path(line.split("=>")[1].strip()).parent for line in listed.splitlines() if "libmpi" in line})


def library_in(folders: Sequence[Path], family: Family) -> Path | None:
    """Returns the first libmpi of the family's classic ABI in these folders, or None."""
    files = (folder / soname for folder in folders for soname in family.sonames)
    return next((file for file in files if file.exists()), None)


def family_in(prefix: Path) -> Family | None:
    """Returns the family whose libmpi lies in a prefix's lib or lib64. None if there is none, or more than one."""
    beside = {
        family.name: family
        for folder in ("lib", "lib64")
        for family in FAMILIES
        for soname in family.sonames
        if (prefix / folder / soname).exists()
    }
    if INTEL.name in beside:  # Intel MPI and MPICH share a soname
        intel = (prefix / "bin" / "impi_info").exists()
        del beside[MPICH.name if intel else INTEL.name]
    return next(iter(beside.values())) if len(beside) == 1 else None


def _prefix_on_path(family: Family) -> Path | None:
    """Returns the prefix of the first MPI of a family on PATH that has launcher, compiler and library in one place."""
    for folder in map(Path, os.get_exec_path()):
        if (folder / "mpiexec").exists() and (folder / "mpicc").exists() and family_in(folder.resolve().parent) is family:
            return folder.resolve().parent
    return None


def _from_prefix(name: str, family: Family) -> Flavour | None:
    prefix = _prefix_on_path(family) if paths.INSTALLED else paths.MPI_FOLDER / name
    if prefix is None or not (prefix / "bin" / "mpiexec").exists():
        return None
    libraries = next(folder for folder in (prefix / "lib", prefix / "lib64") if any((folder / so).exists() for so in family.sonames))
    extra = {}
    if family is INTEL:  # its scripts need these two to find their parts
        extra = {"I_MPI_ROOT": str(prefix), "FI_PROVIDER_PATH": str(libraries)}
    python = prefix / "bin" / "python"
    return Flavour(
        name=name,
        family=family,
        mpicc=prefix / "bin" / "mpicc",
        mpiexec=prefix / "bin" / ("mpiexec.hydra" if family is INTEL else "mpiexec"),
        python=python if python.exists() else Path(sys.executable),
        libraries=libraries,
        extra=extra,
    )


def _from_debian(name: str, family: Family) -> Flavour | None:
    mpicc, mpiexec = shutil.which(f"mpicc.{family.name}"), shutil.which(f"mpiexec.{family.name}")
    if not mpicc or not mpiexec:
        return None
    if family is MPICH:
        # Debian calls its library libmpich.so.12. tools/setup makes a link to it, so that programs built for any
        # other MPICH (mpi4py's wheel, Intel's benchmarks) find it as libmpi.so.12.
        # Its UCX uses TCP beside shared memory. MPI_Finalize then hangs now and then: rank 0 waits for the flush of a
        # connection that the other ranks have left. One node needs only shared memory.
        links = paths.MPI_FOLDER / name / "lib"
        libraries, extra = links if links.exists() else None, {"MPI4PY_MPIABI": "mpich", "UCX_TLS": "self,sm"}
    else:
        library = library_in(loader_folders(), OPEN_MPI)
        libraries, extra = None, {"MPI4PY_LIBMPI": str(library)}
    python = Path(sys.executable) if paths.INSTALLED else paths.MPI_FOLDER / family.name / "bin" / "python"
    return Flavour(name, family, Path(mpicc), Path(mpiexec), python, libraries, extra)


_FINDERS = {
    "mpich": (_from_prefix, MPICH),
    "impi": (_from_prefix, INTEL),
    "openmpi": (_from_prefix, OPEN_MPI),
    "mpich-debian": (_from_debian, MPICH),
    "openmpi-debian": (_from_debian, OPEN_MPI),
}
NAMES = tuple(_FINDERS)
MISSING = "install it, or put the folder of its mpiexec and mpicc on PATH"


def find(name: str) -> Flavour:
    """Returns the flavour of that name. Raises CopseError if there is none or if it is not installed."""
    family = family_named(name)
    finder, _ = _FINDERS[name]
    flavour = finder(name, family)
    if flavour is None:
        raise CopseError(f"the MPI flavour {name} is not installed", MISSING if paths.INSTALLED else paths.make("setup"))
    return flavour


def installed() -> list[Flavour]:
    """Returns all flavours that this machine has, in the order of NAMES."""
    return [flavour for name, (finder, family) in _FINDERS.items() if (flavour := finder(name, family))]


def imb(name: str = "IMB-MPI1") -> Path:
    """Returns a program of the Intel MPI Benchmarks, as their makers built it. It runs on every flavour of MPICH's ABI."""
    program = _imb(name)
    if program is None:
        raise CopseError(f"{name} is not installed", "put its folder on PATH, or use: --own" if paths.INSTALLED else paths.make("setup"))
    return program


def has_imb(name: str = "IMB-MPI1") -> bool:
    return _imb(name) is not None


def _imb(name: str) -> Path | None:
    ours = paths.MPI_FOLDER / "impi" / "bin" / name
    found = shutil.which(name) if paths.INSTALLED else str(ours) if ours.exists() else None
    return Path(found) if found else None
