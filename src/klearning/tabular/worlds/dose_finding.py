"""Dosing one patient over several visits, after the virtual trials of Zhao, Kosorok and Zeng (2009)."""

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Floats
from klearning.tabular.models.mdp import MDP

HALF_DOSE = 1.0  # of the Emax curve, in full doses
STEEPNESS = 5.0  # of the logistic curve of toxicity


def dose_finding(
    visits: int = 6,
    doses: int = 4,
    stages: int = 4,
    grades: int = 4,
    efficacy: float = 0.8,
    resistance: float = 0.1,
    progression: float = 0.3,
    toxic_dose: float = 0.8,
    recovery: float = 0.6,
    burden: float = 0.02,
    harm: float = 0.4,
    noise: float = 0.05,
) -> MDP:
    """A patient is dosed at each visit: more of the drug fights the disease, and poisons.

    State stage · ``grades`` + grade: the disease's stage, 0 (no sign of it) to ``stages`` − 1, and the grade of
    toxicity, 0 to ``grades`` − 1, the last of which is dose-limiting; the last state of all is death. Action: one of
    ``doses`` equal steps from nothing to the full dose, x in [0, 1]; at the dose-limiting grade nothing is given,
    whatever was ordered. Until the next visit, and independently of each other,

    - the disease goes down a stage with chance efficacy · (1 − resistance)^(visits past) · 2x / (1 + x),
      an Emax curve that wears off; else it goes up a stage with chance ``progression``, and
      from the last one to death;
    - toxicity goes up a grade with chance 1 / (1 + exp(−5 (x − toxic_dose))), the logistic curve of
      phase I trials; else it goes down a grade with chance ``recovery``.

    Each visit costs ``burden`` · grade/(grades − 1). After the last one the outcome is scored between 0 and 1,
    (1 − harm) · (1 − stage/(stages − 1)) + harm · (1 − grade/(grades − 1)), and death 0. A patient begins without
    toxicity, at any stage but 0. Layers differ, since resistance grows and the outcome is scored once.

    The optimum adapts: with the defaults it gives no less the later the stage and no more the higher the grade, and
    is worth 0.7199; of the doses that never change, two thirds of the full one is best, with 0.6457.

    Rewards are expectations with Gaussian ``noise``. With the defaults means lie in [-0.02, 0.95] and the values of
    a layer span at most 0.95. The default prior fits; N(0, 0.3²) is closer, with a Dirichlet of mass 1.
    """
    visits, doses = checks.whole("visits", visits), checks.whole("doses", doses, 2)
    stages, grades = checks.whole("stages", stages, 2), checks.whole("grades", grades, 2)
    largest, field = max((visits, "visits"), (doses, "doses"), (stages, "stages"), (grades, "grades"))
    checks.fits(field, largest, 8 * visits * doses * (stages * grades) ** 2)
    wears_off = checks.number("resistance", resistance, 0.0, 1.0)
    relapse, heals = checks.number("progression", progression, 0.0, 1.0), checks.number("recovery", recovery, 0.0, 1.0)
    burden, harm = checks.number("burden", burden, 0.0), checks.number("harm", harm, 0.0, 1.0)
    cures, poisons = response_chances(doses, efficacy), toxicity_chances(doses, toxic_dose)
    toxicity = steps(grades, up=poisons, down=heals)
    courses = []
    for past in range(visits):
        health = steps(stages + 1, up=cures * (1.0 - wears_off) ** past, down=relapse)
        courses.append(together(health[:0:-1, :, ::-1], toxicity))  # stages are numbered against health
    share = np.tile(np.arange(grades) / (grades - 1), stages)
    ill = np.repeat(np.arange(stages) / (stages - 1), grades)
    score = np.append((1.0 - harm) * (1.0 - ill) + harm * (1.0 - share), 0.0)
    cost = np.repeat(-burden * np.append(share, 0.0)[:, None], doses, axis=1)
    rewards = [cost] * (visits - 1) + [cost + courses[-1] @ score]
    initial = np.append((ill > 0) * (share == 0) / (stages - 1), 0.0)
    noise = checks.number("noise", noise, 0.0)
    return MDP.from_layers(rewards, courses[:-1], initial, noise, name=f"dose_finding({visits}, {doses})")


def response_chances(doses: int, efficacy: float) -> Floats:
    """The Emax dose–response curve at each dose."""
    top = checks.number("efficacy", efficacy, 0.0, 1.0)
    x = np.linspace(0.0, 1.0, doses)
    return top * (HALF_DOSE + 1.0) * x / (HALF_DOSE + x)


def toxicity_chances(doses: int, toxic_dose: float) -> Floats:
    """The logistic dose–toxicity curve at each dose, as a tanh, which does not overflow."""
    middle = checks.number("toxic_dose", toxic_dose, 0.0)
    return 0.5 + 0.5 * np.tanh(0.5 * STEEPNESS * (np.linspace(0.0, 1.0, doses) - middle))


def steps(levels: int, up: Floats, down: float) -> Floats:
    """(level, dose, next level): up by one with the dose's chance, else down by one with chance ``down``."""
    P = np.zeros((levels, len(up), levels))
    for i in range(levels):
        P[i, :, min(i + 1, levels - 1)] += up
        P[i, :, max(i - 1, 0)] += (1.0 - up) * down
        P[i, :, i] += (1.0 - up) * (1.0 - down)
    return P


def together(disease: Floats, toxicity: Floats) -> Floats:
    """Both at once and death, (state, dose, next state); the dose-limiting grade is given nothing."""
    stages, doses, _ = disease.shape
    alive = stages * len(toxicity)
    both = np.einsum("ydn,tdm->ytdnm", disease, toxicity)
    both[:, -1] = both[:, -1, :1]
    both = both.reshape(alive, doses, -1)
    P = np.zeros((alive + 1, doses, alive + 1))
    P[:alive, :, :alive] = both[..., :alive]
    P[:alive, :, alive] = both[..., alive:].sum(axis=-1)
    P[alive, :, alive] = 1.0
    return P
