"""What a device knows and plans, for comparison with the CPU: beliefs of seeds, and K of one plan."""

from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numba import cuda

from klearning.gpu.batch import Batch
from klearning.gpu.k_learning import Kind, Swept, close, duality_gap, fresh, improved, soft_sweep_for
from klearning.gpu.layout import Shape
from klearning.gpu.random import F
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.mdp import MDP


def beliefs(batch: Batch, prior: Prior, mdp: MDP, which: Iterable[int]) -> list[Belief]:
    """The beliefs of some seeds, counted from the first, as the CPU has them."""
    visits, sums, moves = (x.copy_to_host().astype(np.float64) for x in batch.counts)
    start, succ = batch.world.start.copy_to_host(), batch.world.succ.copy_to_host()
    pair = np.repeat(np.arange(len(start) - 1), np.diff(start))
    s, a = np.divmod(pair, mdp.actions)
    cuts = mdp.layers.tolist()
    layer = np.searchsorted(mdp.layers, s, side="right") - 1

    def one(i: int) -> Belief:
        n, r = (x[:, i].reshape(mdp.states, mdp.actions) for x in (visits, sums))
        count = visits[pair, i] if batch.shape.single else moves[:, i]
        blocks = [np.zeros((w, mdp.actions, y)) for w, y in pairwise(mdp.widths)]
        for l, block in enumerate(blocks):
            mine = layer == l
            block[s[mine] - cuts[l], a[mine], succ[mine] - cuts[l + 1]] = count[mine]
        n_l, r_l = ([x[low:high] for low, high in pairwise(cuts)] for x in (n, r))
        return Belief.from_counts(prior, n_l, r_l, blocks, mdp.initial)

    return [one(i) for i in which]


@cache
def plans_for(shape: Shape, kind: Kind) -> Any:
    """The kernel: one plan of every seed; writes K, and τ, f, gap and sweeps."""
    soft_sweep, slots = soft_sweep_for(shape, kind, shown=True), shape.slots

    @cuda.jit(fastmath=True)  # type: ignore[untyped-decorator]
    def plans(world: Any, counts: Any, x: Any, search: Any, share: Any, K: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i >= search.tau.size:
            return
        V, H, C = cuda.local.array(slots, F), cuda.local.array(slots, F), cuda.local.array(slots, F)
        at, done = Swept(V, H, C, cuda.local.array(slots, F)), False
        state = fresh(search.tau[i], search.curvature[i])
        while not done:
            tau = state.tau
            f, H_start, C_start, _ = soft_sweep(world, counts, x, tau, i, at, share, K)
            gap = duality_gap(tau, H_start, C_start)
            state = improved(state, H_start, C_start)
            done = close(x, f, tau * H_start + C_start / tau, gap, state.sweeps)
            out[0, i], out[1, i], out[2, i], out[3, i] = tau, f, gap, state.sweeps

    return plans
