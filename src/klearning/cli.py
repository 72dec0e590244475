"""The command line: a thin coat over `run` and the paper's figures."""

import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from klearning import checks
from klearning.agents import AGENTS
from klearning.beliefs import Beta, Dirichlet, Gaussian, Prior
from klearning.experiments.spec import Spec, sweep_from_toml
from klearning.experiments.store import Store
from klearning.experiments.sweep import LocalExecutor, Outcome
from klearning.experiments.sweep import sweep as sweep_specs
from klearning.simulate import Runs
from klearning.simulate import run as simulate
from klearning.version import __version__
from klearning.worlds import SOURCES, WORLDS

BAD_INPUT = 2


def main() -> None:
    """Entry point: what a person gets wrong is one line on stderr and exit code 2, never a traceback."""
    try:
        commands(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("klearning: stopped", file=sys.stderr)
        sys.exit(130)
    except ValueError as error:
        print(f"klearning: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (ImportError, OSError) as error:
        print(f"klearning: {error}", file=sys.stderr)
        sys.exit(1)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="klearning")
def commands() -> None:
    """Bayesian reinforcement learning that explores on purpose."""


@commands.command()
@click.argument("world", default="deep_sea")
@click.argument("agent", default="KLearning")
@click.option("-w", "--world-option", "world_options", multiple=True, metavar="NAME=VALUE", help="e.g. depth=20")
@click.option("-a", "--agent-option", "agent_options", multiple=True, metavar="NAME=VALUE", help="e.g. bonus=sharp")
@click.option(
    "-p", "--prior-option", "prior_options", multiple=True, metavar="NAME=VALUE",
    help="reward=gaussian (mean, sd, noise) or reward=beta (a, b); mass; span",
)  # fmt: skip
@click.option("-n", "--episodes", default=1000, show_default=True)
@click.option("-s", "--seeds", default="5", show_default=True, help="how many, or which: 0,3,7")
@click.option("--threads", type=int, help="default: all cores")
@click.option("--out", default="out/run.png", show_default=True, type=click.Path(path_type=Path), help="the picture")
@click.option("--no-figure", is_flag=True, help="draw nothing")
@click.option("--json", "as_json", is_flag=True, help="print the numbers as JSON instead of a table")
def run(
    world: str,
    agent: str,
    world_options: Sequence[str],
    agent_options: Sequence[str],
    prior_options: Sequence[str],
    episodes: int,
    seeds: str,
    threads: int | None,
    out: Path,
    no_figure: bool,
    as_json: bool,
) -> None:
    """Let AGENT learn in WORLD, then show a table and draw its regret.

    \b
    klearning run
    klearning run deep_sea KLearning -w depth=30 -a temperature=schedule --episodes 5000
    klearning run river_swim KLearning -w horizon=40 -p mass=1 --seeds 0,1,2
    klearning run bandit KLearning -w means=0.1,0.5,0.9 -w noise=bernoulli -p reward=beta
    """
    place = build(WORLDS[checks.choice("world", world, WORLDS)], "world", world_options)
    learner = build(AGENTS[checks.choice("agent", agent, AGENTS)], "agent", agent_options)
    prior = build_prior(prior_options)
    chosen = parse(seeds)
    numbers = chosen if isinstance(chosen, list) else [chosen]
    total = episodes * (len(numbers) if isinstance(chosen, list) else checks.whole("seeds", chosen))
    if not no_figure:
        from klearning.figures import canvas, learning

        canvas.need_matplotlib()  # before the work, not after
    with progress_bar(total) as progress:
        runs = simulate(
            learner, place, prior=prior, episodes=episodes, seeds=chosen, threads=threads, progress=progress
        )
    if as_json:
        click.echo(json.dumps(summary(runs), indent=2))
    else:
        Console().print(table(runs))
    if not no_figure:
        canvas.save(learning.draw(runs), out)
        click.echo(f"drawn: {out}", err=as_json)


@commands.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of a table")
def agents(as_json: bool) -> None:
    """List the agents, with their papers and parameters."""
    print_list("agent", {name: (cls, cls.paper) for name, cls in AGENTS.items()}, as_json)


@commands.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of a table")
def worlds(as_json: bool) -> None:
    """List the worlds, with where they come from and their parameters."""
    print_list("world", {name: (make, SOURCES[name]) for name, make in WORLDS.items()}, as_json)


def print_list(kind: str, entries: dict[str, tuple[Any, str]], as_json: bool) -> None:
    """One line each: name, what it is, its source, its parameters with their defaults."""
    found: list[dict[str, Any]] = [
        {
            kind: name,
            "what": (inspect.getdoc(thing) or "").split("\n")[0],
            "source": source,
            "parameters": {p.name: str(p.default) for p in inspect.signature(thing).parameters.values()},
        }
        for name, (thing, source) in entries.items()
    ]
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for entry in found:
        parameters = ", ".join(f"{name}={default}" for name, default in entry["parameters"].items())
        click.secho(entry[kind], bold=True)
        for line in (entry["what"].replace("``", ""), entry["source"], parameters and f"parameters: {parameters}"):
            if line:
                click.echo(f"    {line}")


@commands.command()
@click.argument("figures", nargs=-1)
@click.option("--quick", is_flag=True, help="a smaller version, in a minute or two")
@click.option("--seeds", type=int, help="seeds of figure 2 (default 5, as in the paper; 30 draws intervals)")
@click.option("--depths", help="depths of figure 2: FROM:TO:STEP, or a list: 10,20,50")
@click.option("--protocol", help="text (fitted) or printed; default both")
@click.option("--store", "store_path", default="out/store", show_default=True, type=click.Path(path_type=Path))
@click.option("--out", default="out", show_default=True, type=click.Path(path_type=Path), help="where figures go")
def reproduce(
    figures: Sequence[str],
    quick: bool,
    seeds: int | None,
    depths: str | None,
    protocol: str | None,
    store_path: Path,
    out: Path,
) -> None:
    """Run the paper's experiments, draw FIGURES (default: all) and check its claims.

    Runs are kept in a store: what is there is not run again, and an interrupted call goes on where it was.

    \b
    klearning reproduce
    klearning reproduce figure2 --seeds 30 --depths 10:50:10 --protocol text
    """
    from klearning.figures import canvas
    from klearning.papers.odonoghue2021 import reproduce as paper
    from klearning.papers.odonoghue2021.protocols import PROTOCOLS

    canvas.need_matplotlib()
    extent = paper.QUICK if quick else paper.Extent()
    words = ["klearning", "reproduce", *figures]
    if figures:
        extent = replace(extent, figures=tuple(checks.choice("figure", name, paper.FIGURES) for name in figures))
    if seeds is not None:
        extent = replace(extent, seeds=checks.whole("seeds", seeds))
        words += ["--seeds", str(seeds)]
    if depths is not None:
        extent = replace(extent, depths=dict.fromkeys(PROTOCOLS, depth_list(depths)))
        words += ["--depths", depths]
    if protocol is not None:
        extent = replace(extent, protocols=(checks.choice("protocol", protocol, PROTOCOLS),))
        words += ["--protocol", protocol]
    words += ["--quick"] if quick else []
    extent = replace(extent, command=" ".join(words))
    store = Store(store_path)
    run_sweep(paper.specs(extent), store)
    out.mkdir(parents=True, exist_ok=True)
    for name, claims in paper.publish(extent, store, out).items():
        click.secho(f"\n{name}", bold=True)
        for claim in claims:
            click.echo(f"  {claim.mark} {claim.sentence}\n      {claim.numbers}")
    click.echo(f"\nfigures and claims.md are in {out}")


@commands.command()
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
    with run_progress(len(missing)) as finished:
        result = sweep_specs(list(missing.values()), store, executor=executor, timeout=timeout, finished=finished)
    have = len({spec.name for spec in specs}) - len(missing)
    click.echo(f"{result.done} runs done, {have} were there already, {len(result.failed)} failed", err=True)
    if result.failed:
        for outcome in result.failed:
            spec = outcome.spec
            click.echo(f"failed: {spec.agent['name']} in {spec.world}, seed {spec.seed}: {outcome.error}", err=True)
        sys.exit(1)


@contextmanager
def run_progress(total: int) -> Iterator[Callable[[Outcome], None]]:
    """Runs done, rate and time left, on a terminal; a plain line every ten seconds elsewhere."""
    console = Console(stderr=True)
    if console.is_terminal and total:
        columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            job = bar.add_task("", total=total)
            yield lambda outcome: bar.advance(job)
        return
    state = {"done": 0, "said": time.monotonic(), "began": time.monotonic()}

    def line(outcome: Outcome) -> None:
        state["done"] += 1
        now = time.monotonic()
        if now - state["said"] > 10.0 or state["done"] == total:
            state["said"] = now
            rate = state["done"] / (now - state["began"])
            left = (total - state["done"]) / rate
            print(f"{state['done']:.0f} of {total} runs, {rate:.1f} a second, {left:.0f} s left", file=sys.stderr)

    yield line


@commands.group()
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


def build(maker: Callable[..., Any], kind: str, options: Sequence[str]) -> Any:
    """Call a world or agent with NAME=VALUE options; unknown names are errors with the nearest valid one."""
    names = list(inspect.signature(maker).parameters)
    return maker(**dict(split_option(kind, option, names) for option in options))


def build_prior(options: Sequence[str]) -> Prior:
    names = ["reward", "mean", "sd", "noise", "a", "b", "mass", "span"]
    given = dict(split_option("prior", option, names) for option in options)
    kinds: dict[str, Callable[..., Gaussian | Beta]] = {"gaussian": Gaussian, "beta": Beta}
    kind = checks.choice("prior option reward", given.pop("reward", "gaussian"), kinds)
    own = list(inspect.signature(kinds[kind]).parameters)
    span = given.pop("span", None)
    transitions = Dirichlet(**{name: given.pop(name) for name in list(given) if name == "mass"})
    for name in given:
        checks.choice(f"option of a {kind} prior", name, own)
    return Prior(kinds[kind](**given), transitions, span)


def split_option(kind: str, option: str, names: Sequence[str]) -> tuple[str, Any]:
    name, equals, value = option.partition("=")
    if not equals:
        raise ValueError(f"{kind} option {option!r} has no value: write NAME=VALUE")
    return checks.choice(f"{kind} option", name, names), parse(value)


def parse(text: str) -> Any:
    """A number, a list of numbers, or the word itself: what it should be is checked where it is used."""
    if "," in text:
        return [parse(part) for part in text.split(",") if part]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def depth_list(text: str) -> list[int]:
    """10:50:10 is 10, 20, … 50; a list is itself."""
    parts = [parse(part) for part in text.split(":")]
    if len(parts) == 1:
        return [checks.whole("depths", depth) for depth in (parts[0] if isinstance(parts[0], list) else parts)]
    if len(parts) > 3:
        raise ValueError(f"depths={text!r} is no range: write FROM:TO:STEP")
    low, high = checks.whole("depths", parts[0]), checks.whole("depths", parts[1])
    step = checks.whole("depths", parts[2]) if len(parts) == 3 else 1
    grid = list(range(low, high + 1, step))
    if not grid:
        raise ValueError(f"depths={text!r} is empty: FROM must not be above TO")
    return grid


def summary(runs: Runs) -> dict[str, Any]:
    def listed(x: Any) -> list[float | None]:
        return [float(v) if np.isfinite(v) else None for v in x]

    return {
        "agent": str(runs.agent),
        "world": runs.world.name,
        "episodes": runs.values.shape[1],
        "seeds": list(runs.seeds),
        "optimal_value": runs.optimal_value,
        "regret": listed(runs.regret[:, -1]),
        "first_hit": listed(runs.first_hit),
        "solved": listed(runs.solved),
        "last_value": listed(runs.values[:, -1]),
        "seconds": runs.seconds,
    }


def table(runs: Runs) -> Table:
    """One line a seed and their mean; the goal's columns only where the world has a goal."""
    episodes = runs.values.shape[1]
    speed = runs.values.size / runs.seconds
    rows = Table(
        title=f"{runs.agent} on {runs.world.name}: {episodes} episodes",
        caption=f"optimal value {runs.optimal_value:.4g}; {speed:,.0f} episodes a second",
    )
    columns = {"regret": (runs.regret[:, -1], "{:.4g}"), "value of the last policy": (runs.values[:, -1], "{:.4g}")}
    if runs.world.goal is not None:
        columns = {"first hit": (runs.first_hit, "{:.0f}"), "solved": (runs.solved, "{:.0f}"), **columns}
    rows.add_column("seed", justify="right")
    for heading in columns:
        rows.add_column(heading, justify="right")
    for i, seed in enumerate(runs.seeds):
        rows.add_row(str(seed), *(format.format(x[i]).replace("nan", "–") for x, format in columns.values()))
    rows.add_section()
    rows.add_row("mean", *(format.format(x.mean()).replace("nan", "–") for x, format in columns.values()))
    return rows


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, a line now and then elsewhere; on stderr, so that a pipe gets the results alone."""
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            job = bar.add_task("", total=total)
            yield lambda count: bar.advance(job, count)
        return
    state = {"done": 0, "said": time.monotonic()}

    def line(count: int) -> None:
        state["done"] += count
        if time.monotonic() - state["said"] > 10.0:
            state["said"] = time.monotonic()
            print(f"{state['done']:,} of {total:,} episodes", file=sys.stderr)

    yield line
