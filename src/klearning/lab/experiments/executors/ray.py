"""Workers on a Ray cluster: one that exists, or one that is started here for the time of the sweep.

A worker is an actor, one per free core. It is given a job and, unless all nodes share the store's folder, the job's
checkpoint; it does the job in a folder of its own machine, and its answer carries the files that came of it, which are
put into the store here, byte for byte. While it works it is asked now and then how far it is: the answer carries its
newest checkpoint. So what dies, a worker or a node, costs the time since then, and the job goes to another.
"""

import os
import secrets
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from klearning.lab.experiments.checkpoints import read_checkpoint
from klearning.lab.experiments.jobs import Job, Outcome, do
from klearning.lab.experiments.store import Store, differences, versions
from klearning.lab.experiments.transfer import JobFiles, pack, unpack
from klearning.numerics import checks

RETRIES = 3
LOOK_SECONDS = 1.0  # between two looks at the cluster, if nothing happens
STOP_SECONDS = 90.0  # that work under way has to stop in: a kernel may be compiling
MEGABYTE = 2**20
AUTHENTICATION = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"  # of Ray, in the environment


class ClusterError(OSError):
    """The cluster cannot do the work; the message says why, and what helps."""


class Answer(NamedTuple):
    """Of a worker: how a job ended ("" while it goes on), and what came of it so far."""

    end: str
    error: str
    played: int  # episodes of the job, from its first: an answer that comes late, or never, takes none along
    files: JobFiles | None
    written: int = 0  # when the checkpoint in the files was, by the clock of the worker's files


class Worker:
    """Does one job at a time, and answers while it does: calls arrive in two threads, neither the main one."""

    def __init__(self, memory: int | None) -> None:
        self.stopping = threading.Event()
        self.name, self.played = "", 0  # of the newest job
        self.scratch: tuple[Job, str] | None = None  # the job under way, in a folder of this machine
        self.packing = threading.Lock()  # which must not go meanwhile
        if memory is not None:
            _limit_memory(memory)

    def ready(self, token: str) -> tuple[dict[str, str], bool]:
        """The versions here, and whether the store's folder is seen: ``token`` is the path of a file in it, or ""."""
        return versions(), not token or Path(token).is_file()

    def do(self, fields: dict[str, Any], name: str, files: JobFiles | None) -> Answer:
        """Do a job: in the store that it names or, if there are files, in a folder of this machine."""
        job = Job(**fields)
        with self.packing:
            self.name, self.played = name, 0
        if files is None:
            outcome = do(job, should_stop=self.stopping.is_set, progress=self.count)
            return Answer(outcome.end, outcome.error, self.played, None)
        with tempfile.TemporaryDirectory(prefix="klearning-") as folder:
            here = job._replace(store=folder)
            unpack(files, Store(folder))
            self.scratch = here, name
            outcome = do(here, should_stop=self.stopping.is_set, progress=self.count)
            with self.packing:
                self.scratch = None
            return Answer(outcome.end, outcome.error, self.played, pack(here, name))

    def look(self, name: str, written: int) -> Answer:
        """How far the job of this name is, and its checkpoint if that is newer than this time.

        Calls arrive in two threads: a look may overtake its job, and must not count the episodes of the job before.
        """
        with self.packing:
            if self.name != name or self.scratch is None:
                return Answer("", "", self.played if self.name == name else 0, None)
            newest = self._time_of(*self.scratch)
            return Answer("", "", self.played, pack(*self.scratch) if newest > written else None, newest)

    def stop(self) -> None:
        """Ask what is under way to write its checkpoint and end."""
        self.stopping.set()

    def count(self, more: int) -> None:
        self.played += more

    @staticmethod
    def _time_of(job: Job, name: str) -> int:
        with suppress(OSError):
            return Store(job.store, create=False).checkpoint(name).stat().st_mtime_ns
        return 0


def _limit_memory(memory: int) -> None:
    """Let this process take N more bytes: an array beyond is a MemoryError of its job, and not the node's end."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    with suppress(OSError, ValueError):
        text = Path("/proc/self/status").read_text()
        taken = next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmData:"))
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (taken + memory, most))


@dataclass
class Hand:
    """A worker as it is seen from here."""

    actor: Any
    item: tuple[Job, str] | None = None  # a job and its name; None until it is ready
    look: Any = None  # the answer that was asked for and is not there
    looked: float = field(default_factory=time.monotonic)
    written: int = 0  # when the checkpoint that it sent last was


class RayExecutor:
    """Runs N jobs at a time, by default as many as the cluster has cores.

    ``address`` is that of a cluster ("auto": the one of this machine), which is left as it is; without, or without
    RAY_ADDRESS in the environment, one is started here and ended afterwards. ``shared_store``: all nodes see the
    store's folder at the same path, so that nothing is sent. ``memory`` is megabytes that a job may take: no more
    workers than fit are on a node, and a job that wants more fails. ``retries``: how often a job whose worker died is
    begun again.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        address: str | None = None,
        shared_store: bool = False,
        memory: float | None = None,
        retries: int = RETRIES,
    ) -> None:
        self.workers, self.address, self.shared_store = workers, address, shared_store
        self.memory = None if memory is None else int(checks.number("memory", memory, 0, above=True) * MEGABYTE)
        self.retries = checks.whole("retries", retries, 0)
        _need_ray()

    def run(self, jobs: Sequence[Job], progress: Callable[[int], None]) -> Generator[Outcome, None, None]:
        ray = _need_ray()
        with _cluster(ray, self.address, self.workers), _token(jobs[0].store, self.shared_store) as token:
            self._check_memory(ray)
            crew = Crew(ray, self, token, progress)
            try:
                yield from crew.outcomes(jobs)
            finally:
                crew.stop()

    def _check_memory(self, ray: Any) -> None:
        most = max(node["Resources"].get("memory", 0.0) for node in ray.nodes() if node["Alive"])
        if self.memory is not None and self.memory > most:
            asked = f"memory={self.memory / MEGABYTE:g} megabytes"
            raise ClusterError(f"{asked} is more than any node has, {most / MEGABYTE:.0f}: give less")


class Crew:
    """The workers of one sweep, and who does what."""

    def __init__(self, ray: Any, settings: RayExecutor, token: str, progress: Callable[[int], None]) -> None:
        self.ray, self.settings, self.token, self.progress = ray, settings, token, progress
        self.hands: dict[Any, Hand] = {}  # by the answer that is waited for
        self.deaths: Counter[str] = Counter()  # of workers, by the name of the job that they were at
        self.played: Counter[str] = Counter()  # what progress was told of, by the name of the job
        self.births = 0  # deaths in a row before a worker was ready

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        waiting = deque((job, job.name) for job in jobs)
        checked = 0.0
        while waiting or any(hand.item for hand in self.hands.values()):
            if time.monotonic() - checked > LOOK_SECONDS:
                checked = time.monotonic()
                self._hire(len(waiting))
                self._look()
            done, _ = self.ray.wait(list(self.hands), timeout=LOOK_SECONDS) if self.hands else ([], [])
            for ref in done:
                hand = self.hands.pop(ref)
                item, answer = hand.item, self._answer(ref, hand)
                if answer is None:
                    checked = 0.0  # another worker is wanted at once
                    if item is not None and (outcome := self._again(*item, waiting)) is not None:
                        yield outcome
                    continue
                if waiting:
                    self._give(hand, *waiting.popleft())
                else:
                    self.ray.kill(hand.actor)
                if item is not None:
                    self._keep(*item, answer)
                    yield Outcome(item[0], answer.end, answer.error)

    def stop(self) -> None:
        """Ask what is under way to stop, wait for it, and keep its checkpoints."""
        busy = {ref: hand for ref, hand in self.hands.items() if hand.item}
        with suppress(self.ray.exceptions.RayError):
            for hand in busy.values():
                hand.actor.stop.remote()
            done, _ = self.ray.wait(list(busy), num_returns=len(busy), timeout=STOP_SECONDS) if busy else ([], [])
            for ref in done:
                with suppress(self.ray.exceptions.RayError, OSError):
                    item = busy[ref].item
                    assert item is not None
                    self._keep(*item, self.ray.get(ref))
        for hand in self.hands.values():
            self.ray.kill(hand.actor)

    def _hire(self, waiting: int) -> None:
        """As many workers as there are cores, those of nodes that came meanwhile too, and work for them."""
        idle = sum(hand.item is None for hand in self.hands.values())
        cores = int(self.ray.cluster_resources().get("CPU", 0))
        for _ in range(min(waiting - idle, (self.settings.workers or max(cores, 1)) - len(self.hands))):
            actor = (
                self.ray.remote(Worker)
                .options(num_cpus=1, memory=self.settings.memory, max_concurrency=2)
                .remote(self.settings.memory)
            )
            self.hands[actor.ready.remote(self.token)] = Hand(actor)

    def _give(self, hand: Hand, job: Job, name: str) -> None:
        if (path := Store(job.store).checkpoint(name)).exists():
            with suppress(ValueError):
                read_checkpoint(path, name)  # what it warns of is not heard from a worker
        files = None if self.settings.shared_store else pack(job, name)
        hand.item, hand.look, hand.looked, hand.written = (job, name), None, time.monotonic(), 0
        self.hands[hand.actor.do.remote(job._asdict(), name, files)] = hand

    def _look(self) -> None:
        """Ask those who are at work how far they are, and take in what was answered."""
        for hand in self.hands.values():
            if hand.item is None:
                continue
            if hand.look is None and time.monotonic() - hand.looked > LOOK_SECONDS:
                hand.look, hand.looked = hand.actor.look.remote(hand.item[1], hand.written), time.monotonic()
            elif hand.look is not None and self.ray.wait([hand.look], timeout=0)[0]:
                with suppress(self.ray.exceptions.RayError):  # it died: its job's own answer says so
                    answer = self.ray.get(hand.look)
                    self._keep(*hand.item, answer)
                    hand.written = answer.written
                hand.look = None

    def _answer(self, ref: Any, hand: Hand) -> Answer | None:
        """A worker's answer, to its job or to whether it is ready; None if it died."""
        try:
            answer = self.ray.get(ref)
        except self.ray.exceptions.RayError as error:
            with suppress(self.ray.exceptions.RayError):
                self.ray.kill(hand.actor)
            if hand.item is None:
                self.births += 1
                if self.births > self.settings.retries:
                    raise ClusterError(f"no worker could be started on the cluster: {_last_line(error)}") from None
            return None
        if hand.item is None:
            self._check_node(*answer)
            self.births = 0
            return Answer("", "", 0, None)
        return answer

    def _check_node(self, there: dict[str, str], sees_store: bool) -> None:
        if other := differences(there, versions()):
            raise ClusterError(f"a node has {other}: have the same on all, or bytes may differ")
        if not sees_store:
            raise ClusterError(
                "a node does not see the folder of the store: share it at this path, or let results be sent"
            )

    def _again(self, job: Job, name: str, waiting: deque[tuple[Job, str]]) -> Outcome | None:
        """Put a job whose worker died to the front again; its failure if that happened too often."""
        self.deaths[name] += 1
        if self.deaths[name] <= self.settings.retries:
            waiting.appendleft((job, name))
            return None
        times = self.deaths[name]
        return Outcome(job, "failed", f"its worker died {times} times: it takes too much memory, or nodes are unsound")

    def _keep(self, job: Job, name: str, answer: Answer) -> None:
        """Tell of what is new in an answer, and put into the store what it brings."""
        if (more := answer.played - self.played[name]) > 0:  # fewer where another worker begins it again
            self.played[name] += more
            self.progress(more)
        if answer.files is not None:
            unpack(answer.files, Store(job.store))


def _last_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[-1].strip() if str(error).strip() else type(error).__name__


def _need_ray() -> ModuleType:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a sweep tells nobody
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise ImportError("the executor 'ray' needs Ray: pip install ray") from None
    return ray


@contextmanager
def _cluster(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    """A connection to the cluster there, or a cluster here; one that this process uses already is left alone."""
    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    local = address == "local"
    here: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if local else {}
    with _random_token() if local else nullcontext():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", **here)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise ClusterError(f"address={address!r} is not a cluster that can be used: {_last_line(error)}") from None
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _random_token() -> Iterator[None]:
    """A cluster that is started meanwhile answers only those who know its token: this process and its children.

    Ray listens on all interfaces, and anyone who can reach a cluster can run any command there.
    """
    before = {name: os.environ.get(name) for name in AUTHENTICATION}
    try:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        if not _read_authentication():
            raise ClusterError("this version of Ray cannot ask for a token: pip install --upgrade ray")
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        _read_authentication()


def _read_authentication() -> bool:
    """Make Ray read the environment again, which it did when it was imported; whether it asks for a token now."""
    try:
        inside: Any = import_module("ray._raylet")
        inside.Config.initialize("")
        inside.AuthenticationTokenLoader.instance().reset_cache()
        return bool(inside.get_authentication_mode() == inside.AuthenticationMode.TOKEN)
    except (ImportError, AttributeError):
        return False


@contextmanager
def _token(store: str, shared: bool) -> Iterator[str]:
    """A file in the store by which a node can see that it is the same folder; none if nothing is shared."""
    if not shared:
        yield ""
        return
    path = Path(store) / f".shared.{os.urandom(8).hex()}"
    path.touch()
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)


EXECUTOR = RayExecutor
