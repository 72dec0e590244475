"""The Bellman sweeps: hard (e-bellman_q), for a policy (e-bell-pol), and its occupancy.

All of them read one record, `Model`: rewards and transition rows of (a, s), either the truth or a
posterior mean. In the latter every row may hold, besides what was seen, a prior mass spread evenly
over the next layer, so that

    Σ_s' P(s'|s,a) V(s')  =  scale(s,a) · (mass · mean of V over layer l+1  +  Σ_seen weight(s') V(s'))

costs one mean per layer and one term per distinct transition, never |S_l|·A·|S_{l+1}|. With a discount γ,
scale holds that factor too.

Values, policies and bonuses have a column for every state of every layer. Rewards, transitions and counts have one for
every row of the model's tables, which is the same if each layer has rows of its own. If the world does not
change with the step, all layers share one table, and `Model.table` is all that knows of it.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.simd.operations import gather, load, store
from klearning.numerics.sparse.rows import EIGHT, Rows, are_lone, first_of_eight, lone_successors
from klearning.numerics.sparse.validation import check_rows
from klearning.numerics.types import Floats, Ints

ONE = index(1)
FORBIDDEN = -1e80  # what an action pays that is not allowed: no plan makes up for it, and its square is a float


@field_roles(
    offsets=("layers", "table"),
    fixed=("layers", "table", "end", "mass"),
    finite=("reward",),
    counts=("initial", "scale"),
)
class Model(NamedTuple):
    """Rewards and transitions of an MDP, true or expected; axes (action, state)."""

    layers: Ints  # layer l holds the states layers[l] .. layers[l+1]-1
    table: Ints  # its rows begin at table[l]: at layers[l], or at 0 if all layers share one table
    end: int  # the state of every layer, counted from its first, where an episode is over; -1 if there is none
    initial: Floats  # ρ over the first layer
    reward: Floats
    scale: Floats
    mass: float
    rows: Rows

    def check(self, fresh: "Model", name: str) -> None:
        """Every row leads to states of the next layer; of the table, if all share one."""
        low, high = successor_range(fresh.layers, fresh.table)
        check_rows(f"{name}.rows", self.rows, fresh.reward.shape, low, high)


def successor_range(layers: Ints, table: Ints) -> tuple[Ints, Ints]:
    """By row of the tables, the first row that it may lead to and the one behind the last; none behind the last layer.

    With one table for all layers it is the whole table.
    """
    if table[-1] == 0:
        return np.zeros(layers[1], np.int64), np.full(layers[1], layers[1])
    low, high = (np.repeat(np.append(ends, layers[-1]), np.diff(layers)) for ends in (layers[1:-1], layers[2:]))
    return low, high


@kernel(inline=True)
def shared(model: Model) -> bool:
    """Whether all layers share one table."""
    return model.table[-1] == 0


@kernel(inline=True)
def row_of(model: Model, l: int, s: int) -> int:
    """Where the tables hold state s of layer l."""
    return s - model.layers[l] + model.table[l]


@kernel(inline=True)
def first_column(model: Model, x: Floats, l: int) -> int:
    """Where layer l begins in an array with a column for every state, or for every row of the tables."""
    return model.layers[l] if x.shape[1] == model.layers[-1] else model.table[l]


@kernel(inline=True, reorder=True)
def spread_evenly(model: Model, l: int, V: Floats) -> float:
    """mass · mean of V over layer l+1; zero behind the last layer."""
    if l + 2 >= model.layers.size or model.mass == 0.0:
        return 0.0
    low, high = index(model.layers[l + 1]), index(model.layers[l + 2])
    total = 0.0
    for s in range(low, high):
        total += V[s]
    return model.mass * total / (high - low)


@kernel(inline=True)
def expectation(model: Model, l: int, a: int, V: Floats, out: Floats) -> None:
    """out(i) = Σ_s' P(s'|s,a) V(s') for the states s of layer l, i counting from its first; 0 behind the last."""
    low, width = index(model.table[l]), index(model.layers[l + 1] - model.layers[l])
    if l + 2 == model.layers.size:
        for i in range(width):
            out[i] = 0.0
        return
    nowhere, below = index(model.layers[l + 1]), index(model.layers[l + 1] - model.table[l + 1])
    start, length, scale = model.rows.start[a], model.rows.length[a], model.scale[a]
    succ, weight = model.rows.succ, model.rows.weight
    even = spread_evenly(model, l, V)
    if are_lone(length, low, width):
        for i in range(index(0), width, EIGHT):
            begin = low + first_of_eight(i, width)
            columns, weights = lone_successors(model.rows, a, begin, load(length, begin), below, nowhere)
            store(out, begin - low, load(scale, begin) * (even + weights * gather(V, columns)))
        return
    for s in range(low, low + width):
        first = index(start[s])
        end = first + index(length[s])
        some = first < end  # most rows have one successor or none: no branch, which would be guessed wrongly
        y, w = (index(succ[first]) + below if some else nowhere), (weight[first] if some else 0.0)
        total = even + w * V[y]
        for e in range(first + ONE, end):
            total += weight[e] * V[index(succ[e]) + below]
        out[s - low] = scale[s] * total


@kernel
def at_start(model: Model, V: Floats) -> float:
    """E_{s∼ρ} V_1(s)."""
    total = 0.0
    for s in range(model.initial.size):
        total += model.initial[s] * V[s]
    return total


@kernel(inline=True)
def action_values(model: Model, reward: Floats, l: int, V: Floats, Q: Floats) -> None:
    """Q_l(s,a) = reward(s,a) + Σ_s' P(s'|s,a) V_{l+1}(s')."""
    low, high = model.layers[l], model.layers[l + 1]
    at = first_column(model, reward, l)
    for a in range(reward.shape[0]):
        Q_a, r_a = Q[a][low:high], reward[a][at : at + high - low]
        expectation(model, l, a, V, Q_a)
        for i in range(high - low):
            Q_a[i] += r_a[i]


@kernel
def all_action_values(model: Model, reward: Floats, V: Floats, Q: Floats) -> None:
    """Q of every layer from V of the next."""
    for l in range(model.layers.size - 1):
        action_values(model, reward, l, V, Q)


@kernel(inline=True)
def maximum(model: Model, l: int, Q: Floats, V: Floats) -> None:
    """V_l(s) = max_a Q_l(s,a)."""
    for s in range(model.layers[l], model.layers[l + 1]):
        best = Q[0, s]
        for a in range(1, Q.shape[0]):
            best = max(best, Q[a, s])
        V[s] = best


@kernel
def hard_sweep(model: Model, reward: Floats, Q: Floats, V: Floats) -> float:
    """Q* and V* (e-bellman_q); returns E_ρ V_1."""
    for l in range(model.layers.size - 2, -1, -1):
        action_values(model, reward, l, V, Q)
        maximum(model, l, Q, V)
    return at_start(model, V)


@kernel(inline=True)
def greedy_at(Q: Floats, s: int, policy: Floats) -> None:
    """In state s, uniform over the maximisers of Q."""
    actions = Q.shape[0]
    best, ties = Q[0, s], 0
    for a in range(1, actions):
        best = max(best, Q[a, s])
    for a in range(actions):
        ties += Q[a, s] == best
    for a in range(actions):
        policy[a, s] = 1.0 / ties if Q[a, s] == best else 0.0


@kernel
def greedy(Q: Floats, policy: Floats) -> None:
    """The policy that is uniform over the maximisers of Q."""
    for s in range(Q.shape[1]):
        greedy_at(Q, s, policy)


@kernel
def policy_sweep(model: Model, reward: Floats, policy: Floats, V: Floats, scratch: Floats) -> float:
    """V^π (e-bell-pol); returns J^π = E_ρ V_1^π."""
    for l in range(model.layers.size - 2, -1, -1):
        low, high = index(model.layers[l]), index(model.layers[l + 1])
        at = index(first_column(model, reward, l))
        for a in range(reward.shape[0]):
            expectation(model, l, a, V, scratch)
            policy_a, reward_a = policy[a], reward[a]
            if a == 0:
                for s in range(low, high):
                    V[s] = policy_a[s] * (reward_a[s - low + at] + scratch[s - low])
            else:
                for s in range(low, high):
                    V[s] += policy_a[s] * (reward_a[s - low + at] + scratch[s - low])
    return at_start(model, V)


@kernel
def occupancy_sweep(model: Model, policy: Floats, occupancy: Floats) -> None:
    """λ_l(s,a), the chance of being in s and taking a: the recursion under e-cvx-dual, forwards."""
    actions, states = policy.shape
    layers, rows = model.layers, model.rows
    reached = np.zeros(states)
    for s in range(model.initial.size):
        reached[s] = model.initial[s]
    for l in range(layers.size - 1):
        even, at, below = 0.0, model.table[l] - layers[l], layers[l + 1] - model.table[l + 1]
        inside = l + 2 < layers.size
        for a in range(actions):
            for s in range(layers[l], layers[l + 1]):
                flow = reached[s] * policy[a, s]
                occupancy[a, s] = flow
                if inside:
                    k = s + at
                    flow *= model.scale[a, k]
                    even += flow * model.mass
                    for e in range(rows.start[a, k], rows.start[a, k] + rows.length[a, k]):
                        reached[rows.succ[e] + below] += flow * rows.weight[e]
        if inside:
            low, high = layers[l + 1], layers[l + 2]
            for s in range(low, high):
                reached[s] += even / (high - low)
