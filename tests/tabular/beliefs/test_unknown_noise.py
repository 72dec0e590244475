"""A noise that is learned: the normal–inverse-gamma posterior against integration, Student's law, its limits."""

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.lab import theory
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import leaves
from klearning.numerics.records.validation import restore_memory
from klearning.tabular.agents.registry import AGENTS
from klearning.tabular.beliefs.posterior import Episode, learn
from klearning.tabular.beliefs.sampling import sample_reward
from tests.support.cases import random_case

FAMILY = kl.UnknownNoise(mean=0.3, sd=0.8, noise=0.5, strength=1.5)
REWARDS = {"none": [], "one": [1.2], "two alike": [0.7, 0.7], "some": [0.9, -0.4, 1.6, 0.2]}
FALSE_ALARM = 1e-4  # of every test by Kolmogorov and Smirnov


def after(rewards, family=FAMILY):
    """The belief of one arm after these rewards."""
    counts = [[[len(rewards)]]], [[[sum(rewards)]]], [], [1.0]
    squares = [[[sum(r * r for r in rewards)]]]
    return kl.Belief.from_counts(kl.Prior(family), *counts, reward_squares=squares)


def integrated(rewards, family):
    """Mean and variance of μ and mean of σ², by summing prior × likelihood over a fine grid of (μ, log σ²)."""
    k, n0 = family.strength, (family.noise / family.sd) ** 2
    log_v = np.linspace(-16.0, 22.0, 6001)[:, None]
    v = np.exp(log_v)
    z = np.linspace(-9.0, 9.0, 1201)
    rewards = np.array(rewards)
    weight = n0 + len(rewards)
    centre = (n0 * family.mean + rewards.sum()) / weight
    mu = centre + z * np.sqrt(v / weight)  # a grid that is as wide as μ is, given σ²
    logs = stats.invgamma.logpdf(v, 1.0 + k / 2.0, scale=k * family.noise**2 / 2.0) + log_v
    logs = logs + stats.norm.logpdf(mu, family.mean, np.sqrt(v / n0)) + 0.5 * log_v
    for r in rewards:
        logs = logs + stats.norm.logpdf(r, mu, np.sqrt(v))
    p = np.exp(logs - logs.max())
    p /= p.sum()
    mean = (p * mu).sum()
    return mean, (p * (mu - mean) ** 2).sum(), (p * v).sum()


@pytest.mark.slow
@pytest.mark.parametrize("rewards", REWARDS.values(), ids=list(REWARDS))
def test_moments_are_those_of_prior_times_likelihood(rewards):
    """E σ² has a tail of exponent −(strength + n)/2 − 1, hence the wide grid; no draws, no chance."""
    belief = after(rewards)
    mean, variance, noise = integrated(rewards, FAMILY)
    assert belief.reward_means[0].item() == pytest.approx(mean, abs=1e-9)
    assert belief.reward_variances[0].item() == pytest.approx(variance, rel=2e-4)
    assert belief.reward_noises[0].item() ** 2 == pytest.approx(noise, rel=2e-4)


def test_before_anything_is_seen_it_is_what_it_was_told():
    belief = after([])
    assert belief.reward_means[0].item() == 0.3
    assert belief.reward_variances[0].item() == pytest.approx(0.64)
    assert belief.reward_noises[0].item() == pytest.approx(0.5)


def test_a_strong_guess_is_a_known_noise():
    case = random_case(np.random.default_rng(3), [2, 3, 2], 3)
    counts = case.visits, case.reward_sums, case.counts, case.initial
    squares = [s**2 / np.maximum(n, 1.0) + n for s, n in zip(case.reward_sums, case.visits)]
    plans = []
    for reward in (kl.UnknownNoise(0.2, 0.7, 0.4, strength=1e14), kl.Gaussian(0.2, 0.7, 0.4)):
        belief = kl.Belief.from_counts(kl.Prior(reward), *counts, reward_squares=squares)
        plans.append((kl.solve(belief), belief))
    (mine, mine_belief), (theirs, their_belief) = plans
    for x, y in zip(mine.k_values + mine_belief.reward_variances, theirs.k_values + their_belief.reward_variances):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def test_rewards_on_another_scale_are_beliefs_on_another_scale():
    """r → 10 r − 3, mean, sd and noise with it; Σr² holds up where rewards are far from zero."""
    scaled = kl.UnknownNoise(10 * 0.3 - 3, 8.0, 5.0, 1.5)
    x, y = after(REWARDS["some"]), after([10 * r - 3 for r in REWARDS["some"]], scaled)
    assert y.reward_means[0].item() == pytest.approx(10 * x.reward_means[0].item() - 3)
    assert y.reward_noises[0].item() == pytest.approx(10 * x.reward_noises[0].item())
    far = after([1e6 + r for r in REWARDS["some"]], kl.UnknownNoise(1e6 + 0.3, 0.8, 0.5, 1.5))
    assert far.reward_noises[0].item() == pytest.approx(x.reward_noises[0].item(), rel=1e-3)


@kernel
def compiled_draws(p, count, rng):
    draws = np.zeros(count)
    for i in range(count):
        draws[i] = sample_reward(p, 0, 0, rng)
    return draws


def student(belief, n):
    mean, variance = belief.reward_means[0].item(), belief.reward_variances[0].item()
    freedom = FAMILY.strength + 2.0 + n
    return stats.t(freedom, mean, np.sqrt(variance * (freedom - 2.0) / freedom))


@pytest.mark.parametrize("rewards", [REWARDS["none"], REWARDS["some"]], ids=["none", "some"])
def test_draws_are_students(rewards):
    belief = after(rewards)
    law = student(belief, len(rewards))
    many = [np.full((1, 20_000), total) for total in (len(rewards), sum(rewards), sum(r * r for r in rewards))]
    wide = kl.Belief.from_counts(kl.Prior(FAMILY), many[:1], many[1:2], [], [1.0], reward_squares=many[2:])
    in_python = FAMILY.draw(wide.mean_rewards(), np.random.default_rng(0)).ravel()
    assert stats.kstest(in_python, law.cdf).pvalue > FALSE_ALARM
    compiled = compiled_draws(belief.posterior(), 20_000, np.random.default_rng(1))
    assert stats.kstest(compiled, law.cdf).pvalue > FALSE_ALARM
    world = wide.sample(2)
    assert stats.kstest(world.reward.ravel(), law.cdf).pvalue > FALSE_ALARM
    k, n = FAMILY.strength, len(rewards)
    noise = belief.reward_noises[0].item()
    of_variance = stats.invgamma(1.0 + (k + n) / 2.0, scale=(k + n) * noise**2 / 2.0)
    assert stats.kstest(world.noise.ravel() ** 2, of_variance.cdf).pvalue > FALSE_ALARM


def test_means_and_noises_of_a_world_are_drawn_together():
    """Given σ, (μ − mean)/σ is normal with variance 1/n0: independent of σ, by a rank correlation of 1e-4 by chance."""
    world = kl.Belief.empty(kl.Prior(FAMILY), [1], 20_000, [1.0]).sample(3)
    z = (world.reward.ravel() - FAMILY.mean) / world.noise.ravel() * FAMILY.noise / FAMILY.sd
    assert stats.kstest(z, "norm").pvalue > FALSE_ALARM
    assert stats.spearmanr(np.abs(z), world.noise.ravel()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("stationary", [False, True])
def test_episodes_are_counted_as_they_are_told(stationary):
    prior = kl.Prior(FAMILY, stationary=stationary)
    belief = kl.Belief.empty(prior, [2, 2], 2, [0.5, 0.5])
    p = belief.posterior()
    for path, acts, rewards in (([0, 3], [1, 0], [0.4, 2.0]), ([0, 2], [1, 1], [-0.3, 0.1])):
        p = learn(p, Episode(np.array(path), np.array(acts), np.array(rewards)))
        belief = belief.update(path, acts, rewards)
    told = kl.Belief.from_counts(
        prior, [[[0, 2], [0, 0]], [[0, 1], [1, 0]]], [[[0, 0.1], [0, 0]], [[0, 0.1], [2.0, 0]]],
        [[[[0, 0], [1, 1]], [[0, 0], [0, 0]]]], [0.5, 0.5],
        reward_squares=[[[0, 0.25], [0, 0]], [[0, 0.01], [4.0, 0]]],
    )  # fmt: skip
    np.testing.assert_allclose(p.variance, told.posterior().variance, rtol=1e-12)
    np.testing.assert_allclose(belief.reward_squares, told.reward_squares, rtol=1e-12)


def test_it_finds_out_which_arm_is_noisy():
    """Noise of 0.05 and 1 from a guess of 0.3; a standard error of 400 squares is 7%, and 5 of them 1e-6 by chance."""
    arms = kl.bandit([0.0, 0.0], noise=[0.05, 1.0])
    rng = np.random.default_rng(0)
    belief = kl.Belief.before(kl.Prior(kl.UnknownNoise(noise=0.3)), arms)
    p = belief.posterior()
    for a in (0, 1):
        for r in arms.noise[a, 0] * rng.standard_normal(400):
            p = learn(p, Episode(np.array([0]), np.array([a]), np.array([r])))
    noises = belief.after(p).reward_noises[0][0]
    np.testing.assert_allclose(noises, [0.05, 1.0], rtol=0.35 / 2)


def test_one_prior_does_both_deep_seas():
    """bsuite's, of size 10, one seed each; no known noise does well in all sizes (docs/evidence/benchmarks.md)."""
    from klearning.lab.benchmarks.bsuite.sweep import run_setting, score

    setting = {"size": 10, "mapping_seed": 42}
    for name in ("deep_sea", "deep_sea_stochastic"):
        result = run_setting(name, setting, kl.KLearning(tolerance=1e-3), episodes=200, seed=1)
        assert score(name, [result]) == 1.0


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_runs_with_it(name):
    if name == "OptimalAgent":
        pytest.skip("it knows the world")
    world, prior = kl.bandit([0.1, 0.5], noise=[0.2, 0.7]), kl.Prior(FAMILY)
    runs = kl.run(AGENTS[name](), world, prior=prior, episodes=12, seeds=2)
    assert np.isfinite(runs.regret).all()


def test_nothing_is_proved_and_theory_refuses():
    belief = kl.Belief.from_counts(kl.Prior(FAMILY), [[[1, 3]]], [[[0.2, 0.9]]], [], [1.0], reward_squares=[[[1, 3]]])
    for bonus in ("paper", "sharp", "reward", "split"):
        assert not kl.solve(belief, bonus=bonus).proved
    same = kl.Belief.from_counts(kl.Prior(kl.Gaussian(0.3, 0.8, 0.5)), [[[1, 3]]], [[[0.2, 0.9]]], [], [1.0])
    assert kl.solve(same).proved
    with pytest.raises(ValueError, match="has no cumulants"):
        theory.cumulants.reward_cumulants(belief, 1.0)
    with pytest.raises(ValueError, match="too few moments"):
        theory.quadrature(belief)
    assert len(theory.draws(belief, 10).weights) == 10
    assert any("is learned" in reason for reason in theory.breaks_assumption(kl.Prior(FAMILY)))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"noise": 0.0}, "noise=0.0 is out of range"),
        ({"sd": 0.0}, "sd=0.0 is out of range"),
        ({"strength": 0.0}, "strength=0.0 is out of range"),
        ({"strength": np.inf}, "strength=inf is out of range"),
        ({"mean": "x"}, "mean='x' is not a number"),
    ],
)
def test_what_it_refuses(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        kl.UnknownNoise(**change)


def test_squares_that_no_rewards_have_are_refused():
    counts = [[[2, 0]]], [[[2.0, 0.0]]], [], [1.0]
    with pytest.raises(ValueError, match="reward_squares=None with a prior that learns the noise"):
        kl.Belief.from_counts(kl.Prior(FAMILY), *counts)
    with pytest.raises(ValueError, match=r"reward_squares of state 0, action 0 is 1.9: .* sum to 2 at least"):
        kl.Belief.from_counts(kl.Prior(FAMILY), *counts, reward_squares=[[[1.9, 0.0]]])
    with pytest.raises(ValueError, match=r"action 1 is 1: .* to 0 without a visit"):
        kl.Belief.from_counts(kl.Prior(FAMILY), *counts, reward_squares=[[[2.0, 1.0]]])
    belief = kl.Belief.empty(kl.Prior(FAMILY), [1], 2, [1.0])
    with pytest.raises(ValueError, match="reward_squares has shape"):
        kl.Belief(**{**vars(belief), "reward_squares": np.zeros((2, 3))})


@pytest.mark.parametrize("agent", [kl.KLearning(), kl.UCFH(least_visits=1)], ids=str)
def test_what_a_file_says_of_squares_is_checked(agent):
    belief = kl.Belief.empty(kl.Prior(FAMILY), [1], 2, [1.0])
    memory = agent.begin(belief)
    for reward in (0.5, 1.5):
        memory = agent.update(memory, Episode(np.array([0]), np.array([1]), np.array([reward])), 0)
    squares = agent.posterior(memory).reward_squares
    assert squares.tolist() == [[0.0], [2.5]]  # whatever the agent plans with, the squares are there to be looked at
    held = leaves(memory)
    restore_memory(agent.begin(belief), held)
    (name,) = (name for name, x in held.items() if name.endswith("reward_squares") and x[1, 0] == 2.5)
    for value, complaint in ((1.9, "too small for its reward sum"), (np.nan, "not finite")):
        with pytest.raises(ValueError, match=f"reward_squares.1, 0.={value} is {complaint}"):
            restore_memory(agent.begin(belief), {**held, name: np.array([[0.0], [value]])})
