"""Old import paths that our pages have shown, for one more release: they lead to where their names are now."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "klearning.agents.planning": ("klearning.agents.value_iteration", "klearning.trials.agent"),
    "klearning.bellman": ("klearning.models.sweeps", "klearning.models.soft"),
    "klearning.compiled": ("klearning.arrays.compiled", "klearning.arrays.types"),
    "klearning.dm": ("klearning.benchmarks.bsuite.dm_env",),
    "klearning.experiments.running": ("klearning.experiments.runner",),
    "klearning.experiments.statistics": ("klearning.statistics",),
    "klearning.mdp": ("klearning.models.mdp",),
    "klearning.regret": ("klearning.trials.regret",),
    "klearning.simulate": (
        "klearning.trials.task", "klearning.trials.agent", "klearning.trials.trial", "klearning.trials.run",
    ),
}  # fmt: skip

RENAMED = {"klearning.dm": {"DmWorld": "LoggedWorld"}}  # an old name, and today's


class Forwarding(MetaPathFinder, Loader):
    """Finds a module that has moved, and fills it with the names of its new ones."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        places = MOVED[module.__name__]
        warnings.warn(f"{module.__name__} has moved to {', '.join(places)}", DeprecationWarning, stacklevel=2)
        for place in places:
            vars(module).update({k: v for k, v in vars(import_module(place)).items() if not k.startswith("__")})
        vars(module).update({old: vars(module)[new] for old, new in RENAMED.get(module.__name__, {}).items()})


def forward() -> None:
    """Let `import` find what has moved."""
    if not any(isinstance(finder, Forwarding) for finder in sys.meta_path):
        sys.meta_path.append(Forwarding())
