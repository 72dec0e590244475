"""The pictures of docs/concepts.md, drawn from plans of the library itself.

python -m tools.concepts
"""

from pathlib import Path
from typing import Any

import numpy as np

import klearning as kl
from klearning.numerics.display.canvas import COLOURS, new_figure, new_grid, save, styled
from klearning.numerics.layers import by_layer
from klearning.tabular.optimism.program import program

FOLDER = Path(__file__).parents[1] / "docs" / "figures"

# one state and three actions: tried 20 times, tried twice, never tried
NAMES = ("tried 20 times", "tried twice", "never tried")
VISITS = np.array([[20.0, 2.0, 0.0]])
SUMS = np.array([[10.0, 0.6, 0.0]])
LINES = ("-", (0, (5, 1.5)), (0, (1, 1.2)))
PRIOR = kl.Prior(kl.Gaussian(mean=0.0, sd=0.5, noise=0.5), kl.Dirichlet(mass=1.0))


def one_state() -> kl.Belief:
    return kl.Belief.from_counts(PRIOR, [VISITS], [SUMS], [], [1.0])


def half_variances(belief: kl.Belief, bonus: str) -> Any:
    """c of the first layer."""
    return by_layer(program(belief, bonus).c, belief.layers)[0]


@styled
def belief_picture() -> Any:
    """The belief about each action's mean reward."""
    belief = one_state()
    figure, axes = new_figure(5.0, 2.6)
    x = np.linspace(-1.5, 1.5, 601)
    for a, name in enumerate(NAMES):
        mean, variance = belief.reward_means[0][0, a], belief.reward_variances[0][0, a]
        density = np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        axes.plot(x, density, color=COLOURS[a], linestyle=LINES[a], linewidth=2.2, label=name)
        axes.fill_between(x, density, color=COLOURS[a], alpha=0.12, linewidth=0)
    axes.set(xlabel="mean reward of an action", ylabel="density", ylim=(0, None), xlim=(x[0], x[-1]))
    axes.legend(frameon=False, loc="upper left")
    return figure


@styled
def k_value_picture() -> Any:
    """K = what is expected and what not knowing is worth; beside it, the policy that follows."""
    belief = one_state()
    plan = kl.solve(belief)
    m, K, policy = belief.reward_means[0][0], plan.k_values[0][0], plan.policy[0][0]
    figure, grid = new_grid(1, 2, 6.0, 3.0)
    left, right = grid[0]
    places = np.arange(3)
    left.bar(places, K - m, bottom=m, color=COLOURS[4], width=0.55, label="bonus c/τ")
    left.plot(places, m, "o", color=COLOURS[0], markersize=8, label="expected reward")
    left.plot(places, K, "_", color="black", markersize=28, markeredgewidth=2.5, label="K-value")
    for at, value in zip(places, K, strict=True):
        left.annotate(f"{value:.2f}", (at, value), (0, 5), textcoords="offset points", ha="center")
    left.set(title="K-values", ylim=(-0.08, 1.2 * K.max()))
    figure.legend(frameon=False, loc="outside lower center", ncols=3)
    right.bar(places, policy, color=COLOURS[2], width=0.55)
    for at, value in zip(places, policy, strict=True):
        right.annotate(f"{value:.2f}", (at, value), (0, 3), textcoords="offset points", ha="center")
    right.set(title="policy ∝ exp(K/τ)", ylim=(0, 1.25 * policy.max()))
    for axes in (left, right):
        axes.set_xticks(places, [name.replace(" ", "\n", 1) for name in NAMES])
        axes.grid(axis="x", visible=False)
    return figure


@styled
def temperature_picture() -> Any:
    """f(τ), its minimum, and what every temperature certifies about it."""
    belief = one_state()
    best = kl.solve(belief)
    taus = np.geomspace(best.temperature / 6, best.temperature * 6, 121)
    plans = [kl.solve(belief, temperature=float(tau)) for tau in taus]
    f = np.array([plan.bound for plan in plans])
    below = f - np.array([plan.gap for plan in plans])
    figure, axes = new_figure(5.0, 2.8)
    axes.plot(taus, f, color=COLOURS[0], linewidth=2.2, label="bound f(τ)")
    axes.plot(taus, below, color=COLOURS[1], linestyle=LINES[1], linewidth=1.8, label="f(τ) − gap")
    axes.fill_between(taus, below, f, color=COLOURS[1], alpha=0.12, linewidth=0)
    axes.plot([best.temperature], [best.bound], "o", color="black", markersize=7)
    axes.annotate(
        f"τ* = {best.temperature:.3f}, f = {best.bound:.3f}", (best.temperature, best.bound), (8, -16),
        textcoords="offset points", ha="left",
    )  # fmt: skip
    axes.set(xscale="log", xlabel="temperature τ", ylabel="value of the state", ylim=(0, 1.6 * best.bound))
    axes.set_xticks(marks := [0.05, 0.1, 0.2, 0.5, 1.0, 2.0], [f"{mark:g}" for mark in marks])
    axes.minorticks_off()
    axes.set_xlim(taus[0], taus[-1])
    axes.legend(frameon=False, loc="lower right")
    return figure


HORIZON, WIDTH = 10, 5


def visited(n: float) -> kl.Belief:
    """Ten layers of five states and two actions, everything tried n times with nothing paid, successors evenly seen."""
    prior = kl.Prior(kl.Gaussian(mean=0.0, sd=1.0, noise=0.5), kl.Dirichlet(mass=1.0))
    table = np.full((WIDTH, 2), n)
    counts = np.full((WIDTH, 2, WIDTH), n / WIDTH)
    return kl.Belief.from_counts(
        prior, [table] * HORIZON, [0.0 * table] * HORIZON, [counts] * (HORIZON - 1), np.full(WIDTH, 1 / WIDTH)
    )


@styled
def bonus_picture() -> Any:
    """The three forms of c in the first of ten layers, as visits grow."""
    visits = np.array([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024.0])
    figure, axes = new_figure(5.0, 2.8)
    for i, bonus in enumerate(("paper", "sharp", "reward")):
        c = [float(half_variances(visited(n), bonus)[0, 0]) for n in visits]
        axes.plot(
            visits, c, color=COLOURS[i], linestyle=LINES[i], marker="osD"[i], markersize=5, linewidth=2, label=bonus
        )
    axes.set_xscale("symlog", linthresh=1)
    axes.set(yscale="log", xlabel="visits n of the state and action", ylabel="c, the bonus at τ = 1", xlim=(-0.1, 1300))
    axes.set_xticks(marks := [0, 1, 4, 16, 64, 256, 1024], [str(mark) for mark in marks])
    axes.minorticks_off()
    axes.legend(frameon=False)
    return figure


PICTURES = {
    "belief": belief_picture,
    "k_value": k_value_picture,
    "temperature": temperature_picture,
    "bonus": bonus_picture,
}


def main(folder: Path = FOLDER) -> None:
    for name, draw in PICTURES.items():
        save(draw(), folder / f"concepts_{name}.png")


if __name__ == "__main__":
    main()
