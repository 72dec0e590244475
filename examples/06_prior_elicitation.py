"""From a practitioner's sentences to a Prior, and the cost of a wrong one.

Ask for things that people know: a typical value, a range, a frequency. Each of the three functions below turns such a
sentence into numbers. We then try it on a hundred worlds in which the practitioner is right.
"""

import numpy as np

import klearning as kl


def gaussian(low, high, repeat, sure=0.8):
    """'A setting yields between low and high, I am 80% sure. The same setting twice differs by about repeat.'"""
    z = {0.5: 0.674, 0.8: 1.282, 0.9: 1.645, 0.95: 1.960}[sure]  # half-width of a central interval
    # Two shots differ by noise * sqrt(2): `noise` is that of one shot, `sd` that of the settings' means.
    return kl.Gaussian(mean=(low + high) / 2, sd=(high - low) / (2 * z), noise=repeat / np.sqrt(2))


def beta(typical, at_most, sure=0.9):
    """'It fails about `typical` of the time, and I am 90% sure that it is at most `at_most`.' Reward 1: it works."""
    x = np.linspace(-25, 25, 20_001)  # log odds of failing, where a Beta's density is smooth
    log_p, log_q = -np.log1p(np.exp(-x)), -np.log1p(np.exp(x))
    few, many = 1e-2, 1e6  # number of trials the opinion is worth, found by bisection of the logarithm
    for _ in range(60):
        trials = np.sqrt(few * many)
        log_density = trials * (typical * log_p + (1 - typical) * log_q)
        density = np.exp(log_density - log_density.max())
        below = density[log_p <= np.log(at_most)].sum() / density.sum()
        few, many = (trials, many) if below < sure else (few, trials)
    return kl.Beta(a=(1 - typical) * trials, b=typical * trials)


def dirichlet(as_good_as):
    """'This many observations of where an action leads would count as much as my hunch.'"""
    return kl.Dirichlet(mass=as_good_as)  # after n of them the data weigh n / (n + mass)


def cost(worlds, episodes, priors):
    """Mean regret of K-learning under each prior, one seed per world. A few percent either way is luck."""
    for name, prior in priors.items():
        runs = [kl.run(kl.KLearning(), w, prior=prior, episodes=episodes, seeds=[i]) for i, w in enumerate(worlds)]
        print(f"    {name:28} regret {np.mean([r.regret[0, -1] for r in runs]):6.1f}")


rng = np.random.default_rng(1)
said = gaussian(low=6.2, high=13.8, repeat=1.4)
print(f"'6.2 to 13.8, repeats differ by 1.4': Gaussian({said.mean:.1f}, sd={said.sd:.2f}, noise={said.noise:.2f})")
priors = {
    "as said": said,
    "ten times too unsure": kl.Gaussian(said.mean, said.sd * 10, said.noise),
    "ten times too sure": kl.Gaussian(said.mean, said.sd / 10, said.noise),
    "two sd too hopeful": kl.Gaussian(said.mean + 2 * said.sd, said.sd, said.noise),
    "two sd too gloomy": kl.Gaussian(said.mean - 2 * said.sd, said.sd, said.noise),
    "nobody asked: N(0, 1)": kl.Gaussian(),  # the first arm exceeds all expectations, so no other is tried
}
bandits = [kl.bandit(rng.normal(said.mean, said.sd, 8), noise=said.noise) for _ in range(100)]
cost(bandits, 200, {name: kl.Prior(reward) for name, reward in priors.items()})

works = beta(typical=0.02, at_most=0.05)
print(f"'fails 1 in 50, surely at most 1 in 20': Beta(a={works.a:.1f}, b={works.b:.2f})")
machines = [kl.bandit(rng.beta(works.a, works.b, 8), noise="bernoulli") for _ in range(100)]
# Being wrong about coin flips costs little here: every shift is an observation, and 500 outweigh any of these.
others = {"as said": works, "ten times too sure": kl.Beta(10 * works.a, 10 * works.b), "know-nothing": kl.Beta(1, 1)}
cost(machines, 500, {name: kl.Prior(reward) for name, reward in others.items()})

moves, reward = dirichlet(as_good_as=3.0), kl.Gaussian(0.0, 1.0, noise=1.0)
print(f"'three observations count as much as my hunch': Dirichlet(mass={moves.mass:g})")
plants = [kl.random_mdp(5, 3, 5, kl.Prior(reward, moves), seed=i) for i in range(100)]
cost(plants, 300, {f"mass {mass:g}": kl.Prior(reward, kl.Dirichlet(mass)) for mass in (3.0, 0.03, 300.0)})
