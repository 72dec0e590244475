"""Runnables of a spec: a trial in a world, a match in a game, several of these one after the other, or seeds on a GPU.

A `Runnable` is played in chunks, so that it can be left after any of them, and gone on with from its state, to the same
bytes. Its result is arrays, those of one run or with an axis of seeds (`klearning.tabular.trials.runs`).
"""

import threading
from collections.abc import Generator, Iterable
from typing import Protocol

import numpy as np

from klearning import gpu
from klearning.games.match import Match
from klearning.lab.experiments.spec import Spec, build_agent, build_match, build_prior, build_world
from klearning.numerics.types import Arrays
from klearning.tabular.models.mdp import optimal_value
from klearning.tabular.trials import regret
from klearning.tabular.trials.runs import at_points, stacked
from klearning.tabular.trials.trial import Trial

ONE_AT_A_TIME = threading.Lock()  # a job has the device to itself
FIRST_CHUNK = 500  # episodes of one of many runs: they are short, and a call of a kernel is expensive beside one


class Runnable(Protocol):
    """The episodes of a spec."""

    @property
    def played(self) -> int:
        """How many episodes, of all runs."""

    @property
    def done(self) -> bool: ...

    def chunks(self, stops: Iterable[int] = (), size: int = 1) -> Generator[int, None, None]:
        """Play to the end; after every chunk its number of episodes is yielded. One ends at each of ``stops``."""

    def state(self) -> Arrays: ...

    def restore(self, arrays: Arrays) -> None: ...

    def snapshot(self) -> Arrays:
        """A snapshot of its current state, if the spec asks for snapshots."""

    def result(self) -> Arrays:
        """Its results, at the end."""


class WorldRun(Trial):
    """An agent in a world."""

    def __init__(self, spec: Spec) -> None:
        world = build_world(spec)
        prior = build_prior(spec, world)
        super().__init__(build_agent(spec), world, prior, spec.seed, spec.episodes, spec.evaluate_every)
        self.stops_when_solved = spec.stop == "solved"

    @property
    def solved(self) -> float:
        return float(regret.time_to_solve(self.log.hits[: self.played])) if self.played else np.nan

    @property
    def done(self) -> bool:
        return self.played == self.episodes or (self.stops_when_solved and bool(np.isfinite(self.solved)))

    def snapshot(self) -> Arrays:
        """The agent's values, all visits so far, and the policy (A, S) that was followed last."""
        values, policy = self.agent.values(self.memory), self.memory.policy
        return {"values": values, "visits": self.log.visits.copy(), "policy": policy.copy()}

    def result(self, ran: int | None = None) -> Arrays:
        """A run that stops when solved is cut at that very episode, wherever its last chunk ended."""
        if self.stops_when_solved and np.isfinite(self.solved):
            ran = int(self.solved)
        arrays = super().result(ran)
        visits = arrays.pop("visits")
        best = {"optimal_value": np.asarray(optimal_value(self.world))}
        return best | arrays | ({} if self.stops_when_solved else {"visits": visits})


class MatchRun(Match):
    """A player in a game against an opponent."""

    def __init__(self, spec: Spec) -> None:
        agent, game, prior, opponent = build_match(spec)
        super().__init__(agent, game, opponent, prior, spec.seed, spec.episodes, keep=False)

    def snapshot(self) -> Arrays:
        """All visits so far, and the two policies that were played last."""
        ours, theirs = self.policies
        return {"visits": self.visits.copy(), "policy": ours.copy(), "opponent": theirs.copy()}

    def result(self) -> Arrays:
        return {"optimal_value": np.asarray(self.game.value)} | super().result()


class ManyRuns:
    """Several runs of which some episodes are kept. Its state is the numbers of those that are finished."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.played = spec, 0
        self.finished: list[Arrays] = []

    @property
    def done(self) -> bool:
        return len(self.finished) == self.spec.seeds

    def chunks(self, stops: Iterable[int] = (), size: int = FIRST_CHUNK) -> Generator[int, None, None]:
        for seed in range(self.spec.seed + len(self.finished), self.spec.seed + self.spec.seeds):
            one = single_run(self.spec.single(seed))
            for count in one.chunks(size=size):
                self.played += count
                if one.done:
                    arrays = {name: x for name, x in one.result().items() if name != "visits"}
                    self.finished.append(at_points(arrays, self.spec.keep))
                yield count
                if one.done:
                    break

    def state(self) -> Arrays:
        return stacked(self.finished) if self.finished else {}

    def restore(self, arrays: Arrays) -> None:
        count = len(arrays.get("optimal_value", ()))
        if count > self.spec.seeds or any(len(x) != count for x in arrays.values()):
            raise ValueError(f"this is not the state of {self.spec.seeds} runs")
        self.finished = [{name: x[i] for name, x in arrays.items()} for i in range(count)]
        self.played = count * self.spec.episodes

    def snapshot(self) -> Arrays:
        return {}

    def result(self) -> Arrays:
        return stacked(self.finished)


class DeviceRuns:
    """All seeds at once on a GPU, one job after the other. It has no state: an interrupted one begins again."""

    def __init__(self, spec: Spec) -> None:
        gpu.need_device()
        world = build_world(spec)
        seeds = range(spec.seed, spec.seed + spec.seeds)
        prior = build_prior(spec, world)
        with ONE_AT_A_TIME:  # it allocates
            self.run = gpu.DeviceRun(build_agent(spec), world, prior, spec.episodes, seeds, spec.keep, spec.stop)
        self.played, self.done = 0, False

    def chunks(self, stops: Iterable[int] = (), size: int = 1) -> Generator[int, None, None]:
        with ONE_AT_A_TIME:
            for count in self.run.chunks():
                self.played += count
                yield count
        self.done = True

    def state(self) -> Arrays:
        return {}

    def restore(self, arrays: Arrays) -> None:
        pass

    def snapshot(self) -> Arrays:
        return {}

    def result(self) -> Arrays:
        return self.run.result()


def single_run(spec: Spec) -> WorldRun | MatchRun:
    """A spec of one seed, of which every episode is kept."""
    return WorldRun(spec) if spec.kind == "world" else MatchRun(spec)


def runnable(spec: Spec) -> Runnable:
    """The runnable that plays one part of a spec."""
    if spec.device == "gpu":
        return DeviceRuns(spec)
    return ManyRuns(spec) if spec.keep else single_run(spec)
