"""Agents side by side: samples, tests, and how the result is presented.

samples       from runs to numbers, and what two agents' runs share
compare       `compare` and its `Comparison`: intervals, tests, places
text          tables and one honest sentence
drawing       the figure
"""

from klearning.lab.comparison.compare import Comparison, Pair, Standing, compare, contest
from klearning.lab.comparison.samples import METRICS, Metric, Sample

__all__ = ["METRICS", "Comparison", "Metric", "Pair", "Sample", "Standing", "compare", "contest"]
