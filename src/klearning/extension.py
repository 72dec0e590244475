"""What an agent of your own is made of, promised to stay as the API is: see docs/howto/own_agent.md.

To inherit from:        Agent, all methods but `begin`; ValueIteration, the same with a memory of `Planning`
What it is handed:      Episode, what was seen; Streams, randomness to plan with; Task, a world to play in
What it may hold:       Posterior, a belief as arrays; Planning (made by `planning`), a posterior with room for a plan
Learning:               learn, a posterior from an episode; update, a `Planning` from one
Planning:               hard_sweep and its two halves, action_values and maximum, for one layer; greedy
Planning softly:        soft_sweep in the room of a `Soft` (made by `soft_arrays`); soft_values; boltzmann
Playing:                play, one episode of a task; draw_action
Compiling:              kernel; Floats and Ints, to annotate arrays
Being kept:             marked, which fields of a record are offsets, grow, or are only room to work in
"""

from klearning.numerics.compiled import kernel
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats, Ints
from klearning.tabular.agents.value_iteration import Planning, ValueIteration, planning, update
from klearning.tabular.beliefs.posterior import Episode, Posterior, learn
from klearning.tabular.models.soft import Soft, boltzmann, soft_arrays, soft_sweep, soft_values
from klearning.tabular.models.sweeps import action_values, greedy, hard_sweep, maximum
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, draw_action, play

__all__ = [
    "Agent",
    "Episode",
    "Floats",
    "Ints",
    "Planning",
    "Posterior",
    "Soft",
    "Streams",
    "Task",
    "ValueIteration",
    "action_values",
    "boltzmann",
    "draw_action",
    "greedy",
    "hard_sweep",
    "kernel",
    "learn",
    "marked",
    "maximum",
    "planning",
    "play",
    "soft_arrays",
    "soft_sweep",
    "soft_values",
    "update",
]
