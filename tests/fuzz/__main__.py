"""`make fuzz MINUTES=5`: mutated results, journals and lines, for so many minutes together.

Every kind has a process of its own, whose memory is limited. Ends with 1 where anything happened
but reading and refusing; the files that made it happen are left in the folder that is named.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from pathlib import Path

from fuzz.campaign import MEGABYTES, Found, limited
from fuzz.targets import TARGETS

GRACE = 60
"""Seconds more than it was given after which a process is taken to hang."""


def _run(kind: str, seed: int, seconds: float, keep: Path) -> Found | None:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=limited, args=(kind, seed, seconds, keep, theirs))
    process.start()
    theirs.close()
    try:
        return mine.recv() if mine.poll(seconds + GRACE) else None
    except EOFError:  # it ended without a word
        return None
    finally:
        process.kill()
        process.join()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    keep = Path(tempfile.mkdtemp(prefix="surepath-fuzz-"))
    bad = False
    for kind in TARGETS:
        found = _run(kind, given.seed, given.minutes * 60 / len(TARGETS), keep)
        if found is None:
            print(f"kind {kind}: the process hung, or was killed")
        else:
            print(found.line(), *found.tracebacks, sep="\n", flush=True)
        bad |= found is None or bool(found.failed) or found.megabytes > MEGABYTES
    print(f"files of what failed: {keep}" if bad else "nothing but reading and refusing")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
