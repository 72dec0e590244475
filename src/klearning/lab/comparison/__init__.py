"""Agents side by side: what is compared, how it is tested, how it is told.

entrants      from runs to numbers, and what two agents' runs share
compare       `compare` and its `Comparison`: intervals, tests, places
telling       tables and one honest sentence
drawing       the figure
"""

from klearning.lab.comparison.compare import Comparison, Pair, Standing, compare, contest
from klearning.lab.comparison.entrants import METRICS, Entrant, Metric

__all__ = ["METRICS", "Comparison", "Entrant", "Metric", "Pair", "Standing", "compare", "contest"]
