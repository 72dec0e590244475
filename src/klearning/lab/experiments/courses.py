"""What a spec runs: a trial in a world or a match in a game, and what is kept of it. One class per kind of spec."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np

from klearning.games.markov_match import MarkovMatch
from klearning.lab.experiments.spec import Spec, build_agent, build_match, build_prior, build_world
from klearning.numerics.types import Arrays, Flags, Floats
from klearning.tabular.models.mdp import optimal_value
from klearning.tabular.trials.trial import Trial


class Course(Protocol):
    """Episodes, or rounds, that may be left after any and gone on with, to the same bytes."""

    @property
    def played(self) -> int: ...

    @property
    def done(self) -> bool: ...

    @property
    def hits(self) -> Flags:
        """Whether the goal was reached, an entry per episode that was played."""

    @property
    def visits(self) -> Floats:
        """How often what was met was met so far."""

    def chunks(self, stops: Iterable[int] = ()) -> Iterator[int]: ...

    def state(self) -> Arrays: ...

    def restore(self, arrays: Arrays) -> None: ...

    def picture(self) -> Arrays:
        """What a snapshot keeps of it as it is now."""

    def result(self, ran: int) -> Arrays:
        """What is kept of so many episodes, `store.ARRAYS` among it."""


class WorldCourse(Trial):
    """An agent in a world."""

    def __init__(self, spec: Spec) -> None:
        world = build_world(spec)
        prior = build_prior(spec, world)
        super().__init__(build_agent(spec), world, prior, spec.seed, spec.episodes, spec.evaluate_every)

    @property
    def hits(self) -> Flags:
        return self.log.hits[: self.played]

    @property
    def visits(self) -> Floats:
        """Of every action in every state, (A, S)."""
        return self.log.visits

    def picture(self) -> Arrays:
        """The agent's values, all visits so far, and the policy (A, S) that was followed last."""
        values, policy = self.agent.values(self.memory), self.memory.policy
        return {"values": values, "visits": self.visits.copy(), "policy": policy.copy()}

    def result(self, ran: int) -> Arrays:
        log = self.log
        return {
            "optimal_value": np.asarray(optimal_value(self.world)),
            "values": log.values[:ran],
            "returns": log.returns[:ran],
            "hits": log.hits[:ran],
            **{f"diagnostic_{name}": log.diagnostics[i, :ran] for i, name in enumerate(self.agent.diagnostics)},
        }


class MatchCourse:
    """A player in a game against an opponent. It has no goal, so that nothing is hit."""

    def __init__(self, spec: Spec) -> None:
        pairing = build_match(spec)
        self.value = pairing.game.value
        self.match = pairing.new_match(spec.seed, spec.episodes, False)
        self.chunks, self.state, self.restore = self.match.chunks, self.match.state, self.match.restore

    @property
    def played(self) -> int:
        return self.match.played

    @property
    def done(self) -> bool:
        return self.match.done

    @property
    def hits(self) -> Flags:
        return np.zeros(self.played, np.bool_)

    @property
    def visits(self) -> Floats:
        """Of every pair of moves, (rows, columns); in a Markov game in every state."""
        visits: Floats = self.match.sides.us.visits
        return visits

    def picture(self) -> Arrays:
        """All visits so far, and the two mixtures, or policies, that were played last."""
        us, them = self.match.sides
        ours, theirs = (us.draft.policy, them.draft.policy) if isinstance(self.match, MarkovMatch) else (
            us.mixture, them.mixture)  # fmt: skip
        return {"visits": self.visits.copy(), "policy": ours.copy(), "opponent": theirs.copy()}

    def result(self, ran: int) -> Arrays:
        log = self.match.log
        return {
            "optimal_value": np.asarray(self.value),
            "values": log.values[:ran],
            "returns": log.payoffs[:ran],
            "hits": self.hits[:ran],
        }


COURSES: dict[str, Callable[[Spec], Course]] = {"world": WorldCourse, "game": MatchCourse}
