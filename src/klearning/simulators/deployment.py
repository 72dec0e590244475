"""How good the policy is that a learner leaves behind: what it earns when it is played, and what it may lose."""

from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Any

import numpy as np

from klearning.simulators.actor import Actor
from klearning.simulators.evaluation import play_returns
from klearning.simulators.learner import Learner
from klearning.tabular.optimism.certificate import Certificate, by_draws, certify
from klearning.tabular.optimism.proof import layers_depend

DRAWS, FEWEST = 100, 10
AFFORDABLE = 20_000_000  # states × actions × draws: some seconds
PROVABLE = 20_000  # states × actions, if layers depend on each other: the search for that proof takes longest


@dataclass(frozen=True)
class Deployment:
    """Facts about a greedy policy; the certificate is None if the agent has no belief, or draws take too long."""

    returns: tuple[float, ...]  # of whole episodes without exploration, in which nothing was learned
    certificate: Certificate | None
    largest: float = inf  # return of any episode so far

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns)) if self.returns else nan

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(np.std(self.returns, ddof=1) / np.sqrt(len(self.returns))) if len(self.returns) > 1 else nan

    @property
    def is_beyond_all(self) -> bool:
        """Whether the best policy is thought to return more than any episode has: only the prior can say so."""
        return self.certificate is not None and self.mean + self.certificate.regret > self.largest

    def lines(self) -> list[str]:
        """In words: what was played first, then what is proved, then what is estimated."""
        played = f"greedy play returns {self.mean:.4g} ± {self.error:.2g} per episode ({len(self.returns)} episodes)"
        lines = [*([played] if self.returns else []), *certificate_lines(self.certificate)]
        if self.is_beyond_all and self.certificate is not None and not self.certificate.is_mostly_prior:
            lines[-1] += f"; the prior dominates: no episode has returned more than {self.largest:.4g}"
        return lines

    def data(self) -> dict[str, Any]:
        """As JSON: None for what is not known."""
        told = self.certificate
        certificate = None if told is None else {
            "bound": told.bound if told.bound < inf else None,
            "regret": told.regret, "error": told.error, "draws": told.draws,
            "regret_of_tried_actions": None if isnan(told.tried) else told.tried,
            "mostly_prior": told.is_mostly_prior or self.is_beyond_all,
        }  # fmt: skip
        greedy = {"mean": self.mean, "error": self.error, "returns": list(self.returns)} if self.returns else None
        return {"greedy": greedy, "certificate": certificate}


def certificate_lines(told: Certificate | None) -> list[str]:
    """Explain each number, not only its value."""
    if told is None:
        return []
    lines = []
    if told.bound < inf:
        lines.append(
            "proved: on average over the belief, given the states met, a greedy episode costs at most "
            f"{told.bound:.3g} more than the best"
        )
    estimate = (
        f"estimated: on average over {told.draws} draws from the belief, given the states met, a greedy episode costs "
        f"{told.regret:.3g} ± {told.error:.2g} more than the best"
    )
    if told.is_mostly_prior:
        estimate += f"; the prior dominates: among actions that were tried it is {max(told.tried, 0.0):.3g}"
    return [*lines, estimate]


def deployment(learner: Actor, env: Any, episodes: int) -> Deployment:
    """Play greedy episodes, and certify if that takes seconds."""
    returns = play_returns(learner, env, episodes=episodes, seed=learner.seed) if episodes else []
    largest = inf if learner.continuing or learner.discount < 1.0 else max([*learner.returns, *returns], default=inf)
    return Deployment(tuple(returns), quick_certificate(learner), largest)


def quick_certificate(learner: Actor) -> Certificate | None:
    """Of the greedy policy, with as many draws as take seconds; the bound is nan if its search would take long."""
    if not isinstance(learner, Learner) or learner.posterior is None:
        return None
    belief, policy = learner.deployed()
    draws = min(DRAWS, AFFORDABLE // policy.size)
    if draws < FEWEST:
        return None
    if layers_depend(belief) and policy.size > PROVABLE:
        return replace(by_draws(belief, np.ascontiguousarray(policy.T), draws, learner.seed), bound=nan)
    return certify(belief, policy, draws, learner.seed)
