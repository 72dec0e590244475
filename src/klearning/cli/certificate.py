"""What `klearning learn` says of the policy that it leaves behind: the cost of an episode, by proof and by draws."""

from dataclasses import replace
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from klearning.tabular.optimism.certificate import Certificate

DRAWS, FEWEST = 100, 10
AFFORDABLE = 20_000_000  # states × actions × draws: some seconds
PROVABLE = 20_000  # states × actions, where layers depend on each other: the search for that proof takes longest


def certificate_of(learner: Any) -> "Certificate | None":
    """Of the greedy policy, what `predict` follows; None where nothing is believed, or a draw takes too long.

    The bound is not a number where the search for it would take too long.
    """
    from klearning.simulators.learner import Learner
    from klearning.tabular.optimism.certificate import by_draws, certify
    from klearning.tabular.optimism.proof import layers_depend

    if not isinstance(learner, Learner) or learner.agent.posterior(learner.memory) is None:
        return None
    policy = learner.agent.exploit(learner.memory)
    draws = min(DRAWS, AFFORDABLE // policy.size)
    if draws < FEWEST:
        return None
    if layers_depend(learner.belief) and policy.size > PROVABLE:
        return replace(by_draws(learner.belief, policy, draws, learner.seed), bound=nan)
    return certify(learner.belief, policy.T, draws, learner.seed)


def certificate_line(told: "Certificate | None") -> str:
    if told is None:
        return ""
    regret, source = f"about {told.regret:.3g} ± {told.error:.2g}", f"by {told.draws} draws from what it believes"
    if isnan(told.bound):
        proof = "kl.certify looks for a proof, which takes long here"
        return f"a greedy episode costs {regret} more than the best, {source}; {proof}"
    if told.bound < inf:
        return f"a greedy episode costs at most {told.bound:.3g} more than the best, by proof, and {regret} {source}"
    return f"a greedy episode costs {regret} more than the best, {source}; nothing is proved for this prior"


def certificate_data(told: "Certificate | None") -> dict[str, float | int | None] | None:
    """As JSON: no bound where nothing is proved."""
    if told is None:
        return None
    bound = told.bound if told.bound < inf else None  # nor where it was not looked for
    return {"bound": bound, "regret": told.regret, "error": told.error, "draws": told.draws}
