"""Slow, obvious versions of the agents: counts in dictionaries, one (s, a) at a time, linear programs for maxima.

States are numbered through all layers, which count from 0, so that the papers' L − l + 1 is L − l here. Tables of Q
are (A, S), as in the agents' memories. Nothing in here calls the package's numerics.
"""

from collections import Counter, defaultdict

import numpy as np
from scipy.optimize import linprog

import klearning as kl
from klearning.tabular.trials.trial import new_task


class History:
    """What was seen: visits and reward sums of (s, a), and how often each next state followed."""

    def __init__(self, layers, actions):
        self.layers, self.L, self.S, self.A = layers, len(layers) - 1, int(layers[-1]), actions
        self.visits, self.reward_sums, self.next = Counter(), defaultdict(float), defaultdict(Counter)

    def add(self, episode):
        for l in range(self.L):
            s, a = int(episode.states[l]), int(episode.actions[l])
            self.visits[s, a] += 1
            self.reward_sums[s, a] += float(episode.rewards[l])
            if l + 1 < self.L:
                self.next[s, a][int(episode.states[l + 1])] += 1

    def states(self, l):
        """The states of layer l; none behind the last."""
        return range(self.layers[l], self.layers[l + 1]) if l < self.L else range(0)

    def frequencies(self, l, s, a):
        """P̂(·|s,a) over the next layer."""
        return np.array([self.next[s, a][y] for y in self.states(l + 1)]) / max(1, self.visits[s, a])

    def mean_reward(self, s, a):
        return self.reward_sums[s, a] / self.visits[s, a]

    def state_visits(self, s):
        return sum(self.visits[s, a] for a in range(self.A))


def belief(world, prior=None):
    """Before anything was seen."""
    return kl.Belief.before(prior or kl.Prior(), world)


def follow(agent, world, prior=None, episodes=30, seed=0):
    """One episode at a time: (number, memory after it, history before it, the episode)."""
    memory, task = agent.begin(belief(world, prior)), new_task(agent, world, episodes, seed)
    history = History(world.layers, world.actions)
    for t in range(episodes):
        memory = agent.advance(memory, task, t, 1)
        yield t, memory, history, task.episode
        history.add(task.episode)


def greedy(Q):
    """Uniform over the maximisers of each state."""
    best = Q.max(axis=0) == Q
    return best / best.sum(axis=0)


def backwards(history, worth, summary=np.max):
    """Q and V, the last layer first: worth(l, s, a, V of the next layer) makes Q, and ``summary`` of Q makes V."""
    Q, V = np.zeros((history.A, history.S)), np.zeros(history.S)
    for l in reversed(range(history.L)):
        ahead = V[list(history.states(l + 1))]
        for s in history.states(l):
            for a in range(history.A):
                Q[a, s] = worth(l, s, a, ahead)
            V[s] = summary(Q[:, s])
    return Q, V


# -- value iteration with a bonus on frequencies ----------------------------------------------------------------------


def ucbvi(history, before, T, delta, scale, bernstein):
    """Azar et al.: ``before`` is the Q of the episode before, (A, S)."""
    L, S, A = history.L, history.S, history.A
    Lg = np.log(5 * S * A * T / delta)

    def worth(l, s, a, V):
        n, p = history.visits[s, a], history.frequencies(l, s, a)
        if n == 0:
            return L - l
        mean = p @ V
        bonus = 7 * L * Lg / np.sqrt(n)
        if bernstein:
            met = [history.state_visits(y) for y in history.states(l + 1)]
            bonus = bernstein_bonus(p, V, met, n, Lg, L, S, A)
        return min(before[a, s], history.mean_reward(s, a) + scale * bonus + mean)

    return backwards(history, worth)


def bernstein_bonus(p, V, met, n, Lg, L, S, A):
    """UCBVI-BF's bonus of a row p over next states of value V, visited ``met`` times."""
    variance = p @ (V - p @ V) ** 2
    rarely = sum(q * min(1e4 * L**3 * S**2 * A * Lg**2 / m, L**2) for q, m in zip(p, met) if q > 0)
    return np.sqrt(8 * Lg * variance / n) + 14 * L * Lg / (3 * n) + np.sqrt(8 * rarely / n)


def rlsvi_moments(history, V, sd, noise):
    """Mean and variance of Q(s,a) given the values V of the next layer, both (A, S)."""
    mean, variance = np.zeros((history.A, history.S)), np.zeros((history.A, history.S))
    for l in range(history.L):
        ahead = V[list(history.states(l + 1))]
        for s in history.states(l):
            for a in range(history.A):
                n = history.visits[s, a]
                v = 1 / (1 / sd**2 + n / noise**2)
                backed_up = history.reward_sums[s, a] + n * history.frequencies(l, s, a) @ ahead
                mean[a, s], variance[a, s] = v * backed_up / noise**2, v
    return mean, variance


# -- value iteration on the posterior ---------------------------------------------------------------------------------


class Posterior:
    """Posterior means under a conjugate prior; ``possible(s, a)`` lists the states that the Dirichlet's mass is on."""

    def __init__(self, history, prior, possible=None):
        self.history, self.prior, self.possible = history, prior, possible

    @property
    def mass(self):
        return self.prior.transitions.mass

    def row(self, l, s, a):
        """P̄(·|s,a) over the next layer."""
        ahead = list(self.history.states(l + 1))
        support = ahead if self.possible is None else self.possible(s, a)
        alpha = [self.mass / len(support) * (y in support) + self.history.next[s, a][y] for y in ahead]
        return np.array(alpha) / np.sum(alpha) if ahead else np.zeros(0)

    def reward_weight(self):
        """How many visits the reward prior is worth, and its mean."""
        r = self.prior.reward
        return (r.a + r.b, r.a / (r.a + r.b)) if isinstance(r, kl.Beta) else ((r.noise / r.sd) ** 2, r.mean)

    def reward(self, s, a, imagined=0.0, pays=0.0):
        """The mean reward, as if ``imagined`` more visits had paid ``pays`` each."""
        n0, m0 = self.reward_weight()
        total = n0 * m0 + self.history.reward_sums[s, a] + imagined * pays
        return total / (n0 + self.history.visits[s, a] + imagined)


def beb(posterior, beta):
    h = posterior.history

    def worth(l, s, a, V):
        bonus = beta / (1 + posterior.mass + h.visits[s, a])
        return posterior.reward(s, a) + bonus + posterior.row(l, s, a) @ V

    return backwards(h, worth)


def bolt(posterior, eta, pays):
    """As if each (s, a) had been tried η more times, ended in the best next state, and been paid ``pays``, if given."""
    h = posterior.history

    def worth(l, s, a, V):
        r = posterior.reward(s, a) if pays is None else posterior.reward(s, a, eta, pays)
        if not len(V):
            return r
        counted = (posterior.mass + h.visits[s, a]) * posterior.row(l, s, a)
        counted[np.argmax(V)] += eta
        return r + counted @ V / counted.sum()

    return backwards(h, worth)


def soft_values(posterior, tau):
    return backwards(
        posterior.history,
        lambda l, s, a, V: posterior.reward(s, a) + posterior.row(l, s, a) @ V,
        lambda q: soft_maximum(q, tau),
    )


def soft_maximum(q, tau):
    return tau * np.logaddexp.reduce(np.asarray(q) / tau)


# -- optimism over a set of models ------------------------------------------------------------------------------------


def best_in_ball(p, radius, V):
    """max q·V over distributions q with ‖q − p‖₁ ≤ radius, as a linear program in q and u ≥ |q − p|."""
    k = len(p)
    eye = np.eye(k)
    close = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, k)), np.ones((1, k))]])
    limit = np.concatenate([p, -p, [radius]])
    return _largest(np.concatenate([V, np.zeros(k)]), close, limit, np.repeat([1.0, 0.0], k), (0, None))


def best_in_box(p, width, V):
    """max q·V over distributions q with |q − p| ≤ width, entry by entry."""
    bounds = np.stack([np.maximum(0, p - width), np.minimum(1, p + width)], axis=1)
    return _largest(V, None, None, np.ones(len(p)), bounds)


def _largest(gain, A_ub, b_ub, sums_to_one, bounds):
    found = linprog(-np.asarray(gain), A_ub, b_ub, sums_to_one[None], [1.0], bounds, method="highs")
    assert found.success, found.message
    return -found.fun


def ucrl2(history, t, scale, delta):
    """Extended value iteration at step t = 1, 2, …"""
    S, A = history.S, history.A

    def worth(l, s, a, V):
        n = history.visits[s, a]
        if n == 0:
            return 1 + max(V, default=0)
        r = min(1, history.mean_reward(s, a) + scale * np.sqrt(7 * np.log(2 * S * A * t / delta) / (2 * n)))
        radius = scale * np.sqrt(14 * S * np.log(2 * A * t / delta) / n)
        return r + (best_in_ball(history.frequencies(l, s, a), radius, V) if len(V) else 0.0)

    return backwards(history, worth)


def ucfh_ln1(S, A, L, accuracy, delta):
    return np.log(6 / (delta / (2 * S**2 * A * L * np.log2(4 * S**2 * L**2 / accuracy))))


def ucfh_width(p, n, ln1, scale):
    """The smaller of the two intervals; Bernstein's needs two samples."""
    hoeffding = np.sqrt(ln1 / (2 * n))
    if n == 1:
        return scale * hoeffding * np.ones(len(p))
    return scale * np.minimum(hoeffding, np.sqrt(2 * p * (1 - p) * ln1 / n) + 7 * ln1 / (3 * (n - 1)))


def ucfh(history, ln1, scale):
    def worth(l, s, a, V):
        n, p = history.visits[s, a], history.frequencies(l, s, a)
        if n == 0:
            return 1 + max(V, default=0)
        r = min(1, history.mean_reward(s, a) + scale * np.sqrt(ln1 / (2 * n)))
        return r + (best_in_box(p, ucfh_width(p, n, ln1, scale), V) if len(V) else 0.0)

    return backwards(history, worth)


class UCFHModel:
    """What UCFH plans with, and what it has set aside."""

    def __init__(self, layers, actions):
        self.model, self.aside = History(layers, actions), History(layers, actions)

    def add(self, episode, least, most=np.inf):
        """Set aside an episode; move at most one (s, a) into the model. Returns it, or None."""
        self.aside.add(episode)
        n, v = self.model.visits, self.aside.visits
        for a in range(self.model.A):
            for s in range(self.model.S):
                if v[s, a] >= max(least, n[s, a]) and n[s, a] < most:
                    n[s, a] += v.pop((s, a))
                    self.model.reward_sums[s, a] += self.aside.reward_sums.pop((s, a))
                    self.model.next[s, a] += self.aside.next.pop((s, a), Counter())
                    return s, a
        return None


# -- learning online, a step at a time --------------------------------------------------------------------------------


def falling(L, k):
    return (L + 1) / (L + k)


class OnlineQ:
    """Q-learning: Q[s, a] starts at 0."""

    def __init__(self, horizon, actions, step=None):
        self.L, self.A, self.step = horizon, actions, step
        self.Q, self.visits = defaultdict(float), Counter()

    def value(self, l, s):
        return max(self.Q[s, a] for a in range(self.A))

    def bonus(self, s, a, k, met):
        return 0.0

    def learn(self, episode):
        for l in range(self.L):
            s, a = int(episode.states[l]), int(episode.actions[l])
            met = self.value(l + 1, int(episode.states[l + 1])) if l + 1 < self.L else 0.0
            self.visits[s, a] += 1
            k = self.visits[s, a]
            alpha = falling(self.L, k) if self.step is None else self.step
            target = float(episode.rewards[l]) + met + self.bonus(s, a, k, met)
            self.Q[s, a] = (1 - alpha) * self.Q[s, a] + alpha * target

    def table(self, states):
        return np.array([[self.Q[s, a] for s in range(states)] for a in range(self.A)])


class OnlineSoftQ(OnlineQ):
    def __init__(self, horizon, actions, tau, step=None):
        super().__init__(horizon, actions, step)
        self.tau = tau

    def value(self, l, s):
        return soft_maximum([self.Q[s, a] for a in range(self.A)], self.tau)


class OnlineOptimisticQ(OnlineQ):
    """Jin et al.: ``iota`` is to be set before each episode; W is the variance of the list of values met."""

    def __init__(self, layers, actions, scale, bernstein):
        super().__init__(len(layers) - 1, actions)
        self.states, self.scale, self.bernstein = int(layers[-1]), scale, bernstein
        for l in range(self.L):
            for s in range(layers[l], layers[l + 1]):
                self.Q.update({(s, a): float(self.L - l) for a in range(actions)})
        self.met, self.beta, self.iota = defaultdict(list), defaultdict(float), None

    def value(self, l, s):
        return min(self.L - l, super().value(l, s))

    def bonus(self, s, a, k, met):
        L, iota = self.L, self.iota
        hoeffding = np.sqrt(L**3 * iota / k)
        if not self.bernstein:
            return self.scale * hoeffding
        self.met[s, a].append(met)
        W, alpha = np.var(self.met[s, a]), falling(L, k)
        beta = np.sqrt(L * (W + L) * iota / k) + np.sqrt(L**7 * self.states * self.A) * iota / k
        before, self.beta[s, a] = self.beta[s, a], min(beta, hoeffding)
        return self.scale * (self.beta[s, a] - (1 - alpha) * before) / (2 * alpha)


class OnlineK:
    """Online K-learning: numbers in dictionaries by (layer, state), all episodes in a list; (n0, σ²) of a Gaussian.

    ``tied`` says that all layers are one: pairs are counted by the state's place, and each step teaches all layers.
    """

    def __init__(self, agent, layers, actions, noise, sd, mass, tied=False, discount=1.0, end=None):
        self.agent, self.layers, self.L, self.A, self.tied = agent, layers, len(layers) - 1, actions, tied
        self.n0, self.noise, self.mass, self.gamma, self.end = (noise / sd) ** 2, noise**2, mass, discount, end
        self.visits, self.moves, self.sums = Counter(), Counter(), Counter()
        self.Y, self.hope, self.episodes = defaultdict(float), [0.0] * self.L, []
        held = agent.temperature != "learnt"
        self.tau = agent.temperature if held else sd * np.sqrt(agent.optimism / (2 * np.log(max(2, actions))))
        self.rate = 0.0 if held else agent.rate

    def pair(self, l, place, a):
        return (0 if self.tied else l), place, a

    def c(self, l, place, a):
        return self.noise / (self.n0 + self.visits[self.pair(l, place, a)]) / 2

    def K(self, l, place):
        values = []
        for a in range(self.A):
            pair, kappa = self.pair(l, place, a), self.agent.optimism
            n, prior = self.moves[pair], kappa * self.mass
            ahead = (prior * self.hope[l] + n * self.Y[l, place, a]) / (prior + n) if prior + n else self.hope[l]
            mean = self.sums[pair] / (self.n0 + self.visits[pair])
            values.append(mean + ahead + kappa * self.c(l, place, a) / self.tau)
        return np.array(values)

    def V(self, l, place):
        return 0.0 if place == self.end else soft_maximum(self.K(l, place), self.tau)

    def plan(self):
        """The policy as (A, S)."""
        columns = []
        for l in reversed(range(self.L)):
            width = self.layers[l + 1] - self.layers[l]
            if l + 1 < self.L:
                after = range(self.layers[l + 2] - self.layers[l + 1])
                self.hope[l] = self.gamma * np.mean([self.V(l + 1, place) for place in after])
            for place in reversed(range(width)):
                x = self.K(l, place) * self.agent.sharpness / self.tau
                weight = np.exp(x - x.max())
                columns.append(weight / weight.sum())
        return np.array(columns[::-1]).T

    def back_up(self, l, place, a, after):
        n = self.moves[self.pair(l, place, a)]
        for h in reversed(range(self.L - 1)) if self.tied else [l] * (l + 1 < self.L):
            target = self.gamma * self.V(h + 1, after)
            self.Y[h, place, a] += falling(self.L, n) * (target - self.Y[h, place, a])

    def learn(self, episode, again):
        """And then from those of all episodes that come ``again``."""
        places = [int(s - self.layers[l]) for l, s in enumerate(episode.states)]
        steps = places.index(self.end) if self.end in places else len(episode.actions)
        steps = min(steps, len(episode.actions))
        H = C = 0.0
        for l in range(steps):
            p = np.exp((self.K(l, places[l]) - self.V(l, places[l])) / self.tau)
            H -= self.gamma**l * p @ np.log(p)
            C += self.gamma**l * sum(p[a] * self.c(l, places[l], a) for a in range(self.A)) * self.agent.optimism
        story = [(l, places[l], int(episode.actions[l]), after) for l, after in zip(range(steps), [*places[1:], None])]
        self.episodes.append([step for step in story if step[3] is not None])
        for l, place, a, after in story:
            pair = self.pair(l, place, a)
            self.visits[pair] += 1
            self.moves[pair] += after is not None
            self.sums[pair] += float(episode.rewards[l])
            if self.agent.order == "forward" and after is not None:
                self.back_up(l, place, a, after)
        if self.agent.order == "backward":
            for step in reversed(self.episodes[-1]):
                self.back_up(*step)
        self.tau *= np.exp(-self.rate * (self.tau * H - C / self.tau) / (self.tau * H + C / self.tau))
        for e in again:
            for step in reversed(self.episodes[e]):
                self.back_up(*step)
