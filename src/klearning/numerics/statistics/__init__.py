"""Statistics that say what they know: intervals with tested coverage, censored times, tests that keep their level.

intervals      of a mean, of the middle half (IQM), of a share; performance profiles, the optimality gap
times          medians and survival where some runs were never solved
differences    two agents, with pairs or without: mean difference, probability of improvement; Holm's rule for many

`klearning.lab.comparison` puts them together.
"""

from klearning.numerics.statistics.differences import (
    Chance,
    Contrast,
    chance_below,
    holm,
    mean_difference,
    paired_chance_below,
    paired_difference,
    paired_sign_test,
)
from klearning.numerics.statistics.intervals import (
    FEWEST,
    MANY,
    RESAMPLES,
    Interval,
    Profile,
    Strata,
    fraction_interval,
    interquartile_interval,
    interquartile_mean,
    mean_interval,
    optimality_gap,
    performance_profile,
    stratified_mean,
)
from klearning.numerics.statistics.times import Survival, binomial_half, kaplan_meier, median_interval, median_time

__all__ = [
    "FEWEST",
    "MANY",
    "RESAMPLES",
    "Chance",
    "Contrast",
    "Interval",
    "Profile",
    "Strata",
    "Survival",
    "binomial_half",
    "chance_below",
    "fraction_interval",
    "holm",
    "interquartile_interval",
    "interquartile_mean",
    "kaplan_meier",
    "mean_difference",
    "mean_interval",
    "median_interval",
    "median_time",
    "optimality_gap",
    "paired_chance_below",
    "paired_difference",
    "paired_sign_test",
    "performance_profile",
    "stratified_mean",
]
