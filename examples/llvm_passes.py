"""In which order should a compiler run its passes? The best order, measured, with a certificate.

An order of passes is a sequence of actions: the program is the hidden state, it moves without
chance, and what is read of it is exact, because the text of the program says which one it is. Only
the time that the compiled program takes is noisy. It is measured last, by a step that has a single
action, so that orders which end in the same machine code share their timings.

Run it with `python examples/llvm_passes.py` (half a minute for each kernel at horizon 4; `--help`
has the rest). Needs the extra `llvm`.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from stopwatch import Stopwatch, forgetting, nanoseconds, probe

import surepath

KERNELS = {"matmul": 4.0, "crc": 1.5, "machine": 2.0, "calls": 2.5, "sort": 1.5}
"""Programs as a plain front end writes them, one file each in the folder `kernels`; and how many
times as fast as the reference counts as the most there is. A reward is that ratio over this one:
if the reference alone is held up, it looks like a program of any speed."""

PASSES = {
    "inline": "add_always_inliner_pass",
    "sroa": "add_sroa_pass",  # variables from memory to registers
    "combine": "add_instruction_combine_pass",
    "simplify": "add_simplify_cfg_pass",
    "gvn": "add_new_gvn_pass",  # what was computed before is not computed again
    "rotate": "add_loop_rotate_pass",
    "unroll": "add_loop_unroll_pass",
    "thread": "add_jump_threading_pass",
}
"""What each action runs, by the name of LLVM's pass manager in llvmlite."""

HORIZON = 4
TOLERANCE = "2%"

REFERENCE = ("inline", "sroa", "combine", "simplify")
"""An order that anybody would think of. Its time is taken beside every other, in turn: what else
the machine does falls on both, and their ratio does not drift with it."""

CONFIRMED = 300
"""Timings of the order that was found and of -O2 and -O3, in turn, after the run."""

OPCODES = (
    *("alloca", "load", "store", "getelementptr", "phi", "select", "br", "switch", "call", "ret"),
    *("add", "sub", "mul", "shl", "lshr", "and", "or", "xor", "icmp", "fadd", "fmul"),
)
"""Instructions that are counted beside the identity of a program."""

Reward = Callable[["Binary", np.random.Generator], float]
"""What one measurement of a binary pays."""


class Binary(NamedTuple):
    """Machine code that can be called, and how many instructions it has."""

    digest: str
    call: Callable[[int], int]  # with the seed of its data
    holder: Any  # frees the code when nobody holds it any more
    instructions: int


class Compiler:
    """Runs passes and makes machine code; each only once."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._target = llvm.Target.from_default_triple()
        self._programs: dict[tuple[str, str], str] = {}
        self._codes: dict[str, tuple[str, int]] = {}
        self._binaries: dict[str, Binary] = {}
        self._stopwatch: tuple[Stopwatch, Any] | None = None  # and what holds its programs

    def _machine(self) -> Any:
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        return self._target.create_target_machine(opt=2, cpu=cpu, features=features)

    def run(self, program: str, name: str) -> str:
        """The program after a pass, or after all of -O2 or -O3."""
        if (program, name) not in self._programs:
            self._programs[program, name] = self._run(program, name)
        return self._programs[program, name]

    def _run(self, program: str, name: str) -> str:
        pipeline = name.startswith("-O")
        options = llvm.create_pipeline_tuning_options(speed_level=int(name[2]) if pipeline else 2)
        builder = llvm.create_pass_builder(self._machine(), options)
        if pipeline:
            manager = builder.getModulePassManager()
        else:
            manager = llvm.create_new_module_pass_manager()
            getattr(manager, PASSES[name])()
        manager.add_strip_symbols_pass()  # programs that differ in names only are one
        module = llvm.parse_assembly(program)
        manager.run(module, builder)
        return str(module)

    def digest(self, program: str) -> str:
        """By which machine code is known: different programs may compile to the same."""
        return self._code(program)[0]

    def _code(self, program: str) -> tuple[str, int]:
        """The digest of a program's machine code, and the number of its instructions."""
        if program not in self._codes:
            text = self._machine().emit_assembly(llvm.parse_assembly(program))
            instructions = sum(
                line.startswith("\t") and line[1] != "." for line in text.splitlines()
            )
            self._codes[program] = hashlib.sha256(text.encode()).hexdigest(), instructions
        return self._codes[program]

    def binary(self, program: str) -> Binary:
        digest, instructions = self._code(program)
        if digest not in self._binaries:
            self._binaries[digest] = Binary(digest, *self._callable(program), instructions)
        return self._binaries[digest]

    def _callable(self, program: str) -> tuple[Callable[[int], int], Any]:
        """Machine code, and what holds it."""
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(program), self._machine())
        engine.finalize_object()
        signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        return signature(engine.get_function_address("kernel")), engine

    def stopwatch(self) -> Stopwatch:
        """One for all that is compiled here: what it forgets by takes seconds to compile."""
        if self._stopwatch is None:
            (quick, *held), (forget, *more) = map(self._callable, (probe(), forgetting()))
            self._stopwatch = Stopwatch(quick, forget), (held, more)
        return self._stopwatch[0]


def opcodes(module: Any) -> Counter[str]:
    """How often each instruction occurs."""
    return Counter(
        instruction.opcode
        for function in module.functions
        for block in function.blocks
        for instruction in block.instructions
    )


def source(kernel: str) -> str:
    path = Path(__file__).parent / "kernels" / f"{kernel}.ll"
    return str(llvm.parse_assembly(path.read_text(encoding="utf-8")))


# ---------------------------------------------------------------- what is paid


def timed_beside(reference: Binary, most: float, watch: Stopwatch) -> Reward:
    """How many times as fast as the reference, over the most that counts."""
    return lambda binary, rng: watch.ratio(binary.call, reference.call, rng) / most


def cut(reward: Reward) -> Reward:
    """At the most that counts."""
    return lambda binary, rng: min(reward(binary, rng), 1.0)


def timed_alone(longest: float) -> Reward:
    """Without a reference: 1 - time / longest, in nanoseconds. What else the machine does stays."""
    return lambda binary, rng: max(
        1 - nanoseconds(binary.call, int(rng.integers(2**31))) / longest, 0.0
    )


def counted(before: int) -> Reward:
    """Without noise: the share of so many instructions that is gone, at least none."""
    return lambda binary, _: max(1 - binary.instructions / before, 0.0)


def side_by_side(
    reward: Reward, binaries: Sequence[Binary], repeats: int, rng: np.random.Generator
) -> np.ndarray:
    """Rewards of each binary, measured in turn so many times: [repeats, binaries]."""
    return np.array([[reward(each, rng) for each in binaries] for _ in range(repeats)])


# ---------------------------------------------------------------- the system


class PassOrder:
    """A kernel and its passes: actions run passes, and the last step measures what came out."""

    last_actions = 1
    preferred_features = "linear"
    dimension = 2 + len(OPCODES)

    def __init__(
        self,
        kernel: str,
        horizon: int = HORIZON,
        passes: Sequence[str] = tuple(PASSES),
        *,
        count: bool = False,
        compiler: Compiler | None = None,
    ) -> None:
        """count: pay for instructions, and not for time."""
        self.identity = {"kernel": kernel, "passes": list(passes), "count": count}
        self.kernel, self.passes = kernel, tuple(passes)
        self.horizon, self.n_actions = horizon + 1, len(passes)
        self.compiler = compiler or Compiler()
        self.start = source(kernel)
        self.uncut = counted(self.compiler.binary(self.start).instructions)
        if not count:
            usual = self.start
            for name in REFERENCE:
                usual = self.compiler.run(usual, name)
            reference = self.compiler.binary(usual)
            self.uncut = timed_beside(reference, KERNELS[kernel], self.compiler.stopwatch())
        self.reward = cut(self.uncut)
        self.timings = 0
        self._shown: dict[str, list[float]] = {}

    def pipeline(self, name: str) -> Binary:
        """What the compiler makes of the kernel by itself: -O2 or -O3."""
        return self.compiler.binary(self.compiler.run(self.start, name))

    def made_by(self, actions: Sequence[int]) -> Binary:
        """The binary of an order; a measurement may follow."""
        return self.compiler.binary(self.programs(actions[: self.horizon - 1])[-1])

    def programs(self, actions: Sequence[int]) -> list[str]:
        """The program before, between and after the passes."""
        found = [self.start]
        for action in actions:
            found.append(self.compiler.run(found[-1], self.passes[action]))
        return found

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        programs = self.programs(actions[: self.horizon - 1])
        shown = [self._program(each) for each in programs[: self.horizon - 1]]
        rewards = np.zeros((n, len(actions)))
        if len(programs) == self.horizon:
            shown.append(_named(self.compiler.digest(programs[-1])) + [0.0] * len(OPCODES))
        if len(actions) == self.horizon:
            binary = self.compiler.binary(programs[-1])
            rewards[:, -1] = [self.reward(binary, rng) for _ in range(n)]
            self.timings += n
        return surepath.Episodes(actions, np.tile(shown, (n, 1, 1)), rewards)

    def _program(self, program: str) -> list[float]:
        """What is read of a program: who it is, and what it is made of."""
        if program not in self._shown:
            counts = opcodes(llvm.parse_assembly(program))
            digest = hashlib.sha256(program.encode()).hexdigest()
            scaled = [float(np.log1p(counts[name])) / 10 for name in OPCODES]
            self._shown[program] = _named(digest) + scaled
        return self._shown[program]

    def orders(self) -> Iterator[tuple[tuple[int, ...], Binary]]:
        """Every binary there is, with an order that makes it; by going through all programs."""
        level: dict[str, tuple[int, ...]] = {self.start: ()}
        for _ in range(self.horizon - 1):
            below: dict[str, tuple[int, ...]] = {}
            for program, actions in level.items():
                for action, name in enumerate(self.passes):
                    below.setdefault(self.compiler.run(program, name), (*actions, action))
            level = below
        binaries: dict[str, tuple[tuple[int, ...], Binary]] = {}
        for program, actions in level.items():
            binaries.setdefault(
                self.compiler.digest(program), (actions, self.compiler.binary(program))
            )
        yield from binaries.values()


def _named(digest: str) -> list[float]:
    """64 bits of a digest as two numbers that are the same only for the same digest."""
    return [int(digest[at : at + 8], 16) / 2**32 for at in (0, 8)]


def identity(observations: np.ndarray) -> np.ndarray:
    """Of what is read, who it is."""
    return observations[:, :2]


def learn(system: PassOrder, *, predict: bool = False, **options: Any) -> surepath.Result:
    """Exact readings, paid once at the end.

    predict: whether programs that were not tried may be predicted from what they are made of.
    """
    return surepath.learn(
        system,
        features="linear" if predict else identity,
        separation="exact",
        return_range=(0.0, 1.0),
        predict=predict,
        **{"tolerance": TOLERANCE, **options},
    )


# ---------------------------------------------------------------- the story


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", default=KERNELS, help=f"of {', '.join(KERNELS)}")
    parser.add_argument("--horizon", type=int, default=HORIZON, help="passes in an order")
    parser.add_argument("--count", action="store_true", help="fewest instructions, not least time")
    parser.add_argument("--budget", type=int, default=100_000, help="most episodes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--doctor", action="store_true", help="only ask whether timings drift")
    chosen, compiler = parser.parse_args(), Compiler()
    for kernel in chosen.kernels:
        if chosen.doctor:
            consult(PassOrder(kernel, chosen.horizon, compiler=compiler), chosen.seed)
            continue
        system = PassOrder(kernel, chosen.horizon, count=chosen.count, compiler=compiler)
        tell(system, chosen.count, chosen.budget, chosen.seed)


def tell(system: PassOrder, count: bool, budget: int, seed: int) -> None:
    kernel, horizon = system.kernel, system.horizon - 1
    sequences = system.n_actions**horizon
    print(f"{kernel}: {sequences} orders of {horizon} out of {system.n_actions} passes")
    started = time.perf_counter()
    result = learn(system, budget=budget, seed=seed, callback=_heard())
    taken = time.perf_counter() - started
    order = " ".join(system.passes[action] for action in result.actions[:-1])
    beside = {"this order": system.made_by(result.actions)}
    beside |= {name: system.pipeline(name) for name in ("-O2", "-O3")}
    repeats, rng = 1 if count else CONFIRMED, np.random.default_rng(seed)
    # -O3 may be quicker than the most that counts. One that was held up is no reason to cut here.
    paid = np.median(side_by_side(system.uncut, list(beside.values()), repeats, rng), axis=0)
    what = "instructions gone" if count else "speed"
    print(f"  best order: {order}")
    print(f"  {what}:", ", ".join(f"{n} {v:.3f}" for n, v in zip(beside, paid, strict=True)))
    print(f"  {system.timings} measurements, {result.episodes} episodes, {taken:.0f} s")
    certificate = result.certificate
    print(f"  {certificate.claim if result.certified else f'not certified: {certificate.reason}'}")
    for warning in certificate.warnings:
        print(f"  {warning}")


def consult(system: PassOrder, seed: int) -> None:
    """What the doctor says of drift: timings beside the reference, and alone."""
    plain = system.compiler.binary(system.start)
    longest = 2.0 * max(nanoseconds(plain.call, seed) for seed in range(CONFIRMED))
    for name, reward in {"beside": system.reward, "alone": timed_alone(longest)}.items():
        system.reward = reward
        found = surepath.diagnose(
            system, separation="exact", features=identity, forecast=False, seed=seed
        )
        drift = found["no drift"]
        print(f"{system.kernel}, timed {name}: {drift.verdict}, {drift.evidence}")


def _heard() -> Callable[[surepath.Round], bool]:
    """Prints a line now and then: how much better than the best order another could still be."""
    last = time.monotonic()

    def callback(now: surepath.Round) -> bool:
        nonlocal last
        if time.monotonic() - last < 5 or now.value is None or now.bound is None:
            return False
        if np.isfinite(now.value):  # a whole order was timed
            last = time.monotonic()
            print(f"  ... {now.episodes} episodes: {now.value:.4f}, none is above {now.bound:.4f}")
        return False

    return callback


if __name__ == "__main__":
    main()
