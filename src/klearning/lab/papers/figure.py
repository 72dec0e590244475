"""A figure: the runs that it needs by key, how it reads, draws and checks them, and what it hands the report.

A figure's fields are how much is run; the command line changes those that a figure has (`seeds`, `depths`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from klearning.lab.experiments.interim_stopping import seeds_to_run
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.papers.claims import Claim, Verdict
from klearning.numerics.display.markup import Html
from klearning.numerics.display.plots import Picture
from klearning.numerics.types import Floats
from klearning.simulators.codec import agent_data
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.runs import Runs

R = TypeVar("R")  # what a figure reads from the store


@dataclass(frozen=True, eq=False)
class Protocol:
    """Settings by the name that runs carry in their specs, and where they come from: in a word, and in a note."""

    name: str
    word: str
    note: str

    def contestants(self) -> Mapping[str, Agent]:
        """The agents that take part, by the names that figures give them."""
        return {}

    @cached_property
    def labels(self) -> dict[str, str]:
        """The name of a contestant by its data."""
        return by_data(self.contestants())


def by_data(contestants: Mapping[str, Agent]) -> dict[str, str]:
    """The name of an agent by its data, as specs have it."""
    return {json.dumps(agent_data(agent), sort_keys=True): label for label, agent in contestants.items()}


class Curve(NamedTuple):
    """One of a plot. The class of its agent gives it its colour; a curve without one is there to compare with."""

    label: str
    family: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    note: list[str] | None = None  # said beside its points, e.g. how many seeds
    line: int = 1  # how it is dashed, 0, 1 or 2, if it has no class


class Plot(NamedTuple):
    """Curves on common axes, for a page."""

    title: str
    x_label: str
    y_label: str
    curves: list[Curve]
    caption: str
    x_log: bool = False
    y_log: bool = False


def mean_curve(label: str, family: str, x: Floats, paths: Floats) -> Curve:
    """The mean of paths, (runs, points), with its 95% interval by standard errors; rounding is not shown."""
    shown = paths.round(9)
    mean, error = shown.mean(axis=0), 1.96 * shown.std(axis=0, ddof=1) / np.sqrt(len(shown))
    return Curve(label, family, x, mean, mean - error, mean + error)


def least_optimism(runs: Runs) -> float:
    """The least of mean bound − mean V* over all episodes, in standard errors: below zero it is not a bound."""
    slack = runs.diagnostics["bound"] - runs.optimal_values[:, None]
    error = slack.std(axis=0, ddof=1) / np.sqrt(len(slack))
    return float((slack.mean(axis=0) / error).min())


class Introduction(NamedTuple):
    """A section with which a page begins, and the script that starts it, if it has one."""

    markup: Html
    script: str = ""


@dataclass(frozen=True, eq=False)
class Figure(Generic[R]):
    """One picture of a paper, under one protocol if it has several. A subclass brings what its figure has."""

    name: str
    protocol: Protocol | None = None

    by_name_only: ClassVar[bool] = False  # a long study, run only if it is asked for
    looks: ClassVar[Sequence[int]] = ()  # seeds after which an agent that cannot solve a world is run no more
    caption: ClassVar[str] = ""  # below its part of a page
    title: ClassVar[str] = ""  # of its claims on a page; without one a subclass has a `verdict` of its own

    @property
    def file(self) -> str:
        return f"{self.name}_{self.protocol.name}" if self.protocol else self.name

    def small(self) -> Self:
        """The quick version."""
        return self

    def at_size(self, quick: bool, options: Mapping[str, Any]) -> Self:
        """At the size that was asked for; an option that is not a field of this figure is another's."""
        figure = self.small() if quick else self
        own = {field.name for field in fields(figure)}
        return replace(figure, **{key: value for key, value in options.items() if key in own and value is not None})

    # from runs to a picture

    def runs(self) -> Mapping[Any, Spec]:
        """The specs that must be in the store, by the key that `read` uses; if there are `looks`, at most these."""
        return {}

    @cached_property
    def specs(self) -> Mapping[Any, Spec]:
        """`runs`, made once."""
        return self.runs()

    def wanted(self, store: Store) -> list[Spec]:
        """The parts of them that are to be run, as far as the store tells: all, if there are no looks."""
        return seeds_to_run(self.specs.values(), store, self.looks)

    def results(self, store: Store) -> dict[Any, Runs]:
        """Results of `runs`, by key, of as many seeds as the looks let run; KeyError if a part is missing."""
        wanted = {part.name for part in self.wanted(store)}
        parts = {key: [part for part in spec.parts if part.name in wanted] for key, spec in self.specs.items()}
        return {key: store.runs(own) for key, own in parts.items() if own}

    def read(self, store: Store) -> R:
        """The results to draw and check, from the store alone; KeyError if a run is missing."""
        raise NotImplementedError

    def read_largest(self, store: Store) -> tuple[Self, R] | None:
        """At the size that was run; the quick one if that is all there is."""
        for figure in (self, self.small()):
            try:
                return figure, figure.read(store)
            except (KeyError, ValueError):
                continue
        return None

    def draw(self, results: R, command: str) -> Picture | None:
        """A Matplotlib figure with the command on it; None if there is nothing to draw."""
        return None

    def claims(self, results: R) -> list[Claim]:
        """The paper's sentences on it."""
        return []

    def table(self, results: R) -> str:
        """Its numbers in Markdown, if it has a page of them."""
        return ""

    # what the report asks for

    def contestants(self) -> Mapping[str, Mapping[str, Agent]]:
        """Its agents by name, under the name of a protocol that only this figure has."""
        return {}

    def command_arguments(self, specs: Sequence[Spec]) -> str:
        """Arguments of `klearning reproduce` that make these runs and few others; empty if they are not part of it."""
        names = {spec.name for spec in specs}
        sizes = {words: len(own) for words, own in self._names_by_arguments.items() if names <= own}
        return min(sizes, key=lambda words: sizes[words], default="")

    @cached_property
    def _names_by_arguments(self) -> dict[str, set[str]]:
        protocol = f" --protocol {self.protocol.name}" if self.protocol else ""
        sizes = {"": self, " --quick": self.small()}
        return {
            f"{self.name}{protocol}{option}": {part.name for spec in figure.specs.values() for part in spec.parts}
            for option, figure in sizes.items()
        }

    def introduction(self, summary: StoreSummary) -> Introduction | None:
        """A warning that a reader needs first, if it concerns the runs of the store."""
        return None

    def section(self, summary: StoreSummary) -> Html | None:
        """This figure on a page, if the store has its runs."""
        return None

    def plots(self, results: R) -> Sequence[Plot]:
        """Its comparisons, for a page to draw in its own way."""
        return ()

    @property
    def size(self) -> str:
        """How much is run, in words."""
        return ""

    def verdict(self, summary: StoreSummary) -> Verdict | None:
        """Its claims in what the store holds, at the size that was run; None if that is not enough."""
        if not self.title or (largest := self.read_largest(summary.store)) is None:
            return None
        figure, results = largest
        return Verdict(self.title, figure.size, figure.claims(results))

    def references(self, specs: Sequence[Spec], axis: str, x: Floats) -> list[Curve]:
        """Curves that belong beside these runs in a chart against ``axis``, a parameter of worlds or `episode`."""
        return []
