"""PSRL, RLSVI, BEB and UCBVI through `run` with device="gpu": every kind of world and prior, and what is refused."""

import numpy as np
import pytest

import klearning as kl
from klearning.gpu import seeds as gpu_seeds
from klearning.gpu.batch import new_batch
from klearning.gpu.beb import BEBProgram
from klearning.gpu.layout import new_log
from tests.gpu.device.test_k_learning import COINS, KNOWN, LAKE
from tests.support.device_plans import beliefs

CERTAIN = kl.deep_sea(3)

PLACES = {
    "one successor": (CERTAIN, kl.Prior()),
    "coin flips": (COINS, kl.Prior(kl.Beta(1.0, 2.0))),
    "an end": (LAKE, kl.Prior()),
    "known": (KNOWN, kl.Prior(transitions=kl.Known(KNOWN))),
    "known, one successor": (CERTAIN, kl.Prior(transitions=kl.Known(CERTAIN))),
    "one layer": (kl.bandit([0.1, 0.5, 0.3]), kl.Prior()),
}
AGENTS = [kl.PSRL(), kl.RLSVI(), kl.BEB(), kl.UCBVI()]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
def test_runs_hold_what_they_should(agent, place):
    world, prior = PLACES[place]
    runs = kl.run(agent, world, prior=prior, seeds=2, episodes=3, device="gpu")
    assert isinstance(runs, kl.Runs)
    assert (np.diff(runs.regret, axis=1, prepend=0.0) > -1e-6).all()
    assert (runs.visits.sum(axis=(1, 2)) == 3 * world.horizon).all()
    assert np.isfinite(runs.returns).all()
    assert runs.diagnostics == {}


@pytest.mark.parametrize("place", ["one successor", "coin flips", "known, one successor", "one layer"])
def test_beb_plans_as_on_the_cpu(place):
    """Nothing is random in its plan: the exact value of its policy, belief by belief.

    Not where rows are known and have several successors: before a visit all actions are worth the same, except for the
    rounding of sums, which is another one in float32.
    """
    agent, (world, prior) = kl.BEB(scale=0.1), PLACES[place]
    form, batch = BEBProgram(agent, prior, world), new_batch(world, "BEB", np.arange(3, dtype=np.uint32))
    log, state = new_log(0, 1, 3), form.begin(batch)
    for t in range(4):
        before = beliefs(batch, prior, world, range(3))
        form.advance(batch, state, log, t, 1)
        for belief, value in zip(before, log.values.copy_to_host()[0], strict=True):
            memory = agent.plan(agent.begin(belief), None, t, np.zeros(0))
            assert value == pytest.approx(world.value(memory.policy), abs=1e-5)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
def test_a_world_for_every_seed_and_seeds_in_any_company(agent, monkeypatch):
    prior = kl.Prior(transitions=kl.Dirichlet(1.0))
    worlds = kl.gpu.random_worlds(3, states=3, horizon=2, prior=prior)
    runs = kl.run(agent, worlds, prior=prior, seeds=3, episodes=2, device="gpu")
    assert (runs.regret[:, -1] > 0.0).all()
    assert runs.diagnostics == {}
    monkeypatch.setattr(gpu_seeds, "free_bytes", lambda: 900)
    again = kl.run(agent, worlds, prior=prior, seeds=3, episodes=2, device="gpu")
    np.testing.assert_allclose(again.regret, runs.regret, rtol=1e-12)  # sums by launch


@pytest.mark.parametrize(
    ("agent", "prior", "words"),
    [
        (kl.UCBVI(bonus="bernstein"), kl.Prior(), "UCBVI with bonus='hoeffding'"),
        (kl.PSRL(), kl.Prior(transitions=kl.Dirichlet(1e6)), "masses from 1e-25 to 1000 with PSRL"),
        (kl.PSRL(), kl.Prior(kl.Beta()), "PSRL with a Beta only if rewards are coin flips"),
        (kl.UCRL2(), kl.Prior(), "KLearning, PSRL, RLSVI, BEB, UCBVI"),
    ],
)
def test_what_it_cannot_do_is_said_in_one_line(agent, prior, words):
    with pytest.raises(ValueError, match=words) as error:
        kl.run(agent, CERTAIN, prior=prior, seeds=2, device="gpu")
    assert "\n" not in str(error.value)
