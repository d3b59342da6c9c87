"""Makes Fortran programs with every collective call, from Copse's own lists of them (faces/mpi/moves.def, neighbors.def and
reductions.def).

There is a program for each of MPI's three bindings. It has calls of every form (blocking, started, persistent) and width, out
of place and in place, for each datatype. It checks its results (expected.f90) and prints "fine: N checks".
"""

import itertools
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from copse import flavours, paths

HERE = Path(__file__).resolve().parent
BINDINGS = ("mpif.h", "mpi", "mpi_f08")
FORMS = ("blocking", "started", "persistent")
# The places of the data: plain, in place, at the absolute addresses of a type (MPI_BOTTOM), in every other element.
WAYS = ("plain", "in_place", "bottom", "strided")


@dataclass(frozen=True)
class Type:
    """A datatype: how to declare an element, and an expression for each of its parts, made from a number `c`."""

    handle: str
    declared: str
    parts: tuple[str, ...]
    reduced_by: str = "MPI_SUM"  # or none

    @property
    def fortran_largest(self) -> str:
        return ".true." if self.reduced_by == "MPI_MAXLOC" else ".false."


TYPES = {
    type.handle.removeprefix("MPI_"): type
    for type in (
        Type("MPI_INTEGER", "integer", ("c",)),
        Type("MPI_INTEGER2", "integer(2)", ("int(c, 2)",)),
        Type("MPI_INTEGER8", "integer(8)", ("int(c, 8) * 2_8**33",)),
        Type("MPI_REAL", "real", ("real(c)",)),
        Type("MPI_REAL8", "real(8)", ("real(c, 8)",)),
        Type("MPI_DOUBLE_PRECISION", "double precision", ("dble(c)",)),
        Type("MPI_COMPLEX", "complex", ("cmplx(c, -2 * c)",)),
        Type("MPI_DOUBLE_COMPLEX", "complex(kind(1d0))", ("cmplx(c, -2 * c, kind(1d0))",)),
        Type("MPI_LOGICAL", "logical", ("mod(abs(c), 2) == 1",), "MPI_LXOR"),
        Type("MPI_CHARACTER", "character", ("achar(iand(c, 127))",), ""),
        Type("MPI_BYTE", "integer(1)", ("int(iand(c, 127), 1)",), ""),
        Type("MPI_2INTEGER", "integer", ("c", "200 - c"), "MPI_MAXLOC"),
        Type("MPI_2REAL", "real", ("real(c)", "real(200 - c)"), "MPI_MAXLOC"),
        Type("MPI_2DOUBLE_PRECISION", "double precision", ("dble(c)", "dble(200 - c)"), "MPI_MAXLOC"),
        # Two integers with an untouched one in between. A Fortran function adds them.
        Type("pairs", "integer", ("c", "-7", "3 * c"), "add_pairs"),
    )
}


@dataclass(frozen=True)
class Call:
    """A collective call: its parameters with their C types, from the .def files."""

    name: str
    stem: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def names(self) -> list[str]:
        return [name for _, name in self.parameters]

    @property
    def reduces(self) -> bool:
        return "op" in self.names

    @property
    def among_neighbors(self) -> bool:
        """Among neighbours, a call does what the call of all ranks does if all ranks are neighbours."""
        return self.name.startswith("Neighbor_")

    @property
    def ways(self) -> tuple[str, ...]:
        """The MPI's operators are for its own types alone."""
        possible = {"plain": True, "in_place": "input" in self.names and not self.among_neighbors}
        return tuple(way for way in WAYS if possible.get(way, not self.reduces))

    @property
    def section(self) -> dict[str, str]:
        """Returns the buffer of a single block, as a part of an array: MPICH 4.0 puts a second block in the wrong place."""
        if self.name == "Bcast":
            return {"buffer": "output(1, :2 * mine - 1:2)", "type": "datatype"}
        array = "output" if self.name.startswith("Scatter") else "input"
        return {} if "alltoall" in self.stem else {array: f"{array}(1, :2 * mine - 1:2)", f"{array}_type": "datatype"}

    def arguments(self, way: str, large: bool, sections: bool) -> list[str]:
        known = {"buffer": "output", "type": "output_type"}
        if way == "in_place":
            known["output" if self.name.startswith("Scatter") else "input"] = "MPI_IN_PLACE"
        if way == "bottom":
            known |= dict.fromkeys(("buffer", "input", "output"), "MPI_BOTTOM")
        if way == "strided" and sections:
            known |= self.section
        return [self.argument(c_type, name, known, large) for c_type, name in self.parameters]

    def argument(self, c_type: str, name: str, known: dict[str, str], large: bool) -> str:
        wide = "wide_" if large else ""
        if name == "comm" and self.among_neighbors:
            return "graph"
        if "MPI_Aint" in c_type:
            return "wide_bytes"
        if "Displacement" in c_type:
            return wide + ("bytes" if self.name == "Alltoallw" else "places")
        if "Count" in c_type and "*" in c_type:
            return wide + "counts"
        if "Count" in c_type:
            value = known.get(name, "mine")
            return f"int({value}, MPI_COUNT_KIND)" if large else value
        return known.get(name, name)


def calls() -> list[Call]:
    files = [paths.ROOT / "faces" / "mpi" / name for name in ("moves.def", "neighbors.def", "reductions.def")]
    text = re.sub(r"//.*", "", "".join(file.read_text() for file in files))
    found = []
    for name, stem, parameters in re.findall(r"COPSE_CALL\((\w+), (\w+), \w+,\s*\(([^)]*)\)", text):
        split = [re.fullmatch(r"(.*?)(\w+)", parameter.strip()).groups() for parameter in parameters.split(",")]
        found.append(Call(name, stem, tuple((c_type.strip(), name) for c_type, name in split)))
    return found


@dataclass(frozen=True)
class Dialect:
    """What a binding of an MPI can do."""

    binding: str
    persistent: bool
    large: bool  # mpi_f08 with counts of MPI_COUNT_KIND
    faulty: tuple[str, str, str]  # name, form and way of a call for which the binding itself is wrong
    sections: bool  # a strided section of an array is allowed as a buffer (MPI_SUBARRAYS_SUPPORTED)

    @property
    def f08(self) -> bool:
        return self.binding == "mpi_f08"

    @property
    def use(self) -> str:
        return "" if self.binding == "mpif.h" else f"use {self.binding}"

    @property
    def include(self) -> str:
        return "include 'mpif.h'" if self.binding == "mpif.h" else ""

    def handle(self, kind: str) -> str:
        return f"type(MPI_{kind})" if self.f08 else "integer"

    @property
    def status(self) -> str:
        return "type(MPI_Status)" if self.f08 else "integer, dimension(MPI_STATUS_SIZE)"

    def statements(self, call: Call, type: Type) -> list[tuple[str, str, bool, str]]:
        """Yields form, way, width and statement of every call that this binding has."""
        sections = self.sections and len(type.parts) == 1
        found = []
        for form, way, large in itertools.product(FORMS, call.ways, (False, True)):
            if (form == "persistent" and not self.persistent) or (large and not self.large):
                continue
            if (call.name, form, way) == self.faulty:
                continue
            name = {"blocking": call.name, "started": f"I{call.stem}", "persistent": f"{call.name}_init"}[form]
            tail = {"blocking": ["ierr"], "started": ["request", "ierr"], "persistent": ["MPI_INFO_NULL", "request", "ierr"]}
            found.append((form, way, large, f"call MPI_{name}({', '.join(call.arguments(way, large, sections) + tail[form])})"))
        return found


def wrapped(statement: str) -> str:
    """Breaks a statement into lines that any compiler accepts."""
    lines, line = [], ""
    for part in re.split(r"(?<=, )", statement):
        if len(line) + len(part) > 110:
            lines.append(line + "&")
            line = ""
        line += part
    return "\n        ".join([*lines, line])


def routine(dialect: Dialect, type_name: str, type: Type) -> str:
    """Makes one call on arrays of one type and checks its result."""
    every = calls() if type.reduced_by else [call for call in calls() if not call.reduces]
    if type_name not in ("INTEGER", "pairs"):  # a type of the MPI's and one of the program's show what types change
        every = [call for call in every if not call.among_neighbors]
    numbers = {call.name: number for number, call in enumerate(calls())}
    cases = [
        f"case ({((numbers[call.name] * len(FORMS) + FORMS.index(form)) * len(WAYS) + WAYS.index(way)) * 2 + large})\n"
        f"      {wrapped(statement)}"
        for call in every
        for form, way, large, statement in dialect.statements(call, type)
    ]
    parts = range(1, len(type.parts) + 1)
    same = ".eqv." if type.declared == "logical" else "=="
    fill = [
        f"{array}({n}, :) = part_{n}(untouched)\n    {array}({n}, ::step) = part_{n}({values})"
        for array, values in (("input", "given"), ("output", "before"))
        for n in parts
    ]
    check = [
        f"right = right .and. all(output({n}, 0:step * checked - 1:step) {same} part_{n}(after(0:checked - 1)))\n"
        f"    if (step == 2) right = right .and. all(output({n}, 1::2) {same} part_{n}(untouched))"
        for n in parts
    ]
    functions = [
        f"""elemental {type.declared} function part_{n}(c)
      integer, intent(in) :: c
      part_{n} = {part}
    end function"""
        for n, part in zip(parts, type.parts, strict=True)
    ]
    return f"""
  subroutine make_{type_name}(number, form, way, large, datatype, op, root, comm)
    integer, intent(in) :: number, form, way, large, root
    {dialect.handle("Datatype")}, intent(in) :: datatype
    {dialect.handle("Op")}, intent(in) :: op
    {dialect.handle("Comm")}, intent(in) :: comm
    {dialect.handle("Datatype")} :: input_type, output_type, input_types(size(counts)), output_types(size(counts))
    {dialect.handle("Request")} :: request
    {type.declared}, allocatable, asynchronous :: input(:, :), output(:, :)
    integer(MPI_ADDRESS_KIND) :: low, extent, address(1), wide_places(size(counts)), wide_bytes(size(counts))
    integer(MPI_COUNT_KIND) :: wide_counts(size(counts))
    integer :: bytes(size(counts))
    integer :: step, ierr
    logical :: right
    step = merge(2, 1, way == {WAYS.index("strided")})
    allocate (input({len(parts)}, 0:step * room - 1), output({len(parts)}, 0:step * room - 1))
    {newlines(fill)}
    input_type = datatype
    output_type = datatype
    call MPI_Type_get_extent(datatype, low, extent, ierr)
    extent = step * extent
    if (way == {WAYS.index("bottom")}) then
      call MPI_Get_address(input, address(1), ierr)
      call MPI_Type_create_hindexed(1, [1], address, datatype, input_type, ierr)
      call MPI_Get_address(output, address(1), ierr)
      call MPI_Type_create_hindexed(1, [1], address, datatype, output_type, ierr)
    else if (step == 2) then
      call MPI_Type_create_resized(datatype, low, extent, input_type, ierr)
      call MPI_Type_create_resized(datatype, low, extent, output_type, ierr)
    end if
    call MPI_Type_commit(input_type, ierr)
    call MPI_Type_commit(output_type, ierr)
    input_types = input_type
    output_types = output_type
    bytes = places * int(extent)
    wide_bytes = bytes
    wide_counts = counts
    wide_places = places
    right = .true.
    select case (((number * {len(FORMS)} + form) * {len(WAYS)} + way) * 2 + large)
    {newlines(cases)}
    case default
      right = .false.
    end select
    if (input_type /= datatype) call MPI_Type_free(input_type, ierr)
    if (output_type /= datatype) call MPI_Type_free(output_type, ierr)
    if (.not. right) return
    if (form > 0) call finish(request, form == {FORMS.index("persistent")}, size(counts))
    {newlines(check)}
    call judge(right, number, form, way, large, '{type_name}')
  contains
    {newlines(functions)}
  end subroutine
"""


# MPI_Barrier in all forms, and an operator of the program's own.
BARRIERS = """
  subroutine barriers(comm)
    {comm}, intent(in) :: comm
    {request} :: request
    integer :: ranks, ierr
    call MPI_Comm_size(comm, ranks, ierr)
    call MPI_Barrier(comm, ierr)
    call MPI_Ibarrier(comm, request, ierr)
    call finish(request, .false., ranks){persistent}
  end subroutine
"""
PERSISTENT_BARRIER = """
    call MPI_Barrier_init(comm, MPI_INFO_NULL, request, ierr)
    call finish(request, .true., ranks)"""
OPERATOR = """
  subroutine add(input, output, length, datatype)
    integer :: length, datatype, input(3, length), output(3, length)
    output(1, :) = output(1, :) + input(1, :)
    output(3, :) = output(3, :) + input(3, :)
  end subroutine
"""
OPERATOR_F08 = """
  subroutine add(input, output, length, datatype)
    use iso_c_binding
    type(c_ptr), value :: input, output
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:, :), to(:, :)
    call c_f_pointer(input, from, [3, length])
    call c_f_pointer(output, to, [3, length])
    to(1, :) = to(1, :) + from(1, :)
    to(3, :) = to(3, :) + from(3, :)
  end subroutine
"""


def newlines(lines, indent: str = "    ") -> str:
    return f"\n{indent}".join(lines)


def program(dialect: Dialect, types: list[str]) -> str:
    """Returns the program text: the frame (frame.f90) filled with the parts that depend on the binding and the types."""
    every = calls()
    names = [call.name for call in every]
    frame = (HERE / "frame.f90").read_text()
    filled = {
        "USE": dialect.use,
        "INCLUDE": dialect.include,
        "STATUS": dialect.status,
        **{kind.upper(): dialect.handle(kind) for kind in ("Comm", "Datatype", "Op", "Request")},
        "NAMES": ", &\n    ".join(f"'{name:<20}'" for name in names),
        "CALLS": str(len(names)),
        "REDUCING": ", ".join(str(n) for n, call in enumerate(every) if call.reduces),
        "ROOTED": ", ".join(str(n) for n, call in enumerate(every) if "root" in call.names),
        "FORMS": str(len(FORMS) - 1 if dialect.persistent else len(FORMS) - 2),
        "LARGE": str(int(dialect.large)),
        "IN_PLACE": str(WAYS.index("in_place")),
        "WAYS": str(len(WAYS) - 1),
        "ROUTINES": "".join(routine(dialect, name, TYPES[name]) for name in types),
        "OPERATOR": OPERATOR_F08 if dialect.f08 else OPERATOR,
        "BARRIERS": BARRIERS.format(
            comm=dialect.handle("Comm"),
            request=dialect.handle("Request"),
            persistent=PERSISTENT_BARRIER if dialect.persistent else "",
        ),
        "FIRST": types[0],
        "TURNS": newlines(
            f"call every_call(make_{name}, {type.handle}, {type.reduced_by or 'MPI_OP_NULL'}, "
            f"{type.fortran_largest}, comms(i))"
            for name, type in ((name, TYPES[name]) for name in types)
        ),
    }
    return re.sub(r"@(\w+)@", lambda match: filled[match[1]], frame)


def build(flavour: flavours.Flavour, binding: str, types: list[str], folder: Path) -> Path:
    """Returns the program, compiled by the MPI's own wrapper of gfortran."""
    mpich = flavour.family is not flavours.OPEN_MPI
    # Intel's MPI_IEXSCAN takes MPI_IN_PLACE for a buffer, with and without Copse.
    faulty = ("Exscan", "started", "in_place") if flavour.family is flavours.INTEL else ("", "", "")
    f08ts = mpich and binding == "mpi_f08"
    dialect = Dialect(binding, mpich, f08ts, faulty, f08ts)
    source, made = folder / "program.f90", folder / "program"
    source.write_text(program(dialect, types))
    compiler = flavour.mpicc.with_name(flavour.mpicc.name.replace("mpicc", "mpif90"))
    # Intel's wrapper looks for gfortran's modules beside their folder in the wheel.
    major = subprocess.run(["gfortran", "-dumpversion"], capture_output=True, text=True, timeout=30).stdout.split(".")[0]
    modules = sorted((flavour.mpicc.parents[1] / "include" / "mpi" / "gfortran").glob(f"{major.strip()}.*"))
    # Without an interface (mpif.h) a compiler complains if a routine is called with arrays of different types.
    options = ["-O0", "-w", "-fallow-argument-mismatch", "-J", folder, *(f"-I{path}" for path in modules)]
    command = [compiler, *options, HERE / "expected.f90", source, "-o", made]
    done = subprocess.run(command, env=flavour.environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return made
