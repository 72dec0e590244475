"""Statistics with tested coverage and level.

intervals      confidence intervals of a mean, an interquartile mean (IQM), a fraction; performance profiles
times          medians of censored times
differences    paired and two-sample tests of mean difference and probability of improvement; Holm's rule

`klearning.lab.comparison` combines them.
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
from klearning.numerics.statistics.times import binomial_half, median_interval, median_time

__all__ = [
    "FEWEST",
    "MANY",
    "RESAMPLES",
    "Chance",
    "Contrast",
    "Interval",
    "Profile",
    "Strata",
    "binomial_half",
    "chance_below",
    "fraction_interval",
    "holm",
    "interquartile_interval",
    "interquartile_mean",
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
