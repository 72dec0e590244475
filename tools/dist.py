"""Build the wheel and the sdist, check them, and use the wheel in an empty environment.

python -m tools.dist [PYTHON ...]

The wheel is built from the sdist, so that the sdist is complete. For each interpreter (this one by default) the wheel
is installed without extras into a new environment. README's first example, its `klearning` commands and `klearning run`
are run there in an empty folder, with an empty cache. This interpreter installs the versions of locks/run.txt, the
others the newest.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
COMMAND = ("run", "deep_sea", "KLearning", "-w", "depth=5", "-n", "50", "-s", "2")


def main(pythons: Sequence[str]) -> int:
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        call("-m", "hatchling", "build", "-t", "sdist", "-d", DIST, cwd=ROOT)
        (sdist,) = DIST.glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            archive.extractall(folder / "sdist", filter="data")
        (unpacked,) = (folder / "sdist").iterdir()
        call("-m", "hatchling", "build", "-t", "wheel", "-d", DIST, cwd=unpacked)
        (wheel,) = DIST.glob("*.whl")
        call("-m", "twine", "check", "--strict", sdist, wheel, cwd=folder)
        for python in pythons or [sys.executable]:
            try_out(python, wheel, folder / f"python {len(list(folder.iterdir()))}")
    return 0


def try_out(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel and run what README begins with."""
    began = time.monotonic()
    work = folder / "work"
    work.mkdir(parents=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NUMBA"))}
    environment["XDG_CACHE_HOME"] = str(folder / "cache")
    call("-m", "venv", folder / "env", python=python, cwd=folder, env=environment)
    own = str(folder / "env" / "bin" / "python")
    pins = constraints(folder / "pins.txt") if python == sys.executable else ()
    call("-m", "pip", "install", "--quiet", *pins, wheel, python=own, cwd=work, env=environment | pip_cache())
    (folder / "example.py").write_text(first_example())
    call(folder / "example.py", python=own, cwd=work, env=environment)
    for words in [COMMAND, *readme_commands()]:
        call("-m", "klearning", *words, python=own, cwd=work, env=environment)
    said = subprocess.run([own, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    print(f"{said}: installed and run in {time.monotonic() - began:.0f} s", flush=True)


def first_example() -> str:
    """The first block of Python in README."""
    found = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert found, "README.md has no example"
    return found.group(1)


def readme_commands() -> list[list[str]]:
    """The commands of README, without the name of the program."""
    return [shlex.split(words) for words in re.findall(r"^klearning (.+)$", (ROOT / "README.md").read_text(), re.M)]


def constraints(path: Path) -> tuple[str, ...]:
    """The versions of the lock, without the hashes, which pip would ask for the wheel too."""
    pins = re.findall(r"^[\w.-]+==[\w.+!-]+", (ROOT / "locks" / "run.txt").read_text(), re.M)
    path.write_text("\n".join(pins))
    return "--constraint", str(path)


def pip_cache() -> dict[str, str]:
    """pip keeps its own cache: what it downloads is not what is tried out."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return {"PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR", str(Path(home) / "pip"))}


def call(*words: str | Path, python: str = sys.executable, cwd: Path, env: Mapping[str, str] | None = None) -> None:
    """Run Python; if it fails, so do we."""
    subprocess.run([python, *map(str, words)], cwd=cwd, env=env, check=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"failed: {error}")
