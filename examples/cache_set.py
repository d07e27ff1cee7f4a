"""One set of this computer's own first-level cache, and what the doctor says of it.

Three lines of memory lie in the same set of the cache. An action touches one of them; how many
cycles that took is read. Before every episode all of them are flushed from the cache, so the start
is the same. The question is which four touches make the last one fastest: one that repeats an
earlier line. Nobody has to know how the cache chooses what it keeps.

It is a real system with real faults, which differ from one computer to the next: other programs
disturb the cache, clocks drift, and a reading says "it was there" or "it was not", never which
lines are in the cache. So the doctor is asked first.

Run it with `python examples/cache_set.py` (some seconds). Needs a C compiler called `cc`.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import surepath
from surepath.system import Actions, Episodes

LINES, TOUCHES = 3, 4
SLOWEST = 1000
"""Cycles, or nanoseconds where there is no counter of cycles; a longer touch counts as this."""

SOURCE = """
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
static uint64_t now(void) { unsigned core; _mm_lfence(); return __rdtscp(&core); }
static void flush(volatile char *line) { _mm_clflush((const void *)line); }
static void wait(void) { _mm_mfence(); }
#else
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000000000ull * t.tv_sec + t.tv_nsec;
}
static char spare[1 << 22];
static void flush(volatile char *line) {  /* no instruction for it: fill the cache with others */
    (void)line;
    for (int i = 0; i < 1 << 22; i += 64) spare[i]++;
}
static void wait(void) { __sync_synchronize(); }
#endif
static char memory[64 * 4096] __attribute__((aligned(4096)));

void touch(const int *lines, int touches, int all, int episodes, uint32_t *taken) {
    /* Pages that were never written to may all be one page of zeros. */
    for (int line = 0; line < all; line++) memory[4096 * line] = 1;
    for (int episode = 0; episode < episodes; episode++) {
        for (int line = 0; line < all; line++) flush(memory + 4096 * line);
        wait();
        for (int i = 0; i < touches; i++) {
            volatile char *line = memory + 4096 * lines[i];
            uint64_t begun = now();
            (void)*line;
            *taken++ = (uint32_t)(now() - begun);
        }
    }
}
"""
"""Addresses 4096 bytes apart are in one set of any first-level cache with 64 sets of 64 bytes."""


def built(folder: Path) -> ctypes.CDLL:
    (folder / "touch.c").write_text(SOURCE)
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", "touch.so", "touch.c"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "touch.so"))


class CacheSet:
    """Touches as actions, how long each took as what is read; paid by how fast the last one was."""

    horizon, n_actions, dimension = TOUCHES, LINES, 1
    preferred_features = "linear"

    def __init__(self, folder: Path) -> None:
        self._library = built(folder)

    def taken(self, actions: Actions, n: int) -> NDArray[np.uint32]:
        """Cycles of every touch, [n, T]."""
        taken = np.zeros((n, len(actions)), dtype=np.uint32)
        lines = np.array(actions, dtype=np.int32)
        self._library.touch(
            ctypes.c_void_p(lines.ctypes.data), len(lines), LINES, n,
            ctypes.c_void_p(taken.ctypes.data),
        )  # fmt: skip
        return taken

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        del rng  # the computer has its own noise
        shares = np.minimum(self.taken(actions, n), SLOWEST) / SLOWEST
        levels = min(len(actions) + 1, self.horizon)
        seen = np.zeros((n, levels, 1))  # before the first touch nothing was read
        seen[:, 1:, 0] = shares[:, : levels - 1]
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            rewards[:, -1] = 1 - shares[:, -1]
        return Episodes(actions, seen, rewards)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        system = CacheSet(Path(folder))
        found = surepath.diagnose(system, return_range=(0.0, 1.0))
        print(found)
        if not found.sound:
            print("\nNot all that is assumed holds here, so a certificate would rest on sand:")
            for finding in found.findings:
                if finding.remedy:
                    print(f"- {finding.assumption}: {finding.remedy}")
        result = surepath.learn(system, return_range=(0.0, 1.0), tolerance=0.05, budget=20_000)
        print(f"\n{result.actions}: the last touch takes {SLOWEST * (1 - result.value):.0f} cycles")
        print(result.certificate.claim if result.certified else result.certificate.reason)


if __name__ == "__main__":
    main()
