"""Names for what everything is made of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


Ints = NDArray[np.int64]


Layers = list[Floats]  # one array per layer; axes state, action, next state


Flags = NDArray[np.bool_]


Arrays = dict[str, NDArray[Any]]
