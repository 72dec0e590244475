"""Building blocks for agents of your own, as stable as the rest of the API: see docs/howto/own_agent.md.

Base classes:   Agent, all methods but `begin`; ValueIteration, the same with a memory of type `Planning`
Arguments:      Episode, what was observed; Streams, random numbers for planning; Task, a world to play in
Memory:         Posterior, a belief as arrays; Planning (made by `planning`), a posterior with arrays for a plan
Learning:       learn, update a posterior from an episode; update, the same for a `Planning`
Planning:       hard_sweep and its two halves for one layer, action_values and maximum; greedy
Soft planning:  soft_sweep in a workspace `Soft` (made by `soft_arrays`); soft_values; boltzmann
Playing:        play, one episode of a task; draw_action
Compiling:      kernel; Floats and Ints, to annotate arrays
Saving:         field_roles, which fields of a record are offsets, grow, or are scratch space
"""

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
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
    "field_roles",
    "greedy",
    "hard_sweep",
    "kernel",
    "learn",
    "maximum",
    "planning",
    "play",
    "soft_arrays",
    "soft_sweep",
    "soft_values",
    "update",
]
