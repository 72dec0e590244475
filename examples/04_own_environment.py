"""Your own environment: learn when to service a machine, from a Gymnasium simulator. Anything with discrete
observations and actions can replace `Machine`."""

import gymnasium as gym
from gymnasium.utils.env_checker import check_env

import klearning as kl


class Machine(gym.Env):
    """Wear 0 (new) to 4 (broken). Action 0 runs the machine for a shift, action 1 services it."""

    SHIFTS = 20
    EARNS = (1.0, 0.9, 0.7, 0.4, -1.0)  # a shift's profit by wear; a broken machine costs

    def __init__(self):
        self.observation_space = gym.spaces.Discrete(5)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # seeds self.np_random, the only randomness used below
        self.wear, self.shift = 0, 0
        return self.wear, {}

    def step(self, action):
        self.shift += 1
        if action == 1:
            reward = -1.5 if self.wear == 4 else -0.3  # a repair costs more than a service
            self.wear = 0
        else:
            reward = self.EARNS[self.wear] + 0.1 * self.np_random.standard_normal()
            self.wear = min(self.wear + int(self.np_random.random() < 0.5), 4)
        # The day ends because time is up, not because anything happened: that is truncated, and the learner
        # draws no conclusion about what would have come next.
        return self.wear, float(reward), False, self.shift == self.SHIFTS, {}


check_env(Machine(), skip_render_check=True)  # Gymnasium's own tests: run them before blaming the agent

# Rewards are of the order of 1 and vary by about 0.1 in the same state. The time of day does not matter.
prior = kl.Prior(kl.Gaussian(mean=0.0, sd=1.0, noise=0.1), kl.Dirichlet(mass=1.0), stationary=True)
learner = kl.learn(kl.KLearning(), Machine(), horizon=Machine.SHIFTS, prior=prior, episodes=100, seed=0)

print("profit a day, mean of ten days:")
for first in (0, 10, 90):
    print(f"  days {first + 1:3}-{first + 10:<3} {sum(learner.returns[first : first + 10]) / 10:6.2f}")

# `predict` is for deployment: the best action on average over the belief, without exploration.
print("what it would do by wear:", ["service" if learner.predict(wear) else "run" for wear in range(5)])


def profit(rule, days=500):
    """Mean profit of a rule (wear, shift) -> action, on fresh days."""
    env, total = Machine(), 0.0
    for day in range(days):
        wear, _ = env.reset(seed=10_000 + day)
        for shift in range(Machine.SHIFTS):
            wear, reward, *_ = env.step(rule(wear, shift))
            total += reward
    return total / days


print(f"profit of a day so deployed: {profit(learner.predict):.2f}")
for threshold in (1, 2, 3, 4):  # what a foreman might do instead
    print(f"  service from wear {threshold} on: {profit(lambda wear, shift, w=threshold: int(wear >= w)):.2f}")
