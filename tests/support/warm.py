"""Imported by the process that `commands.klearning` forks: it loads the kernels that most commands need, once."""

import gymnasium

import klearning as kl

kl.run(kl.KLearning(), kl.deep_sea(3), episodes=2, seeds=1, threads=1)
kl.learn(kl.PSRL(), gymnasium.make("FrozenLake-v1", max_episode_steps=5), episodes=2, prior="suggest")
kl.games.play(kl.games.KLearning(), kl.games.rock_paper_scissors(), rounds=2, seeds=1, threads=1)
