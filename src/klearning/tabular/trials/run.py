"""`run`: an agent in a world, once for every seed."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from klearning.numerics import checks
from klearning.numerics.announcing import compiling_for
from klearning.numerics.cards import html_card, text_card
from klearning.numerics.frames import data_frame
from klearning.numerics.pictures import axes_or_new
from klearning.numerics.screen import ProgressBar
from klearning.numerics.statistics import FEWEST, Interval, mean_interval, median_interval
from klearning.numerics.types import Flags, Floats
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials import regret
from klearning.tabular.trials.agent import Agent, check_methods
from klearning.tabular.trials.task import Log
from klearning.tabular.trials.threads import on_threads
from klearning.tabular.trials.trial import Trial

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_LINES = 50  # seeds that are drawn one by one
CPU = "cpu"
DEVICES: dict[str, Callable[..., Any]] = {}  # where else seeds can be played: filled by rooms that know how


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """All that a batch of seeds produced; arrays are (seeds, episodes), or one number a seed."""

    agent: Agent
    world: MDP
    prior: Prior
    seeds: tuple[int, ...]
    optimal_value: float
    values: Floats  # exact value of the policy of every episode
    returns: Floats  # what was collected
    hits: Flags  # whether the goal was reached
    visits: Floats  # (seeds, S, A), over all episodes
    diagnostics: dict[str, Floats]  # what the agent says of every episode
    seconds: float

    @property
    def episodes(self) -> int:
        """How many each seed played."""
        return self.values.shape[1]

    @property
    def regret(self) -> Floats:
        """Exact cumulative regret."""
        return regret.cumulative_regret(self.optimal_value, self.values)

    @property
    def first_hit(self) -> Floats:
        """First episode that reached the goal; nan where none did."""
        return regret.first_hit(self.hits)

    @property
    def solved(self) -> Floats:
        """First episode by which 10% of the episodes so far reached the goal; nan where none."""
        return regret.time_to_solve(self.hits)

    def summary(self) -> str:
        """How it went, in a few lines: means and medians over the seeds, with 95% intervals."""
        return text_card(self._title(), self._facts())

    def frame(self) -> "DataFrame":
        """A pandas data frame, one row per seed and episode.

        Columns are seed, episode (from 1), value (exact, of that episode's policy), regret (cumulative, exact), return
        (what was collected), hit (whether the goal was reached), and what the agent says of every episode.
        """
        seeds, episodes = self.values.shape
        columns: dict[str, Any] = {
            "seed": np.repeat(self.seeds, episodes),
            "episode": np.tile(np.arange(1, episodes + 1), seeds),
            **{name: self._series(name).ravel() for name in self._names()},
            "hit": self.hits.ravel(),
        }
        return data_frame(columns)

    def plot(self, ax: Any = None, what: str = "regret", label: str | None = None) -> Any:
        """A thin line per seed and their mean, by episode; returns Matplotlib's axes.

        ``what`` is "regret", "value", "return" or one of the agent's diagnostics. Draw several on the same ``ax`` to
        compare them; the ``label`` is by default the agent's name. Ticks below are the seeds' first hits of the goal.
        """
        checks.choice("what", what, self._names())
        axes, lines = axes_or_new(ax), self._series(what)
        episodes = np.arange(1, lines.shape[1] + 1)
        name = label if label is not None else type(self.agent).__name__
        (mean,) = axes.plot(episodes, lines.mean(axis=0), linewidth=2, label=f"{name}, mean of {len(lines)}")
        for line in lines[:MOST_LINES] if len(lines) > 1 else ():
            axes.plot(episodes, line, color=mean.get_color(), linewidth=0.6, alpha=0.35)
        hits = self.first_hit[np.isfinite(self.first_hit)]
        if hits.size and what == "regret":
            name = "first hit of a seed"
            again = name in axes.get_legend_handles_labels()[1]
            axes.plot(
                hits, np.zeros_like(hits), "|", color=mean.get_color(), markersize=12, label=None if again else name
            )
        axes.set(xlabel="episode", ylabel="cumulative regret" if what == "regret" else what, title=self.world.name)
        axes.legend(frameon=False)
        return axes

    def _names(self) -> list[str]:
        return ["value", "regret", "return", *self.diagnostics]

    def _series(self, name: str) -> Floats:
        """(seeds, episodes)."""
        ours = {"value": self.values, "regret": self.regret, "return": self.returns}
        return ours[name] if name in ours else self.diagnostics[name]

    def _title(self) -> str:
        seeds, episodes = self.values.shape
        return f"{self.agent!r} in {self.world.name}: {seeds} seeds × {episodes:,} episodes, {self.seconds:.3g} s"

    def _facts(self) -> dict[str, str]:
        episodes, recent = self.values.shape[1], max(1, self.values.shape[1] // 10)
        last = f"last {recent:,} episodes" if recent > 1 else "last episode"
        facts = {
            "prior": repr(self.prior),
            "optimal value": f"{self.optimal_value:.4g}",
            f"regret after {episodes:,}": _told(mean_interval(self.regret[:, -1])),
            f"value, {last}": _told(mean_interval(self.values[:, -recent:].mean(axis=1))),
            f"return, {last}": _told(mean_interval(self.returns[:, -recent:].mean(axis=1))),
        }
        if self.world.goal is not None:
            for name, times in (("first hit", self.first_hit), ("solved", self.solved)):
                median = median_interval(times)
                told = f"median {_told(median)}" if np.isfinite(median.estimate) else "by fewer than half"
                facts[name] = f"{told}; {np.isfinite(times).sum()} of {len(times)} seeds"
        if len(self.seeds) < FEWEST:
            facts["intervals"] = f"none below {FEWEST} seeds"
        return facts

    def __repr__(self) -> str:
        return f"Runs({self._title()})"

    def _repr_html_(self) -> str:
        return html_card(self._title(), self._facts())


def _told(x: Interval) -> str:
    """An estimate with its interval, where it has one."""
    return f"{x.estimate:.4g}" + ("" if np.isnan(x.low) else f" [{x.low:.4g}, {x.high:.4g}]")


@overload
def run(
    agent: Agent,
    world: MDP,
    *,
    prior: Prior | None = None,
    episodes: int = 1000,
    seeds: int | Sequence[int] = 5,
    threads: int | None = None,
    evaluate_every: int = 1,
    progress: Callable[[int], None] | bool | None = None,
) -> Runs: ...


@overload
def run(
    agent: Agent,
    world: Any,
    *,
    prior: Prior | None = None,
    episodes: int = 1000,
    seeds: int | Sequence[int] = 5,
    threads: int | None = None,
    evaluate_every: int = 1,
    progress: Callable[[int], None] | bool | None = None,
    device: str,
) -> Any: ...


def run(
    agent: Agent,
    world: Any,
    *,
    prior: Prior | None = None,
    episodes: int = 1000,
    seeds: int | Sequence[int] = 5,
    threads: int | None = None,
    evaluate_every: int = 1,
    progress: Callable[[int], None] | bool | None = None,
    device: str = CPU,
) -> Any:
    """Let an agent learn in a world, once for every seed, in parallel.

    ``seeds`` is how many or which; results depend on nothing else. The policy's exact value is computed
    every ``evaluate_every`` episodes and carried over in between. ``progress=True`` shows a bar, in
    a terminal or a notebook; a function is called from time to time with the number of episodes just finished.

    ``device="gpu"`` plays all seeds at once in float32, with random numbers of its own: the same in law, not seed by
    seed. Where the arrays would take more than 2 GiB it returns a `gpu.Digest`: means and quantiles by episode, times
    and totals by seed.
    """
    check_methods(agent)
    checks.choice("device", device, (CPU, *DEVICES))
    like = world if device == CPU else getattr(world, "like", world)  # elsewhere each seed may have a world of its own
    if not isinstance(like, MDP):
        raise ValueError(f"world={world!r} is not an MDP: {_world_advice(world)}")
    episodes = checks.whole("episodes", episodes)
    numbers = seed_list(seeds)
    every = checks.whole("evaluate_every", evaluate_every)
    workers = checks.whole("threads", threads) if threads is not None else None
    knows = prior if prior is not None else Prior()
    if device != CPU:
        if every > 1 or workers is not None:
            raise ValueError(
                f"device={device!r} has threads of its own and evaluates every episode: "
                "leave out threads and evaluate_every"
            )
        return DEVICES[device](agent, world, knows, episodes, numbers, progress)
    with compiling_for(f"{type(agent).__name__} in {world.name}"):
        best = optimal_value(world)
        Trial(agent, world, knows, numbers[0], 1).advance(1)  # compiles, once, before the clock
    began = time.perf_counter()

    def play(seed: int, should_stop: Callable[[], bool]) -> Log:
        trial = Trial(agent, world, knows, seed, episodes, every)
        for count in trial.chunks():
            if tell is not None:
                tell(count)
            if should_stop():
                break
        return trial.log

    with ExitStack() as stack:
        bar = stack.enter_context(ProgressBar("episodes", len(numbers) * episodes)) if progress is True else None
        tell = progress if callable(progress) else bar
        log_of = dict(on_threads(play, numbers, workers))
    logs = [log_of[seed] for seed in numbers]
    talk = np.stack([log.diagnostics for log in logs], axis=1)
    return Runs(
        agent=agent,
        world=world,
        prior=knows,
        seeds=numbers,
        optimal_value=best,
        values=np.stack([log.values for log in logs]),
        returns=np.stack([log.returns for log in logs]),
        hits=np.stack([log.hits for log in logs]),
        visits=np.stack([log.visits.T for log in logs]),
        diagnostics=dict(zip(agent.diagnostics, talk, strict=True)),
        seconds=time.perf_counter() - began,
    )


def _world_advice(thing: Any) -> str:
    if callable(thing):
        return f"call it, {getattr(thing, '__name__', 'world')}(…)"
    if hasattr(thing, "reset"):
        return "let the agent learn in an environment, kl.learn(agent, env), or read its model, MDP.from_gymnasium(env)"
    return "give one, for example deep_sea(10)"


def seed_list(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """Which seeds are meant: so many from 0, or these."""
    if isinstance(seeds, Sequence | np.ndarray | range) and not isinstance(seeds, str):
        numbers = tuple(checks.whole(f"seeds[{i}]", s, 0) for i, s in enumerate(seeds))
    else:
        numbers = tuple(range(checks.whole("seeds", seeds)))
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds={seeds!r} is empty or has repeats: give how many, or distinct numbers")
    return numbers
