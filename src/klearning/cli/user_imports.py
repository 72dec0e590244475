"""User code on the command line: `--import`, and names such as file.py:Name or module:Name.

Only what is typed is imported: a sweep file, a store or a saved learner never imports anything.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from klearning.games.registry import register_game, register_player
from klearning.numerics import checks
from klearning.numerics.registry import REGISTRIES
from klearning.simulators.codec import registered_name
from klearning.tabular.agents.registry import AGENTS, register_agent
from klearning.tabular.worlds.registry import register_world

REGISTER: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "agent": register_agent,
    "world": register_world,
    "game": register_game,
    "player": register_player,
}


def find_maker(kind: str, word: str) -> Callable[..., Any]:
    """The class or function of a registered name, or of file.py:Name or module:Name, which is registered first."""
    if ":" in word:
        return REGISTER[kind](find(word))
    maker: Callable[..., Any] = REGISTRIES[kind][registered_name(kind, {"name": word})]
    return maker


def find_learning_agent(word: str) -> Callable[..., Any]:
    """The class of an agent that learns in environments; agents of an extra are imported here."""
    if word in AGENTS.elsewhere:
        maker: Callable[..., Any] = getattr(AGENTS.elsewhere[word], word)
        return maker
    return find_maker("agent", word)


def find(word: str) -> Any:
    """The object that file.py:Name or module:Name names."""
    place, _, name = word.rpartition(":")
    module = import_user_code(place)
    if not hasattr(module, name):
        own = [other for other, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
        checks.choice(f"name in {place}", name, own)
    return getattr(module, name)


def import_user_code(place: str) -> ModuleType:
    """Import a file or a module. The file's folder, or the working folder, is added to the path."""
    path = Path(place)
    if path.suffix == ".py" and not path.is_file():
        raise ValueError(f"import={place!r} is not a file: give the path of one, or the name of a module")
    folder = str(path.resolve().parent if path.suffix == ".py" else Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return _run(path.resolve()) if path.suffix == ".py" else import_module(place)
    except (Exception, SystemExit) as error:  # user code may raise anything
        raise ValueError(f"import={place!r} failed: {type(error).__name__}: {error}") from error


def _run(path: Path) -> ModuleType:
    """Run a file once, as the module of its name. Unlike `import` it never finds another module of that name."""
    loaded = sys.modules.get(path.stem)
    if loaded is not None and _file_of(loaded) == path:
        return loaded
    if loaded is not None:
        raise ImportError(f"a module {path.stem!r} is already imported: rename the file")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None  # it is a .py file
    assert spec.loader is not None
    module = sys.modules[path.stem] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()


def _import_all(ctx: click.Context, option: click.Parameter, places: tuple[str, ...]) -> None:
    if not ctx.resilient_parsing:  # completion runs no code
        for place in places:
            import_user_code(place)


def import_option() -> click.Option:
    """`--import`, an option of every command, handled before all others."""
    return click.Option(
        ["--import"],
        type=click.Path(),
        multiple=True,
        is_eager=True,
        expose_value=False,
        callback=_import_all,
        metavar="FILE.py",
        help="import a file or module that registers your agents, worlds, games or players; may be repeated",
    )
