"""`Binned`: an environment whose observed numbers are cut into bins."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from klearning.numerics.types import Floats
from klearning.simulators.actor import Spaces
from klearning.simulators.bins import BINS, Bins, bin_counts, boxes_to_cut, flat_numbers, nested, quantile_edges
from klearning.simulators.environments import Environment, check_environment
from klearning.simulators.random_play import random_play


class Binned(gymnasium.ObservationWrapper[Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Cut the numbers of an observation into bins: a `Box`, or every `Box` of floats within a `Dict` or `Tuple`.

    ``bins`` is one number or one per dimension: N equal parts from ``low`` to ``high``, by default the ends of the
    box. These are one number, or one per dimension with None for the box's own. Numbers outside are in the end bin of
    their side.

    ``edges`` are cuts of your own in place of equal parts: the numbers at which a bin ends and the next begins, in
    order (three of them make four bins); for all dimensions, or one list per dimension with None for equal parts.

    Within a `Dict` each may be given by name, ``bins={"sensors": 10}``, nested as the space is, and within a `Tuple` by
    position, ``bins={0: 10}``; boxes that are not named have 10 equal bins. Boxes of whole numbers are left alone there
    unless they are named. A box of several axes is flattened.

    A learner that `learn` makes for this environment keeps the bins: it takes observations with or without them.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        bins: int | Sequence[int] | Mapping[Any, Any] = BINS,
        low: Any = None,
        high: Any = None,
        edges: Any = None,
    ) -> None:
        _check_single(env)
        gymnasium.utils.RecordConstructorArgs.__init__(self, bins=bins, low=low, high=high, edges=edges)
        gymnasium.ObservationWrapper.__init__(self, env)
        self.bins = Bins(env.observation_space, bins, low, high, edges)
        self.observation_space = self.bins.binned_space

    @classmethod
    def from_quantiles(
        cls,
        env: gymnasium.Env[Any, Any],
        bins: int | Sequence[int] | Mapping[Any, Any] = BINS,
        *,
        episodes: int = 20,
        seed: int = 0,
        horizon: int | None = None,
    ) -> "Binned":
        """Bins that random play fills evenly: their edges are quantiles of what ``episodes`` of it showed.

        They need no ends. If few different numbers were seen there are fewer bins. Numbers that random play never
        reaches are in the end bins, however many there are: look at ``env.edges``, and give your own if that matters.
        """
        _check_single(env)
        parts = boxes_to_cut(env.observation_space, {"bins": bins})
        seen: list[list[Floats]] = [[] for _ in parts]
        for step in random_play(env, "quantiles", episodes, seed, horizon):
            for part, numbers in zip(parts, seen, strict=True):
                x = step.observation
                for name in part.path:
                    x = x[name]
                numbers.append(flat_numbers(part, x))
        edges = {}
        for part, numbers in zip(parts, seen, strict=True):
            columns = zip(np.stack(numbers).T, bin_counts(part), strict=True)
            edges[part.path] = [quantile_edges(column, int(n)) for column, n in columns]
        return cls(env, edges=nested(edges))

    @property
    def edges(self) -> Any:
        """Where bins end, a list of numbers per dimension; by name where the observation has names."""
        return self.bins.edges

    def observation(self, observation: Any) -> Any:
        """The bin of every number."""
        return self.bins.cut(observation)


def _check_single(env: Any) -> None:
    check_environment(env)
    if isinstance(env, VectorEnv):
        raise ValueError(
            f"env={env!r} is a vector of {env.num_envs} environments: bin each of them, as in "
            "gymnasium.make_vec(…, wrappers=[kl.Binned]) or SyncVectorEnv([lambda: kl.Binned(gymnasium.make(…)), …])"
        )


def spaces_of(env: Environment) -> Spaces:
    """Of one environment, or of each in a vector."""
    if isinstance(env, VectorEnv):
        return Spaces(env.single_observation_space, env.single_action_space, _bins_of_vector(env))
    return Spaces(env.observation_space, env.action_space, _bins_of(env))


def _bins_of(env: Any) -> Bins | None:
    """Those that its observations are in, unless a wrapper above has made something else of them."""
    layer = env
    while isinstance(layer, gymnasium.Wrapper):
        if isinstance(layer, Binned):
            return layer.bins if layer.observation_space == env.observation_space else None
        layer = layer.env
    return None


def _bins_of_vector(envs: Any) -> Bins | None:
    bare = envs.unwrapped
    if not isinstance(bare, SyncVectorEnv | AsyncVectorEnv):
        return None
    if not all(bare.call("has_wrapper_attr", "bins")):
        return None
    bins = bare.get_attr("bins")[0]
    return bins if isinstance(bins, Bins) and bins.binned_space == envs.single_observation_space else None
