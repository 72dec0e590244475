"""`klearning sweep` and `klearning store`: runs that are kept."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from klearning import checks
from klearning.cli.display import progress
from klearning.experiments.spec import Spec, sweep_from_toml
from klearning.experiments.store import Store
from klearning.experiments.sweep import LocalExecutor
from klearning.experiments.sweep import sweep as sweep_specs


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--store", "store_path", default="out/store", show_default=True, type=click.Path(path_type=Path))
@click.option("--timeout", default=float("inf"), help="seconds that one run may take")
@click.option("--threads", type=int, help="default: all cores")
def sweep(file: Path, store_path: Path, timeout: float, threads: int | None) -> None:
    """Run every spec of a sweep FILE (TOML) that the store does not have."""
    run_sweep(sweep_from_toml(file), Store(store_path), timeout, threads)


def run_sweep(specs: list[Spec], store: Store, timeout: float = float("inf"), threads: int | None = None) -> None:
    """Run what is missing with a display of progress; exit code 1 where a run failed."""
    missing = {spec.name: spec for spec in specs if spec not in store}
    executor = LocalExecutor(None if threads is None else checks.whole("threads", threads))
    with progress("runs", len(missing)) as advance:
        result = sweep_specs(
            list(missing.values()), store, executor=executor, timeout=timeout, finished=lambda outcome: advance(1)
        )
    have = len({spec.name for spec in specs}) - len(missing)
    click.echo(f"{result.done} runs done, {have} were there already, {len(result.failed)} failed", err=True)
    if result.failed:
        for outcome in result.failed:
            spec = outcome.spec
            click.echo(f"failed: {spec.agent['name']} in {spec.world}, seed {spec.seed}: {outcome.error}", err=True)
        sys.exit(1)


@click.group()
def store() -> None:
    """Look into a store of runs: ls, show, verify, gc, export."""


STORE = click.option(
    "--store", "path", default="out/store", show_default=True, type=click.Path(path_type=Path), help="the folder"
)


@store.command("ls")
@STORE
@click.option("--json", "as_json", is_flag=True)
def store_ls(path: Path, as_json: bool) -> None:
    """List the runs: how many seeds of each world and agent, and how they went."""
    rows = Store(path, create=False).rows()
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["protocol"], row["world"], row["agent"]), []).append(row)
    for (protocol, world, agent), members in groups.items():
        solved = sum(row["solved"] is not None for row in members)
        click.echo(
            f"{members[0]['name'][:12]}  {len(members):3} seeds  {solved:3} solved  {protocol:8} {world}  {agent}"
        )
    click.echo(f"{len(rows)} runs", err=True)


@store.command("show")
@click.argument("name")
@STORE
def store_show(name: str, path: Path) -> None:
    """Show one run by its NAME or the beginning of it: spec, versions, arrays."""
    place = Store(path, create=False)
    found = [folder for folder in place.folders() if folder.name.startswith(name)]
    if len(found) != 1:
        raise ValueError(f"name={name!r} fits {len(found)} runs of {path}: give more of it, see `klearning store ls`")
    record = place.read(found[0])
    meta = json.loads((found[0] / "meta.json").read_text())
    arrays = {key: f"{x.dtype} {list(x.shape)}" for key, x in record.arrays.items()}
    shown = {"spec": json.loads(record.spec.canonical), **meta, "arrays": arrays, "row": record.row()}
    click.echo(json.dumps(shown, indent=1))


@store.command("verify")
@STORE
def store_verify(path: Path) -> None:
    """Read every run; set aside, and name, what is broken. Exit code 1 where anything was."""
    said = Store(path, create=False).verify()
    for line in said:
        click.echo(line, err=True)
    click.echo(f"{len(said)} broken" if said else "all sound")
    sys.exit(1 if said else 0)


@store.command("gc")
@STORE
def store_gc(path: Path) -> None:
    """Remove unfinished writes, checkpoints of finished runs, and what was set aside."""
    removed = Store(path, create=False).gc()
    click.echo("\n".join([*removed, f"{len(removed)} removed"]))


@store.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@STORE
def store_export(file: Path, path: Path) -> None:
    """Write one line a run into FILE, .csv or .parquet."""
    click.echo(f"{Store(path, create=False).export(file)} runs written to {file}")
