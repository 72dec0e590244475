"""The command line in a process of its own, as a person meets it.

`klearning` forks one that has imported the package already: most of what a short command takes is importing. What is
about the beginning of a process, its streams or signals, runs `COMMAND`, a fresh interpreter.
"""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

# what runs in the background is born deaf to SIGINT: give it its ear back
HEAR = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
COMMAND = [sys.executable, "-c", HEAR + "from klearning.cli import main; main()"]

PRELOADED = [  # of the libraries, what the first kernel, the first picture and the first environment import
    "klearning.cli", *(f"klearning.cli.{name}" for name in ("compare", "learn", "entries", "run", "stores")),
    "klearning.lab.papers.odonoghue2021", "klearning.lab.report.document",
    "klearning.numerics.compile.linking", "klearning.numerics.display.canvas",
    "gymnasium.envs.toy_text", "matplotlib.backends.backend_agg", "matplotlib.figure", "matplotlib.font_manager",
    "rich.console", "rich.progress", "rich.table", "tests.support.warm", __name__,
]  # fmt: skip
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(PRELOADED)


def klearning(*arguments, cwd=".", env=None, memory=None):
    """What `klearning ARGUMENTS` answers; ``memory`` is how many bytes it may take beyond those at its start."""
    with TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("out", "errors")]
        process = FORKS.Process(target=answer, args=(arguments, cwd, dict(env or os.environ), streams, memory))
        process.start()
        process.join(900)  # the first may compile kernels
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"klearning {' '.join(arguments)} does not end")
        output = [path.read_text(encoding="utf-8") for path in streams]
    return subprocess.CompletedProcess(arguments, process.exitcode, *output)


def answer(arguments, folder, environment, streams, memory):
    """In the new process."""
    from klearning.cli import main

    if memory is not None:
        limit_memory(memory)
    sys.stdout, sys.stderr = (path.open("w", encoding="utf-8") for path in streams)
    for number, stream in enumerate((sys.stdout, sys.stderr), 1):
        os.dup2(stream.fileno(), number)  # what writes past Python is heard too
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path.insert(0, "")  # as `python -c` has it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(arguments)


def limit_memory(memory):
    """Let this process have N bytes more than it has now; a request beyond is a MemoryError."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + memory, resource.RLIM_INFINITY))
