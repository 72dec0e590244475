"""What the compiler makes of the GPU's kernels: registers, local memory, spills, work per state. It needs no GPU.

pip install 'klearning[gpu]' nvidia-cuda-nvcc && python -m bench.gpu_code
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numba import cuda, types

import klearning as kl
from klearning.gpu import beb, k_learning, layout, psrl, rlsvi, ucbvi, value_iteration
from klearning.gpu.batch import REGISTERS
from klearning.gpu.k_learning import OPTIMAL, SCHEDULE, Kind, Search

NUMBER, MATRIX, VECTOR, WHOLE = (
    types.float32,
    types.Array(types.float32, 2, "C"),
    types.Array(types.float32, 1, "C"),
    types.Array(types.int32, 1, "C"),
)


class Hopper:
    """A device that need not be there."""

    compute_capability = (9, 0)


def signature(numbers: Any, *carried: Any) -> Any:
    """Of a kernel that reads these numbers, and carries something from plan to plan besides."""
    world = types.NamedTuple([WHOLE] * 5 + [MATRIX] * 3 + [VECTOR], layout.World)
    counts = types.NamedTuple([MATRIX] * 3, layout.Counts)
    log = types.NamedTuple([MATRIX] * 3 + [types.Array(NUMBER, 3, "C")], layout.Log)
    seeds, key = types.Array(types.uint32, 1, "C"), types.UniTuple(types.uint32, 2)
    return types.void(world, counts, numbers, *carried, MATRIX, log, key, seeds, types.int64, types.int64)


K_LEARNING = signature(
    types.NamedTuple([NUMBER] * 6 + [VECTOR], k_learning.Numbers), types.NamedTuple([VECTOR] * 2, Search)
)


def shape_of(world: kl.MDP, own: bool = False) -> layout.Shape:
    single = bool((world.rows.length[:, : world.layers[-2]] == 1).all())
    size = int(layout.slots(world).max()) + 1
    return layout.Shape(
        horizon=world.horizon, states=world.states, actions=world.actions, slots=size, single=single, own=own,
        bernoulli=False, goal_state=world.states - 1, goal_place=-1, goal_action=1, end=-1,
    )  # fmt: skip


def assembler() -> Path:
    """NVIDIA's, of the package nvidia-cuda-nvcc."""
    for folder in map(Path, sys.path):
        for file in folder.glob("nvidia/**/bin/ptxas"):
            return file
    raise SystemExit("ptxas is missing: pip install nvidia-cuda-nvcc")


def portable_code(kernel: Any, arguments: Any = K_LEARNING) -> str:
    code, _ = cuda.compile_ptx(kernel.py_func, arguments, cc=Hopper.compute_capability, fastmath=True)
    return str(code)


def work_per_state(code: str) -> str:
    """What the shortest loop with an exp in it does: one state of a soft sweep."""
    labels = {match[1]: match.start() for match in re.finditer(r"^(\S+):", code, re.MULTILINE)}
    loops = [code[labels[jump[1]] : jump.end()] for jump in re.finditer(r"bra\s+(\S+);", code) if jump[1] in labels]
    body = min((loop for loop in loops if "ex2.approx" in loop), key=len)
    words = re.findall(r"^\s+(?:@\S+\s+)?([a-z]\w*)\S*", body, re.MULTILINE)
    arithmetic = re.findall(
        r"^\s+(add|sub|mul|fma|div|max|abs|ex2|lg2)[.](?:approx[.]|rn[.])?ftz[.]f32", body, re.MULTILINE
    )
    flops = len(arithmetic) + arithmetic.count("fma")
    return f"{len(words)} instructions before assembly, {flops} float32 operations, an fma being two"


def report(name: str, kernel: Any, arguments: Any = K_LEARNING, most: int | None = REGISTERS) -> str:
    code = portable_code(kernel, arguments)
    with TemporaryDirectory() as folder:
        (Path(folder) / "kernel.ptx").write_text(code)
        command = [
            str(assembler()),
            "-arch=sm_90",
            f"-maxrregcount={most}",
            "-v",
            "kernel.ptx",
            "-o",
            "kernel.cubin",
        ]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr
    registers, stack, spilled = (
        re.findall(pattern, said)[-1]
        for pattern in (r"Used (\d+) registers", r"(\d+) bytes stack frame", r"(\d+) bytes spill stores")
    )
    doubles = len(re.findall(r"[.]f64[ \t]+%", code))
    return f"| {name} | {registers} | {stack} | {spilled} | {doubles} |"


def main() -> None:
    import numba.cuda.dispatcher as dispatcher  # which asks the device for what it is

    dispatcher.get_current_device = lambda: Hopper
    usual, random = Kind(OPTIMAL, False, False, 0.0, True), shape_of(kl.random_mdp(5, 2, 5), own=True)
    print("| kernel | registers | local memory (bytes) | spilled | instructions in float64 |")
    print("| --- | --- | --- | --- | --- |")
    print(report("depth 20, optimal τ", k_learning.episodes_for(shape_of(kl.deep_sea(20)), usual)), flush=True)
    print(report("depth 50, optimal τ", k_learning.episodes_for(shape_of(kl.deep_sea(50)), usual)), flush=True)
    print(
        report("random MDPs 5 × 5 × 2, a world per seed, optimal τ", k_learning.episodes_for(random, usual), most=None),
        flush=True,
    )
    sharp = Kind(SCHEDULE, False, True, 1.0, True)
    name = "random MDPs 5 × 5 × 2, a world per seed, schedule, `sharp`, Beta"
    print(report(name, k_learning.episodes_for(random, sharp), most=None), flush=True)
    sea, flips = shape_of(kl.deep_sea(50)), psrl.Kind(beta=True, learns=True)
    for name, shape, width, noisy, action_value, numbers in (
        ("depth 50, PSRL", sea, 50, True, psrl.action_value_for(sea, psrl.Kind(beta=False, learns=True)), psrl.Numbers),
        ("depth 50, RLSVI", sea, 50, True, rlsvi.action_value_for(sea), rlsvi.Numbers),
        ("depth 50, BEB", sea, 50, False, beb.action_value_for(sea, learns=True), beb.Numbers),
        ("depth 50, UCBVI", sea, 50, False, ucbvi.action_value_for(sea), ucbvi.Numbers),
        ("random MDPs 5 × 5 × 2, a world per seed, PSRL, Beta", random, 5, False,
         psrl.action_value_for(random, flips), psrl.Numbers),
    ):  # fmt: skip
        fields = [MATRIX if field == "Q" else NUMBER for field in numbers._fields]
        kernel = value_iteration.episodes_for(shape, width, noisy, action_value)
        most = REGISTERS if shape.single else None
        print(report(name, kernel, signature(types.NamedTuple(fields, numbers)), most), flush=True)
    code = portable_code(k_learning.episodes_for(shape_of(kl.deep_sea(20)), usual))
    print(f"\nA state of two actions in a sweep of depth 20: {work_per_state(code)}.")


if __name__ == "__main__":
    main()
