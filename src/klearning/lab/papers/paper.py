"""A paper: its protocols and figures, and how much of it is run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.papers.claims import Verdict
from klearning.lab.papers.figure import Figure, Protocol, by_data
from klearning.numerics import checks


@dataclass(frozen=True, eq=False)
class FigureSelection:
    """How much of a paper is run: figures, each at its own size, and the command that says so."""

    figures: tuple[Figure[Any], ...]
    command: str

    def specs(self) -> list[Spec]:
        """All runs that any figure may need."""
        return [spec for figure in self.figures for spec in figure.specs.values()]

    def wanted(self, store: Store) -> list[Spec]:
        """Those of them that are to be run, as far as the store tells; more, perhaps, once they are there."""
        return [spec for figure in self.figures for spec in figure.wanted(store)]


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper. Its figures are the FIGURES of the module ``home``, and of every module in it if it is a folder.

    GPU_FIGURES are those of its figures, by the same names, that a GPU plays for very many seeds.
    """

    name: str
    title: str
    home: str
    protocols: Mapping[str, Protocol] = field(default_factory=dict)
    remark: str = ""  # said beside its claims
    leads: tuple[str, ...] = ()  # agents that a page shows first, by the names of their classes

    @cached_property
    def figures(self) -> tuple[Figure[Any], ...]:
        return self._gathered("FIGURES")

    @cached_property
    def gpu_figures(self) -> tuple[Figure[Any], ...]:
        return self._gathered("GPU_FIGURES")

    def _gathered(self, where: str) -> tuple[Figure[Any], ...]:
        """Protocol by protocol, then those without one; within these by name."""
        home = import_module(self.home)
        folder = getattr(home, "__path__", None)
        inside = iter_modules(folder) if folder is not None else ()  # iter_modules(None) would be all there are
        modules = [home, *(import_module(f"{self.home}.{module.name}") for module in inside)]
        figures = [figure for module in modules for figure in getattr(module, where, ())]
        order = [*self.protocols.values(), None]
        return tuple(sorted(figures, key=lambda figure: (order.index(figure.protocol), figure.name)))

    @property
    def figure_names(self) -> list[str]:
        return sorted({figure.name for figure in self.figures})

    def select(
        self,
        names: Sequence[str] = (),
        command: str = "klearning reproduce",
        *,
        quick: bool = False,
        protocol: str | None = None,
        device: str = "cpu",
        options: Mapping[str, Any] = {},
    ) -> FigureSelection:
        """The figures of these names, or all but long studies; ``options`` are fields of figures."""
        checks.choice("device", device, ("cpu", "gpu"))
        offered = self.figures if device == "cpu" else self.gpu_figures
        able = sorted({figure.name for figure in offered})
        for name in names:
            checks.choice("figure", name, self.figure_names)
            if name not in able:
                known = f"which can do {', '.join(able)}" if able else "nor has any other of this paper"
                raise ValueError(f'{name} has no program for device="gpu", {known}: use device="cpu"')
        if protocol is not None:
            checks.choice("protocol", protocol, self.protocols)
        figures = [
            figure.at_size(quick, options)
            for figure in offered
            if (figure.name in names if names else not figure.by_name_only)
            and (protocol is None or figure.protocol is None or figure.protocol.name == protocol)
        ]
        return FigureSelection(tuple(figures), command)

    def labels(self, protocol: str) -> dict[str, str]:
        """The paper's name for an agent under a protocol, by the agent's data; empty if it has no such protocol."""
        return self._labels.get(protocol, {})

    @cached_property
    def _labels(self) -> dict[str, dict[str, str]]:
        own = {name: agents for figure in self.figures for name, agents in figure.contestants().items()}
        return {name: protocol.labels for name, protocol in self.protocols.items()} | {
            name: by_data(agents) for name, agents in own.items()
        }

    def command_arguments(self, specs: Sequence[Spec]) -> str:
        """Arguments of `klearning reproduce` that make these runs; empty if they are not this paper's."""
        return next((words for figure in self.figures if (words := figure.command_arguments(specs))), "")

    def verdicts(self, summary: StoreSummary) -> Iterator[Verdict]:
        """The claims of every figure that the store can tell about."""
        return (verdict for figure in self.figures if (verdict := figure.verdict(summary)) is not None)
