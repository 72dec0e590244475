"""`klearning sweep` and `klearning store`: stored runs."""

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from klearning.cli.display import progress, say, show_json
from klearning.cli.help import Command, Group
from klearning.cli.param_types import Name, as_json
from klearning.cli.streams import visible
from klearning.lab.experiments.columns import Row, differences, experiment, experiments, row_of
from klearning.lab.experiments.executors import EXECUTORS, Executor
from klearning.lab.experiments.spec import REGISTRIES_OF, Spec, sweep_from_toml
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import Tally
from klearning.lab.experiments.sweep import sweep as sweep_specs
from klearning.lab.report.labels import call_label
from klearning.numerics import checks
from klearning.numerics.files import json_from


@click.command(
    cls=Command,
    short_help="Run the experiments of a sweep file.",
    examples=[
        "klearning sweep my_sweep.toml",
        "klearning sweep my_sweep.toml --store out/store --json",
        "klearning sweep my_sweep.toml --executor ray --address auto",
    ],
)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--store", "store_path", default="out/store", show_default=True, type=click.Path(path_type=Path))
@click.option("--timeout", default=float("inf"), help="time limit of a run, in seconds")
@click.option("--threads", type=int, help="number of runs at a time; default: one per core")
@click.option(
    "--executor", default="threads", show_default=True, type=Name(lambda ctx: EXECUTORS), metavar="NAME",
    help="executor of the runs: " + ", ".join(EXECUTORS),
)  # fmt: skip
@click.option("--address", help="address of a running cluster; default: start one here (executor ray)")
@click.option("--shared-store", is_flag=True, help="all machines see the store at the same path (executor ray)")
@click.option("--memory", type=float, metavar="MB", help="memory limit of a run, in megabytes (executor ray)")
@click.option("--retries", type=int, help="restarts of a run whose worker died (executor ray); default: 3")
@as_json
def sweep(
    file: Path,
    store_path: Path,
    timeout: float,
    threads: int | None,
    executor: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run every spec of a sweep FILE (TOML) that the store does not have.

    An interrupted sweep resumes. Exit code 1 if a run failed. docs/howto/big_sweeps.md shows a FILE.
    """
    specs = sweep_from_toml(file)
    given = {name: value for name, value in settings.items() if value not in (None, False)}
    result = run_sweep(specs, Store(store_path), timeout, threads, executor, **given)
    if as_json:
        failed = [{**json.loads(outcome.spec.canonical), "error": outcome.error} for outcome in result.failed]
        show_json({"done": result.done, "skipped": result.skipped, "failed": failed})
    sys.exit(1 if result.failed else 0)


def run_sweep(
    specs: list[Spec],
    store: Store,
    timeout: float = float("inf"),
    threads: int | None = None,
    executor: str = "threads",
    **settings: Any,
) -> Tally:
    """Run the missing specs with a progress bar, and summarise on stderr."""
    make: Callable[..., Executor] = EXECUTORS[checks.choice("executor", executor, EXECUTORS)]
    for name, value in settings.items():
        if name not in inspect.signature(make).parameters:
            option = name.replace("_", "-")
            raise ValueError(
                f"{name}={value!r} means nothing to --executor {executor}: leave --{option} out, or use ray"
            )
    where = make(None if threads is None else checks.whole("threads", threads), **settings)
    missing = sum(part.seeds for part in store.missing(specs))
    with progress("runs", missing) as advance:
        result = sweep_specs(
            specs, store, executor=where, timeout=timeout, finished=lambda outcome: advance(outcome.spec.seeds)
        )
    say(f"{result.done} runs done, {result.skipped} were there already, {len(result.failed)} failed", err=True)
    for outcome in result.failed:
        spec = outcome.spec
        against = f" against {spec.opponent['name']}" if spec.opponent is not None else ""
        say(f"failed: {spec.agent['name']} in {spec.world}{against}, seed {spec.seed}: {outcome.error}", err=True)
    return result


MOST_LINES = 20  # about broken runs
CALLS = ("world", "agent", "opponent")  # written as they are called


@click.group(cls=Group, examples=["klearning store ls", "klearning store verify"])
def store() -> None:
    """Inspect a store of runs: ls, show, verify, gc, export."""


STORE = click.option(
    "--store",
    "path",
    default="out/store",
    show_default=True,
    type=click.Path(path_type=Path),
    help="folder of the store",
)


@store.command(
    "ls",
    cls=Command,
    short_help="List the experiments.",
    examples=["klearning store ls", "klearning store ls --store out/store --json"],
)
@STORE
@as_json
def store_ls(path: Path, as_json: bool) -> None:
    """List the experiments: number of seeds, number of solved runs, and the settings that differ.

    --json has every setting of every run; so has `klearning store export`.
    """
    rows, broken = Store(path, create=False).listing()
    show_broken(broken)
    if as_json:
        show_json(rows)
        return
    groups = experiments(rows)
    settings = [experiment(members[0]) for members in groups]
    for members, own, unlike in zip(groups, settings, differences(settings), strict=True):
        seeds, counts = sum(row["seeds"] for row in members), [row["solved_seeds"] for row in members]
        solved = "   no goal" if None in counts else f"{sum(counts):3} solved"
        told = [f"{name}={value}" for name, value in unlike.items() if name.partition(".")[0] not in CALLS]
        words = [*_calls(own), *told]
        line = f"{members[0]['name'][:12]}  {seeds:3} seeds  {solved}  {'  '.join(map(str, words))}"
        say(visible(line))
    alike = [f"{name}={settings[0][name]}" for name in settings[0] if _is_alike(name, settings)] if rows else []
    say(visible(f"{len(rows)} runs" + (f"; the same in all: {' '.join(alike)}" if alike else "")), err=True)


def show_broken(lines: list[str]) -> None:
    """List unreadable runs on stderr."""
    for line in lines[:MOST_LINES]:
        say(visible(line), err=True)
    if len(lines) > MOST_LINES:
        say(f"… and {len(lines) - MOST_LINES:,} more broken runs; `klearning store verify` names them all", err=True)


def _calls(row: Row) -> list[str]:
    """World and agent as they are called; of a match the opponent, too."""
    registries = REGISTRIES_OF["world" if row.get("opponent") is None else "game"]
    calls = {field: call_label(registry, _call(field, row)) for field, registry in registries.items()}
    return [f"against {call}" if field == "opponent" else call for field, call in calls.items()]


def _call(field: str, row: Row) -> Row:
    """A world or agent with its parameters, of a row."""
    inner = {name.removeprefix(f"{field}."): value for name, value in row.items() if name.startswith(f"{field}.")}
    return {"name": row[field], **inner}


def _is_alike(name: str, settings: list[Row]) -> bool:
    value = settings[0][name]
    return name not in CALLS and value not in (None, "", "[]") and all(s.get(name) == value for s in settings)


@store.command(
    "show",
    cls=Command,
    short_help="Show one run as JSON.",
    examples=["klearning store show 0123abcd", "klearning store show 0123abcd --json"],
)
@click.argument("name")
@STORE
@as_json
def store_show(name: str, path: Path, as_json: bool) -> None:
    """Show one run by its NAME, or a prefix of it, as JSON: spec, versions, arrays."""
    place = Store(path, create=False)
    found = [folder for folder in place.folders() if folder.name.startswith(name)]
    if len(found) != 1:
        raise ValueError(f"name={name!r} fits {len(found)} runs of {path}: give more of it, see `klearning store ls`")
    spec = place.read(found[0]).spec
    meta = json_from(place.files(spec.name)["meta.json"])
    arrays = {key: f"{x.dtype} {list(x.shape)}" for key, x in place.arrays(spec).items()}
    shown = {"spec": json.loads(spec.canonical), **meta, "arrays": arrays, "row": row_of(spec, meta["facts"])}
    show_json(shown)


@store.command("verify", cls=Command, examples=["klearning store verify", "klearning store verify --json"])
@STORE
@as_json
def store_verify(path: Path, as_json: bool) -> None:
    """Read every run; name broken ones and move them aside. Exit code 1 if any was broken."""
    said = Store(path, create=False).verify()
    if as_json:
        show_json({"broken": said})
    else:
        for line in said:
            say(visible(line), err=True)
        say(f"{len(said)} broken" if said else "all sound")
    sys.exit(1 if said else 0)


@store.command(
    "gc",
    cls=Command,
    short_help="Remove unfinished writes and other leftovers.",
    examples=["klearning store gc", "klearning store gc --json"],
)
@STORE
@as_json
def store_gc(path: Path, as_json: bool) -> None:
    """Remove unfinished writes, checkpoints of finished runs, and broken runs that were moved aside."""
    removed = Store(path, create=False).gc()
    if as_json:
        show_json({"removed": removed})
    else:
        say("\n".join([*map(visible, removed), f"{len(removed)} removed"]))


@store.command(
    "export",
    cls=Command,
    examples=["klearning store export runs.csv", "klearning store export curves.parquet --curves"],
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@STORE
@click.option("--curves", is_flag=True, help="write one row per episode of a run: value, regret and return")
@as_json
def store_export(file: Path, path: Path, curves: bool, as_json: bool) -> None:
    """Write one row per run to FILE, .csv or .parquet."""
    place = Store(path, create=False)
    rows, broken = place.listing()
    runs = place.export(file, rows, curves)
    show_broken(broken)
    if as_json:
        show_json({"runs": runs, "file": str(file)})
    else:
        say(f"{runs} runs written to {file}")
