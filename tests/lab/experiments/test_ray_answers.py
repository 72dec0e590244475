"""What a Ray executor makes of its workers' answers, in whatever order they come, if at all. Needs no Ray."""

import os
import random
from types import SimpleNamespace

import pytest

import klearning as kl
from klearning.lab.experiments.executors import ray as executor_file
from klearning.lab.experiments.executors.ray import Answer, ClusterError, Crew, Worker
from klearning.lab.experiments.jobs import Job, Outcome
from klearning.lab.experiments.spec import make_spec

EPISODES = 12


class Died(Exception):
    pass


class Actor:
    """Answers a call at once, or a look in the middle of a job; the answer is seen later."""

    def __init__(self, cluster, worker):
        self.cluster, self.worker, self.looks = cluster, worker, []

    def __getattr__(self, method):
        return SimpleNamespace(remote=lambda *given: self.cluster.ask(self, method, given))


class Answered:
    def __init__(self, call, delay):
        self.call, self.delay, self.answer = call, delay, None


class Cluster:
    """Stands for Ray. Chance says what comes first, who dies, and from which episode a job is taken up again."""

    exceptions = SimpleNamespace(RayError=Died)

    def __init__(self, seed, deaths):
        self.chance, self.deaths, self.checkpoints = random.Random(seed), deaths, {}

    def remote(self, kind):
        return SimpleNamespace(
            options=lambda **limits: SimpleNamespace(remote=lambda *given: Actor(self, kind(*given)))
        )

    def cluster_resources(self):
        return {"CPU": 2.0}

    def kill(self, actor):
        pass

    def ask(self, actor, method, given):
        ref = Answered(lambda: getattr(actor.worker, method)(*given), self.chance.randrange(4))
        if method == "look" and self.chance.random() < 0.7:
            actor.looks.append(ref)  # the job that is under way has not got to it
        else:
            self.playing = actor
            self.answer(ref)
        return ref

    def answer(self, ref):
        try:
            ref.answer = ref.call()
        except Died as death:
            ref.answer = death

    def wait(self, refs, timeout, num_returns=1):
        for ref in refs:
            ref.delay -= 1
        there = [ref for ref in refs if ref.delay < 0 and ref.answer is not None]
        return there, [ref for ref in refs if ref not in there]

    def get(self, ref):
        if isinstance(ref.answer, Exception):
            raise ref.answer
        return ref.answer

    def do(self, job, *, should_stop, progress):
        """A job that takes up what an earlier attempt kept, and plays the rest one by one."""
        actor, begun = self.playing, self.checkpoints.get(job.work, 0)
        if begun:
            progress(begun)
        for played in range(begun + 1, EPISODES + 1):
            progress(1)
            while actor.looks and self.chance.random() < 0.5:
                self.answer(actor.looks.pop())
            if self.chance.random() < self.deaths:
                self.checkpoints[job.work] = self.chance.randrange(begun, played + 1)
                raise Died("it")
        return Outcome(job, "done")


def jobs(folder):
    specs = [
        make_spec({"name": "deep_sea", "depth": 3}, kl.PSRL(), episodes=EPISODES, seeds=[seed]) for seed in range(6)
    ]
    return [Job(spec.canonical, str(folder)) for spec in specs]


@pytest.mark.parametrize("deaths", [0.0, 0.05], ids=["all live", "some die"])
@pytest.mark.parametrize("shared", [False, True], ids=["sent", "shared"])
def test_progress_ends_at_the_whole_in_whatever_order_answers_come(tmp_path, monkeypatch, shared, deaths):
    monkeypatch.setattr(executor_file, "LOOK_SECONDS", -1.0)  # always time for another
    settings = SimpleNamespace(workers=2, memory=None, shared_store=shared, retries=100)
    work, died = jobs(tmp_path), 0
    for seed in range(12):
        cluster, played = Cluster(seed, deaths), []
        monkeypatch.setattr(executor_file, "do", cluster.do)
        crew = Crew(cluster, settings, "", played.append)
        assert {outcome.end for outcome in crew.outcomes(work)} == {"done"}
        assert sum(played) == len(work) * EPISODES
        assert min(played) > 0
        died += crew.deaths.total()
    assert (died > 0) == (deaths > 0.0)


def test_a_checkpoint_comes_with_a_look_until_it_is_known(tmp_path, monkeypatch):
    """An answer that nobody sees takes no checkpoint along."""
    worker, [job, *_] = Worker(None), jobs(tmp_path / "far")
    answers = []

    def do(job, *, should_stop, progress):
        path = executor_file.Store(job.store).checkpoint(job.name)
        path.write_bytes(b"the first")
        answers.extend([worker.look(job.name, 0), worker.look(job.name, 0)])
        answers.append(worker.look(job.name, answers[-1].written))
        return Outcome(job, "done")

    monkeypatch.setattr(executor_file, "do", do)
    worker.do(job._asdict(), job.name, executor_file.pack(job, job.name))
    assert [answer.files and answer.files.checkpoint for answer in answers] == [b"the first", b"the first", None]
    assert worker.look(job.name, 0) == Answer("", "", 0, None)  # nothing is under way


@pytest.mark.parametrize("shared", [False, True], ids=["sent", "shared"])
def test_a_look_that_overtakes_its_job_counts_nothing_of_the_job_before(tmp_path, monkeypatch, shared):
    """Both calls are on their way at once, and the worker has two threads."""
    worker, [first, second, *_] = Worker(None), jobs(tmp_path / "far")

    def do(job, *, should_stop, progress):
        progress(EPISODES)
        return Outcome(job, "done")

    monkeypatch.setattr(executor_file, "do", do)
    files = None if shared else executor_file.pack(first, first.name)
    assert worker.do(first._asdict(), first.name, files).played == EPISODES
    assert worker.look(first.name, 0).played == EPISODES
    assert worker.look(second.name, 0) == Answer("", "", 0, None)


def test_a_version_of_ray_without_tokens_starts_no_cluster(monkeypatch):
    before = dict(os.environ)
    monkeypatch.setattr(executor_file, "_read_authentication", lambda: False)
    with pytest.raises(ClusterError, match="cannot ask for a token"), executor_file._random_token():
        pass
    assert dict(os.environ) == before
