"""What the user of `copse bench` asks for, as the functions that measure read it."""

from contextlib import AbstractContextManager
from functools import cached_property
from types import SimpleNamespace

from rich.console import Console

from . import bench, flavours, quiet
from .cluster import Cluster


class Asked(SimpleNamespace):
    """The options of one command by their names, and the parser's context, which knows which of them the user has given."""

    def gives(self, name: str) -> bool:
        source = self.context.get_parameter_source(name)
        return source is not None and source.name == "COMMANDLINE"

    def words(self, name: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
        return bench.chosen_words(getattr(self, name), known, what)

    def sizes_or(self, otherwise: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the sizes that the user gives, or `otherwise`."""
        return bench.chosen_numbers(self.sizes, "size", 8, suffixes=True) if self.gives("sizes") else otherwise

    def counts(self, what: str = "number of ranks") -> tuple[int, ...]:
        """Returns the numbers of ranks. Each emulated node has the same number of them, by default two."""
        return bench.chosen_numbers(str(2 * self.nodes) if self.nodes > 1 and not self.gives("ranks") else self.ranks, what, self.nodes)

    def found(self) -> list[flavours.Flavour]:
        return bench.chosen_flavours(self.against)

    def here(self) -> AbstractContextManager[Cluster | None]:
        """Returns the context in which the emulated nodes exist, if there are any."""
        return bench.emulated(self.nodes, self.rate, self.delay)

    @cached_property
    def progress(self) -> Console:
        return Console(stderr=True)

    @cached_property
    def patient(self) -> quiet.Patience:
        # The programs on emulated nodes are no children of this one, so they would count as others.
        limit = 1 if self.busy or self.nodes > 1 else quiet.LIMIT
        return quiet.Patience(0 if self.busy else self.patience, self.progress.print, limit=limit)
