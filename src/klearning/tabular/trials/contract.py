"""The contract that every agent keeps, as a function: try your own agent on it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from klearning.numerics import checks
from klearning.numerics.records.fields import leaves
from klearning.numerics.records.validation import restore_memory
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.posterior import Episode, Posterior
from klearning.tabular.beliefs.rewards import Beta
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.models.mdp import MDP
from klearning.tabular.trials.agent import LEARNS, Agent, as_agent, check_methods
from klearning.tabular.trials.run import run
from klearning.tabular.trials.task import Streams
from klearning.tabular.trials.trial import Trial
from klearning.tabular.worlds.bandit import bandit
from klearning.tabular.worlds.deep_sea import deep_sea
from klearning.tabular.worlds.random_mdp import random_mdp
from klearning.tabular.worlds.river_swim import river_swim

ROUNDING = 1e-9
CLOSE = 0.01  # of probabilities and values, if a temperature was searched for from two sides
STALE = "follows from its old posterior: recompute what it keeps in `refreshed`"
FEWEST = 10  # episodes after which it cannot be chance if every plan followed from the posterior
FADED = 0.01  # of all counts, so that a bonus that did not follow shows


def _ends_early() -> MDP:
    """One model for all steps, in which state 0 is where an episode is over: reached sooner or later, or never."""
    rewards = [[0.0, 0.0], [0.1, 0.3], [0.0, 0.8]]
    transitions = [[[1.0, 0.0, 0.0]] * 2, [[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]]
    world = MDP.from_stationary(rewards, transitions, [0.0, 0.5, 0.5], horizon=5, noise=0.1, name="ends early")
    return replace(world, end=0)


WORLDS: dict[str, Callable[[], MDP]] = {
    "one state": lambda: bandit([0.1, 0.9], noise=0.1),
    "one action": lambda: MDP.from_layers([[[0.5]], [[1.0]]], [[[[1.0]]]], [1.0], noise=0.1, name="one action"),
    "one layer": lambda: MDP.from_layers([[[0.1, 0.4], [0.3, 0.0]]], [], [0.5, 0.5], noise=0.1, name="one layer"),
    "coin flips": lambda: bandit([0.2, 0.8], noise="bernoulli"),
    "ragged layers": lambda: random_mdp([2, 4, 1, 3], actions=3, prior=Prior(Beta(), Dirichlet(1.0)), seed=1),
    "stochastic": lambda: river_swim(horizon=8, noise=0.05),
    "deterministic": lambda: deep_sea(5),
    "ends early": _ends_early,
}

UNCHANGING = ("stochastic", "ends early")  # with the step


class BrokenContract(AssertionError):
    """An agent does not do what `run` or a `Learner` relies on."""


Expect = Callable[[bool, str], None]


def check_agent(agent: Agent, episodes: int = 30) -> None:
    """Run an agent in small worlds of every shape; raise `BrokenContract`, naming the world, if it fails.

    Worlds that do not change with the step are tried with a stationary prior too. An agent with a ``longest_horizon``
    is tried in worlds that are no longer.

    Checked: the policy is a table (A, S) of probabilities that sum to one over actions; values and returns are finite,
    diagnostics are numbers; no policy does better than the optimum; the same seed gives the same bytes, whatever the
    number of threads and however the episodes are cut into chunks; the belief it begins with is left as it was; its
    memory can be taken apart, as it is for a file, and put together again.

    If it has `plan`, so that it can learn step by step: `advance` is plan, play and update; `exploit` returns such a
    table too; it can learn from a truncated episode; `set_start` takes effect; its belief keeps the discount. With
    `forbid`, plans avoid forbidden actions, if it has a posterior; with `forget`, earlier episodes count less; and if
    its plans followed from its posterior alone, they still do.
    """
    checks.whole("episodes", episodes)
    check_methods(agent)
    learns = callable(getattr(agent, "plan", None))
    if learns:
        check_methods(agent, LEARNS)
    longest = getattr(agent, "longest_horizon", None)
    for name, world in ((name, make()) for name, make in WORLDS.items()):
        if longest is not None and world.horizon > longest:
            continue

        def expect(holds: bool, what: str, where: str = name) -> None:
            if not holds:
                raise BrokenContract(f"{agent} in the world {where!r}: {what}")

        for prior in _priors(name, world, longest):
            try:
                _check_policy(agent, world, prior, episodes, expect)
                if learns:
                    _check_steps(agent, world, prior, episodes, expect)
                    if prior.stationary:
                        _check_task(agent, world, prior, max(episodes, FEWEST), expect)
                _check_runs(agent, world, prior, episodes, expect)
            except BrokenContract:
                raise
            except Exception as error:
                raise BrokenContract(f"{agent} in the world {name!r}: {type(error).__name__}: {error}") from error


def _priors(name: str, world: MDP, longest: int | None) -> list[Prior]:
    prior = Prior(Beta(), Dirichlet(1.0)) if isinstance(world.noise, str) else Prior()
    unchanging = name in UNCHANGING or (longest == 1 and world.states > 1)  # what is one step long changes with none
    return [prior, replace(prior, stationary=True)] if unchanging else [prior]


def _check_policy(agent: Agent, world: MDP, prior: Prior, episodes: int, expect: Expect) -> None:
    trial = Trial(agent, world, prior, 0, episodes)
    visits = Belief.before(prior, world).visits
    while not trial.done:
        trial.advance(1)
        memory = trial.memory
        expect(hasattr(memory, "policy"), "its memory has no field `policy`")
        _check_table("policy", memory.policy, world, expect)
        values = agent.values(memory)
        expect(np.shape(values) == (world.states,), f"values has shape {np.shape(values)}, not {(world.states,)}")
        expect(bool(np.isfinite(values).all()), "values are not finite")
        expect(same(trial.belief.visits, visits), "it changed the belief that it began with")
        if trial.played == 1 + episodes // 2:
            trial.memory = _put_together_again(agent.begin(trial.belief), memory, expect)
    whole = Trial(agent, world, prior, 0, episodes)
    whole.advance(episodes)
    expect(same(trial.log.returns, whole.log.returns), "chunks of episodes, or pauses, change what happens")
    expect(not np.isnan(whole.log.diagnostics).any(), f"diagnostics {agent.diagnostics} are not all numbers")


def _check_table(name: str, table: Floats, world: MDP, expect: Expect) -> None:
    expect(np.shape(table) == world.reward.shape, f"{name} has shape {np.shape(table)}, not {world.reward.shape}")
    expect(bool((table >= 0).all()), f"{name} has negative probabilities")
    expect(bool(np.allclose(table.sum(axis=0), 1.0, atol=ROUNDING)), f"{name} does not sum to one over actions")


def _put_together_again(fresh: Any, memory: Any, expect: Expect) -> Any:
    """The memory as it comes back from a file; ``fresh`` is one to begin with."""
    arrays = {name: np.array(leaf) for name, leaf in leaves(memory).items()}
    for name, leaf in arrays.items():
        expect(leaf.dtype.kind in "biuf", f"{name} cannot be saved: give arrays, numbers, or NamedTuples of them")
    return restore_memory(fresh, arrays)


def _check_steps(agent: Agent, world: MDP, prior: Prior, episodes: int, expect: Expect) -> None:
    """Plan, play and update, as the default `advance` does, and then what no world of ours asks for."""
    whole, stepwise = (Trial(agent, world, prior, 0, episodes) for _ in range(2))
    whole.advance(episodes)
    task, log = stepwise.task, stepwise.log
    memory = Agent.advance(agent, stepwise.memory, task, 0, episodes)
    expect(same(log.returns, whole.log.returns), "`advance` is not plan, play and update")
    expect(same(log.diagnostics, whole.log.diagnostics), "`advance` and `plan` do not give the same diagnostics")
    _check_table("exploit", agent.exploit(memory), world, expect)
    states, actions, rewards = task.episode
    known = min(2, world.horizon)
    memory = agent.update(memory, Episode(states[:known].copy(), actions[:1].copy(), rewards[:1].copy()), episodes)
    if hasattr(agent, "set_start"):
        even = np.full(world.widths[0], 1.0 / world.widths[0])
        agent.set_start(memory, even)
        posterior = agent.posterior(memory)
        if posterior is not None:
            expect(same(posterior.model.initial, even), "set_start does not reach its posterior")
    diagnostics = np.zeros(len(agent.diagnostics))
    memory = agent.plan(memory, Streams(task.reward_stream, task.row_stream), episodes + 1, diagnostics)
    _check_table("policy after an episode that was cut short", memory.policy, world, expect)


def _check_task(agent: Agent, world: MDP, prior: Prior, episodes: int, expect: Expect) -> None:
    """Extra requests of a `Learner`: a discount, forbidden actions, counts that fade."""
    start = Belief.empty(prior, world.widths, world.actions, world.initial, world.end, discount=0.9)
    memory = agent.begin(start)
    posterior = _posterior(agent, memory)
    expect(posterior is None or posterior.discount == start.discount, "the discount of its belief is lost")
    if hasattr(agent, "forbid"):
        memory = _check_forbid(agent, memory, start, world, expect)
    task, follows = Trial(agent, world, prior, 0, episodes).task, True
    for t in range(episodes):
        memory = Agent.advance(agent, memory, task, t, 1)
        follow, memory = _plans_by_belief(agent, memory, start, t)
        follows = follows and follow
    _check_planned(agent, memory, world, "with a discount", expect)
    if hasattr(agent, "forget"):
        posterior = _posterior(agent, memory)
        fewer = None if posterior is None else FADED * posterior.visits
        memory = agent.forget(memory, FADED)
        posterior = _posterior(agent, memory)
        if posterior is not None and fewer is not None:
            expect(bool(np.allclose(posterior.visits, fewer)), "`forget` leaves its posterior's visits as they were")
        follow, memory = _plans_by_belief(agent, memory, start, episodes + 1)
        _check_planned(agent, memory, world, "after `forget`", expect)
        expect(follow or not follows, f"its plan after `forget` {STALE}")


def _check_forbid(agent: Agent, memory: Any, start: Belief, world: MDP, expect: Expect) -> Any:
    """An action that was never tried is not allowed in a state, and then it is."""
    states, ban = np.array([1]), np.arange(world.actions)[:, None] == 0
    untried = getattr(_posterior(agent, memory), "visits", np.zeros(0)).copy()
    _, memory = _plans_by_belief(agent, memory, start, 0)
    follows, memory = _plans_by_belief(agent, memory, start, 0)
    for name, forbidden in (("forbid", ban), ("forbid`, allowed again, `", ban & False)):
        memory = agent.forbid(memory, states, forbidden)
        follow, memory = _plans_by_belief(agent, memory, start, 0)
        _check_planned(agent, memory, world, f"after `{name}`", expect)
        expect(follow or not follows, f"its plan after `{name}` {STALE}")
        if _posterior(agent, memory) is not None:
            for kind, table in {"policy": memory.policy, "exploit": agent.exploit(memory)}.items():
                chance = (table[:, 1 + np.array(world.layers[:-1])] * forbidden).sum()
                expect(chance <= ROUNDING, f"{kind} after `{name}` takes what is not allowed")
    visits = getattr(_posterior(agent, memory), "visits", untried)
    expect(same(visits, untried), "`forbid` does not allow again what it has forbidden")
    return memory


def _posterior(agent: Agent, memory: Any) -> Posterior | None:
    """Its posterior, also of an agent that does not inherit from ours."""
    return as_agent(agent).posterior(memory)


def _plans_by_belief(agent: Agent, memory: Any, start: Belief, t: int) -> tuple[bool, Any]:
    """Plan; and whether an agent that begins with what this one believes plans the same."""

    def planned(memory: Any) -> Any:
        streams = Streams(np.random.default_rng(t), np.random.default_rng(t + 1))
        return agent.plan(memory, streams, t, np.zeros(len(agent.diagnostics)))

    posterior = _posterior(agent, memory)
    if posterior is None:
        return False, planned(memory)
    fresh = planned(agent.begin(start.after(posterior)))
    memory = planned(memory)
    same_policy = np.allclose(fresh.policy, memory.policy, atol=CLOSE)
    return bool(same_policy and np.allclose(agent.values(fresh), agent.values(memory), rtol=CLOSE)), memory


def _check_planned(agent: Agent, memory: Any, world: MDP, when: str, expect: Expect) -> None:
    _check_table(f"policy {when}", memory.policy, world, expect)
    _check_table(f"exploit {when}", agent.exploit(memory), world, expect)
    expect(bool(np.isfinite(agent.values(memory)).all()), f"values {when} are not finite")


def _check_runs(agent: Agent, world: MDP, prior: Prior, episodes: int, expect: Expect) -> None:
    one, two = (run(agent, world, prior=prior, episodes=episodes, seeds=3, threads=k) for k in (1, 2))
    expect(same(one.returns, two.returns) and same(one.values, two.values), "threads change what happens")
    expect(bool(np.isfinite(one.values).all() and np.isfinite(one.returns).all()), "values or returns are not finite")
    gaps = one.optimal_value - one.values
    expect(bool((gaps >= -ROUNDING).all()), f"regret of an episode is negative: {gaps.min()}")


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b))
