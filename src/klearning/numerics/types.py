"""Array types."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Layers = list[Floats]  # one array per layer; axes state, action, next state
Arrays = dict[str, NDArray[Any]]
