"""Files from strangers: one thing of a sound file changed and its checksum repaired is a ValueError, never believed."""

import io
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from gymnasium.spaces import Discrete

import klearning as kl
from klearning.numerics import files
from klearning.numerics.files import arrays_from_bytes, arrays_to_bytes
from klearning.simulators.saving import arrays_of
from tests.support import crafted
from tests.support.crafted import ARCHIVES, HEADERS, MUTATIONS, learner_bytes, learner_parts, trial_of, trial_parts
from tests.support.make_corpus import begun

LAYERED, SHARED, MODEL_FREE, KNOWN = "KLearning_schedule_layered", "PSRL_support", "QLearning", "BEB"
POSTERIOR, ROWS = "memory.posterior", "memory.posterior.model.rows"
LEARNERS = [
    *((LAYERED, f"{ROWS}.{name}", "huge") for name in ("succ", "start", "length", "room", "used")),
    *((LAYERED, f"{ROWS}.{name}", "negative") for name in ("succ", "start", "length", "room", "used")),
    *((SHARED, f"{ROWS}.{name}", how) for name in ("succ", "weight") for how in ("huge", "negative", "emptied")),
    (LAYERED, f"{ROWS}.weight", "shorter"),
    (LAYERED, f"{ROWS}.start", "swapped"),
    (LAYERED, f"{ROWS}.weight", "nan"),
    (SHARED, f"{POSTERIOR}.model.table", "huge"),
    (LAYERED, f"{POSTERIOR}.model.layers", "swapped"),
    (LAYERED, f"{POSTERIOR}.model.end", "one huge"),
    (LAYERED, f"{POSTERIOR}.model.initial", "swapped"),
    (LAYERED, f"{POSTERIOR}.visits", "negative"),
    (LAYERED, f"{POSTERIOR}.visits", "nan"),
    (LAYERED, f"{POSTERIOR}.visits", "one huge"),
    (LAYERED, f"{POSTERIOR}.moves", "huge"),
    (LAYERED, f"{POSTERIOR}.reward_sums", "swapped"),
    (LAYERED, f"{POSTERIOR}.variance", "negative"),
    (LAYERED, f"{POSTERIOR}.model.scale", "one huge"),
    (LAYERED, f"{POSTERIOR}.prior.strength", "nan"),
    (LAYERED, f"{POSTERIOR}.total", "another type"),
    (LAYERED, "memory.bonus.spread", "one huge"),
    (LAYERED, "memory.bonus.as_printed", "another type"),
    (LAYERED, "memory.c", "one negative"),
    (LAYERED, "memory.warm", "nan"),
    (LAYERED, "memory.policy", "huge"),
    (LAYERED, "states", "huge"),
    (LAYERED, "states", "negative"),
    (LAYERED, "chosen", "huge"),
    (LAYERED, "rewards", "nan"),
    (LAYERED, "uniforms", "shorter"),
    (LAYERED, "uniforms", "negative"),
    (LAYERED, "returns", "shorter"),
    (LAYERED, "starts", "negative"),
    (LAYERED, "observations", "huge"),
    (KNOWN, f"{ROWS}.weight", "huge"),
    (MODEL_FREE, "memory.table", "huge"),
    (MODEL_FREE, "memory.Q", "nan"),
    (MODEL_FREE, "memory.visits", "negative"),
    ("UCRL2", "memory.since", "huge"),
    ("UCFH", "memory.pending.model.rows.start", "huge"),
]  # fmt: skip


@pytest.fixture(scope="module")
def parts():
    return {case: learner_parts(case) for case in {case for case, _, _ in LEARNERS}}


def assert_refused(path, data):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=path.name) as caught:
        kl.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("case", "name", "how"), LEARNERS, ids=lambda word: word.replace("memory.", ""))
def test_a_changed_array_of_a_learner(case, name, how, parts, tmp_path):
    header, arrays = parts[case]
    assert_refused(tmp_path / "x.npz", learner_bytes(header, {**arrays, name: MUTATIONS[how](arrays[name])}))


@pytest.mark.thin(6)
@pytest.mark.parametrize("change", HEADERS)
def test_a_changed_header(change, parts, tmp_path):
    header, arrays = parts[LAYERED]
    began = time.process_time()
    assert_refused(tmp_path / "x.npz", learner_bytes(HEADERS[change](header), arrays))
    assert time.process_time() - began < 5.0


@pytest.mark.thin(3)
@pytest.mark.parametrize("trick", ARCHIVES)
def test_an_archive_that_is_a_trick(trick, parts, tmp_path):
    """Refused before much is unpacked: less than twice what nobody minds."""
    data = ARCHIVES[trick](*parts[LAYERED])
    tracemalloc.start()
    assert_refused(tmp_path / "x.npz", data)
    assert tracemalloc.get_traced_memory()[1] < 128 * 2**20
    tracemalloc.stop()


def test_what_was_not_changed_is_loaded(parts, tmp_path):
    for case, (header, arrays) in parts.items():
        (tmp_path / "x.npz").write_bytes(learner_bytes(header, arrays))
        again, before = arrays_of(kl.load(tmp_path / "x.npz")), arrays_of(begun(case)[0])
        for name, x in before.items():
            np.testing.assert_array_equal(again[name], x, strict=True)


TRIALS = [
    *(("KLearning", f"{ROWS}.{name}", how) for name in ("succ", "start", "weight") for how in ("huge", "emptied")),
    *(("KLearning", f"{POSTERIOR}.model.{name}", "emptied") for name in ("reward", "scale", "layers")),
    ("KLearning", f"{POSTERIOR}.model.initial", "swapped"),
    ("KLearning", "memory.c", "huge"),
    ("split", f"{POSTERIOR}.moves", "huge"),
    ("PSRL", f"{POSTERIOR}.reward_sums", "nan"),
    ("UCRL2", "memory.planning.posterior.model.table", "one huge"),
    ("OptimisticQLearning", "memory.layers", "swapped"),
    ("OptimisticQLearning", "memory.policy", "negative"),
    ("PSRL", "log.values", "huge"),
    ("PSRL", "log.visits", "negative"),
    ("PSRL", "streams", "shorter"),
]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("case", "name", "how"), TRIALS, ids=lambda word: word.replace("memory.", ""))
def test_a_changed_checkpoint(case, name, how):
    state, trial = trial_parts(case), trial_of(case)
    with pytest.raises(ValueError, match="this is not the state of such a trial"):
        trial.restore({**state, name: MUTATIONS[how](state[name])})


@pytest.mark.parametrize("case", crafted.TRIALS)
def test_a_checkpoint_is_taken_up_by_a_trial_that_was_played_before(case):
    """What a state is compared with is a fresh memory, whatever the trial has done."""
    state, trial, whole = trial_parts(case), trial_of(case), trial_of(case)
    trial.advance(3)
    trial.restore(state)
    for x in (trial, whole):
        x.advance(crafted.EPISODES - x.played)
    for name, x in whole.state().items():
        np.testing.assert_array_equal(trial.state()[name], x)


@pytest.mark.parametrize("text", [b"[" * 100_000, b"null", b'[{"state": {"state": -1, "inc": 1}}]'])
def test_streams_that_are_none(text):
    state = trial_parts("PSRL")
    with pytest.raises(ValueError, match="this is not the state of such a trial"):
        trial_of("PSRL").restore({**state, "streams": np.frombuffer(text, np.uint8)})


ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3),
    "f": np.asfortranarray(np.ones((2, 3))),
    "s": np.array(3),
    "e": np.zeros((0, 4)),
}


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_arrays_that_numpy_wrote_are_read(write):
    buffer = io.BytesIO()
    write(buffer, **ARRAYS, flags=np.array([True]), text=np.array(["é"]))
    back = arrays_from_bytes(buffer.getvalue())
    for name, x in ARRAYS.items():
        np.testing.assert_array_equal(back[name], x, strict=True)
        assert back[name].flags.writeable
    assert back["text"] == "é"


def test_much_that_packs_well_is_read_and_more_is_not():
    zeros = {"x": np.zeros(2**24)}  # 128 MB
    assert arrays_from_bytes(arrays_to_bytes(zeros))["x"].size == 2**24
    tight = io.BytesIO()
    with zipfile.ZipFile(tight, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("x.npy", bytes(2**27))
    with pytest.raises(ValueError, match="claim to unpack to 134,217,728"):
        arrays_from_bytes(tight.getvalue())


def test_what_was_saved_is_loaded_where_memory_is_large_enough(monkeypatch):
    data = arrays_to_bytes({"x": np.arange(1000.0)})
    monkeypatch.setattr(files, "MANY_BYTES", 1000)
    monkeypatch.setattr(files, "memory_bytes", lambda: 20_000)
    assert arrays_from_bytes(data)["x"].size == 1000
    monkeypatch.setattr(files, "memory_bytes", lambda: 10_000)
    with pytest.raises(ValueError, match="unpacks to 8,128 bytes, more than 5,000"):
        arrays_from_bytes(data)
    monkeypatch.setattr(files, "MANY_BYTES", 2**20)
    assert arrays_from_bytes(data)["x"].size == 1000


def test_loading_takes_little_time(parts, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(learner_bytes(*parts[LAYERED]))
    kl.load(path)
    times = []
    for _ in range(5):
        began = time.process_time()
        kl.load(path)
        times.append(time.process_time() - began)
    assert min(times) < 0.05


def test_a_learner_that_was_loaded_and_gave_up_an_episode_has_room(tmp_path):
    """What it met stays known, so there must be room for it: the next episode may begin there."""
    learner = kl.Learner(kl.KLearning(), Discrete(10), Discrete(2), 5)
    learner.act(0)
    for state in (1, 2, 3):
        learner.observe(0.0, state)
        learner.act(state)
    learner.save(tmp_path / "x.npz")
    again = kl.load(tmp_path / "x.npz")
    again.abandon_episode()
    again.act(3)
    again.observe(1.0, 4, terminated=True)
    again.end_episode()
    again.save(tmp_path / "x.npz")
    assert kl.load(tmp_path / "x.npz").episodes_done == 1
