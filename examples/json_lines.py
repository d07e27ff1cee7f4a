"""A system in another process, asked through lines of JSON.

This file plays the laboratory: it starts `surepath serve` and answers what it asks, as a program in
any language could. Run it with `python examples/json_lines.py`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys

HORIZON, ACTIONS, SYMBOLS = 4, 3, 3


def run(actions: list[int], noise: random.Random) -> tuple[list[int], list[float]]:
    """One episode on the bench: a valve that is closed (0), half open (1) or open (2)."""
    position, positions = 0, [0]
    for action in actions:
        position = min(max(position + (0, 1, -1)[action], 0), 2)
        positions.append(position)
    shown = [p if noise.random() < 0.8 else noise.randrange(SYMBOLS) for p in positions[:HORIZON]]
    paid = [float(noise.random() < (0.1, 0.9, 0.5)[p]) for p in positions[1:]]
    return shown, paid


def main() -> None:
    noise = random.Random(0)
    command = [sys.executable, "-m", "surepath", "serve"]
    sizes = {"horizon": HORIZON, "actions": ACTIONS, "observations": SYMBOLS}
    for name, size in sizes.items():
        command += [f"--{name}", str(size)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as surepath:
        assert surepath.stdin is not None
        assert surepath.stdout is not None
        for line in surepath.stdout:
            message = json.loads(line)
            if "error" in message:
                raise SystemExit(message["error"])
            if "result" in message:
                result = message["result"]
                print("plan", result["actions"], "after", result["episodes"], "episodes")
                print(result["certificate"]["claim"])
                break
            told = []
            for request in message["ask"]:
                episodes = [run(request["actions"], noise) for _ in range(request["count"])]
                told.append(
                    {
                        "observations": [shown for shown, _ in episodes],
                        "rewards": [paid for _, paid in episodes],
                    }
                )
            surepath.stdin.write(json.dumps({"tell": told}) + "\n")
            surepath.stdin.flush()


if __name__ == "__main__":
    main()
