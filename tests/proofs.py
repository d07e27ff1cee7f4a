"""Honest proofs of tiny systems, made slowly: by going through all paths and all episodes.

Nothing is shared with the checker, so that what it computes is computed here a second time.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

Place = tuple[int, int, int]
"""Level, state and action of an edge."""
Episode = tuple[tuple[int, ...], list[float], list[Any]]
"""Actions, rewards and observations."""
BETS = [0.0, *(2 ** (k / 4) for k in range(-24, 61))]
"""In units of L / R."""


@dataclass
class System:
    """Hidden states with their mean rewards, and what is observed in them."""

    start: int
    steps: dict[tuple[int, int], int]
    """Where a hidden state and an action lead."""
    pays: dict[tuple[int, int], float]
    """Mean reward; 0 where there is none."""
    shows: dict[int, Any]
    """Probabilities of symbols, or mean features."""
    rewards: str = "coins"
    """What the rewards are like: `coins`, `narrow`, `normal`."""

    def episode(self, actions: tuple[int, ...], watched: int, rng: random.Random) -> Episode:
        hidden, rewards, seen = self.start, list[float](), list[Any]()
        for action in actions:
            rewards.append(self.reward(self.pays.get((hidden, action), 0.0), rng))
            hidden = self.steps[hidden, action]
            if len(seen) < watched and hidden in self.shows:
                seen.append(self.shown(self.shows[hidden], rng))
        return actions, rewards, seen

    def reward(self, mean: float, rng: random.Random) -> float:
        if self.rewards == "coins":
            return float(rng.random() < mean)
        return mean + (rng.gauss(0, 0.1) if self.rewards == "normal" else rng.uniform(-0.02, 0.02))

    def shown(self, kind: Any, rng: random.Random) -> Any:
        if isinstance(kind, tuple):
            return rng.choices(range(len(kind)), kind)[0]
        return [mean + rng.uniform(-0.1, 0.1) for mean in kind]


class Maker:
    """Makes the lines of a proof from a first line and a system, as docs/proof.md says."""

    def __init__(self, line: dict[str, Any]) -> None:
        self.line, self.high = line, line["rewards"].get("high", 0.0)
        self.horizon, self.actions, self.future = line["horizon"], line["actions"], line["future"]
        places = [
            (level, state, action)
            for level, states in enumerate(line["states"])
            for state in range(states)
            for action in range(self.actions)
        ]
        self.edges: dict[Place, list[Any]] = dict(zip(places, line["edges"], strict=True))
        self.needed = math.log(1 / line["share"])
        ranged = "low" in line["rewards"]
        self.ranged, self.noise = ranged, line["rewards"].get("noise", 0.0)
        self.width = self.high - line["rewards"]["low"] if ranged else 2 * self.noise
        self.variance = self.width**2 / 4 if ranged else self.noise**2
        self.plan = self.passed(line["plan"])
        self.others = [path for path in self.paths() if path != self.plan]
        self.ours, self.theirs = dict.fromkeys(places, 0.0), dict.fromkeys(places, 0.0)
        self.closed, self.loss = set[Place](), 0.0
        self.costs = set[str]()
        """The costs of noise that were taken."""

    # ---- the machine

    def passed(self, actions: Any, stop: bool = False) -> list[Place]:
        """Edges that actions take; with `stop`, only those that their readings belong to."""
        state, found = 0, list[Place]()
        for level, action in enumerate(actions):
            found.append((level, state, action))
            role, target = self.edges[found[-1]][:2]
            if role in ("top", "ends") or (stop and self.line["norm"] and role == "merges"):
                break
            state = target
        return found

    def paths(self) -> Iterator[list[Place]]:
        found = list[list[Place]]()
        for actions in product(range(self.actions), repeat=self.horizon):
            path = self.passed(actions)
            if path not in found:
                found.append(path)
        yield from found

    def merges(self) -> list[tuple[Place, Place]]:
        """Every edge that merges, with the one that founds its target."""
        founds = {(p[0], e[1]): p for p, e in self.edges.items() if e[0] == "founds"}
        return [(p, founds[p[0], e[1]]) for p, e in self.edges.items() if e[0] == "merges"]

    # ---- evidence

    def against(self, path: list[Place], ours: Any, theirs: Any) -> float:
        skipped = [ours[place] for place in self.plan if place not in path]
        return sum(skipped) + sum(theirs[place] for place in path if place not in self.plan)

    def guesses(self, before: list[Episode]) -> dict[Place, tuple[float, float]]:
        """Mean and variance of all edges, by what was known before a block."""
        made, rewards = dict[Place, tuple[float, float]](), self.rewards(before)
        for place, (*_, number, total, squares) in self.edges.items():
            n = number + len(rewards[place])
            s = total + sum(rewards[place])
            q = squares + sum(x * x for x in rewards[place])
            mean = s / n if n else (self.line["rewards"].get("low", 0.0) + self.high) / 2
            if self.ranged:
                mean = min(max(mean, self.line["rewards"]["low"]), self.high)
            around = max(0.0, q - s * s / n) if n else 0.0
            made[place] = mean, (around + self.width**2 / 4) / (n + 1)
        return made

    def rewards(self, episodes: list[Episode]) -> dict[Place, list[float]]:
        found: dict[Place, list[float]] = {place: [] for place in self.edges}
        for actions, rewards, _ in episodes:
            for place, reward in zip(self.passed(actions, stop=True), rewards, strict=False):
                found[place].append(reward)
        return found

    def gains(
        self, bet: float, known: list[Episode], episodes: list[Episode], expected: bool
    ) -> tuple[dict[Place, float], dict[Place, float]]:
        """What a block adds to `ours` and `theirs`, as it was read or as it is expected."""
        guesses, rewards = self.guesses(known), self.rewards(episodes)
        ours, theirs = dict[Place, float](), dict[Place, float]()
        for place, edge in self.edges.items():
            (mu, w), n = guesses[place], len(rewards[place])
            if n == 0:
                unread = -math.inf if bet and place not in self.closed else 0.0
                ours[place] = theirs[place] = unread
                continue
            g = n
            if self.line["episode"] == "shared":
                g = sum(len(a) for a, _, _ in episodes if place in self.passed(a, stop=True))
            cost, name = bet**2 * self.variance * g / (2 * n**2), "hoeffding"
            pull = bet * self.width / n
            if self.ranged and self.line["episode"] == "independent" and pull < 1:
                psi = -math.log(1 - pull) - pull
                if psi * n * w / self.width**2 < cost:
                    c = n * w if expected else sum((x - mu) ** 2 for x in rewards[place])
                    cost, name = psi * c / self.width**2, "bernstein"
            self.costs |= {name} if bet and not expected else set()
            mean = mu if expected else sum(rewards[place]) / n
            ours[place] = bet * mean - cost
            theirs[place] = -bet * mean - cost
            if edge[0] == "top":
                theirs[place] -= bet * (self.horizon - place[0] - 1) * self.high
            if edge[0] == "merges" and self.line["norm"]:
                theirs[place] -= bet * self.line["norm"] * edge[2]
        return ours, theirs

    def free(self) -> list[list[Place]]:
        """The paths that are open."""
        return [path for path in self.others if self.closed.isdisjoint(path)]

    def close(self, spent: float) -> None:
        """After a block: which edges are closed, and what the paths by them gain at most."""
        paths, tolerance = self.free(), self.line["tolerance"]
        for place in set(self.edges) - set(self.plan) - self.closed:
            least = [self.against(path, self.ours, self.theirs) for path in paths if place in path]
            x = min(least, default=math.inf)
            if x + tolerance * spent >= self.needed:
                self.closed.add(place)
                self.loss = max(self.loss, (self.needed - x) / spent)

    def promise(
        self, bet: float, spent: float, known: list[Episode], episodes: list[Episode]
    ) -> float:
        ours, theirs = self.gains(bet, known, episodes, expected=True)
        ours = {place: self.ours[place] + ours[place] for place in ours}
        theirs = {place: self.theirs[place] + theirs[place] for place in theirs}
        least = min(self.against(path, ours, theirs) for path in self.free())
        found = least + self.line["tolerance"] * (bet + spent)
        return found if math.isfinite(found) else -math.inf

    def windows(self, place: Place, episodes: list[Episode], rest: Any) -> list[list[Any]]:
        found, level, steps = list[list[Any]](), place[0], self.future
        for actions, _, seen in episodes:
            after = actions[level + 1 : level + steps]
            window = seen[level : level + steps]
            passes = place in self.passed(actions, stop=True) and after == rest
            if passes and len(window) == steps:
                found.append(window)
        return found

    def mean(self, windows: list[list[Any]], step: int) -> list[float]:
        seen = self.line["observations"]
        if seen["type"] == "symbols":
            shown = [window[step] for window in windows]
            return [shown.count(symbol) / len(shown) for symbol in range(seen["size"])]
        return [sum(w[step][i] for w in windows) / len(windows) for i in range(seen["size"])]

    def merged(self, merge: Place, founder: Place, rest: Any, blocks: list[list[Episode]]) -> float:
        """The evidence of a merge along a continuation, by the formula alone."""
        if self.line["separation"] == "exact":
            return self.agreed(merge, founder, rest, blocks)
        seen, steps = self.line["observations"], self.future
        e = self.edges[merge][2] if self.line["norm"] else self.line["separation"]
        c = {"symbols": 0.25, "noisy": seen.get("noise", 0) ** 2}.get(
            seen["type"], seen.get("diameter", 0) ** 2 / 4
        )
        c *= steps if self.line["episode"] == "independent" else steps**2
        bet, weight, best = 0.65 * e / c, 0.0, 0.0
        apart = [[0.0] * seen["size"] for _ in range(steps)]
        for block in blocks:
            own, other = self.windows(merge, block, rest), self.windows(founder, block, rest)
            if own and other:
                h = len(own) * len(other) / (len(own) + len(other))
                weight += h
                for step in range(steps):
                    pairs = zip(self.mean(own, step), self.mean(other, step), strict=True)
                    moved = zip(apart[step], pairs, strict=True)
                    apart[step] = [w + h * (a - b) for w, (a, b) in moved]
            if weight:
                d = sum(self.length([w / weight for w in step]) for step in apart)
                best = max(best, bet * weight * (e - d) - bet**2 * c * weight / 2)
        return best

    def length(self, difference: list[float]) -> float:
        if self.line["observations"]["type"] == "symbols":
            return sum(map(abs, difference)) / 2
        return math.sqrt(sum(x * x for x in difference))

    def agreed(self, merge: Place, founder: Place, rest: Any, blocks: list[list[Episode]]) -> float:
        both = [[w for b in blocks for w in self.windows(p, b, rest)] for p in (merge, founder)]
        shown = {tuple(window) for windows in both for window in windows}
        return self.needed if all(both) and len(shown) == 1 else 0.0

    def evidence(self, blocks: list[list[Episode]]) -> dict[str, float | None]:
        rests = list(product(range(self.actions), repeat=self.future - 1))
        merges = [self.merged(*m, rest, blocks) for m in self.merges() for rest in rests]
        least = [self.against(path, self.ours, self.theirs) for path in self.free()]
        return {
            "paths": min(least) if least else None,
            "merges": min(merges) if merges else None,
        }

    # ---- the file

    def make(self, system: System, seed: int, pooled: bool, first: int) -> list[dict[str, Any]]:
        """The lines of a proof, without their chain."""
        rng, entries, spent = random.Random(seed), [dict(self.line)], 0.0
        blocks, known = list[list[Episode]](), list[Episode]()
        watched = 0 if self.line["route"] == "tree" else self.horizon - 1
        for number in range(1, 7):
            before, episodes = self.evidence(blocks), list[Episode]()
            count, readings, requests = first * 2 ** (number - 1), list[Any](), list[Any]()
            for actions in self.wanted(before):
                own = [system.episode(actions, watched, rng) for _ in range(count)]
                if pooled:
                    own = [(a, [round(x, 6) for x in rewards], seen) for a, rewards, seen in own]
                readings.append(self.readings(number, len(requests), own, pooled))
                requests.append([list(actions), count])
                episodes += own
            bet = 0.0
            if self.free():
                unit = self.needed / self.width
                bets = [unit * bet for bet in BETS]
                bet = max(bets, key=lambda bet: self.promise(bet, spent, known, episodes))
            entries += [
                {"kind": "block", "block": number, "before": before, "bet": bet}
                | {"requests": requests},
                *readings,
            ]
            ours, theirs = self.gains(bet, known, episodes, expected=False)
            for place in self.edges:
                self.ours[place] += ours[place]
                self.theirs[place] += theirs[place]
            blocks.append(episodes)
            known, spent = known + episodes, spent + bet
            self.close(spent)
            if last := self.end(blocks):
                return [*entries, last]
        raise AssertionError("nothing was proved")

    def wanted(self, evidence: dict[str, float | None]) -> list[tuple[int, ...]]:
        """What a block asks for: no path that is ruled out, unless for merges."""
        found = list(product(range(self.actions), repeat=self.horizon))
        if (evidence["merges"] or 0) < self.needed and evidence["merges"] is not None:
            return found
        return [actions for actions in found if self.closed.isdisjoint(self.passed(actions))]

    def end(self, blocks: list[list[Episode]]) -> dict[str, Any] | None:
        found, loss = self.evidence(blocks), self.loss
        merged = found["merges"] is None or found["merges"] >= self.needed
        if not merged or self.free():
            return None
        rewards = self.rewards([episode for block in blocks for episode in block])
        optimal = loss == 0 or (self.line["gap"] is not None and loss < self.line["gap"])
        return {
            "kind": "end",
            "blocks": len(blocks),
            "evidence": found,
            "tolerance": loss,
            "claim": "optimal" if optimal else "within",
            "value": sum(sum(rewards[place]) / len(rewards[place]) for place in self.plan),
            "episodes": sum(map(len, blocks)),
        }

    def readings(
        self, block: int, request: int, episodes: list[Episode], pooled: bool
    ) -> dict[str, Any]:
        entry: dict[str, Any] = {"kind": "readings", "block": block, "request": request}
        rewards = [rewards for _, rewards, _ in episodes]
        seen = [seen for _, _, seen in episodes]
        if not pooled:
            entry["rewards"] = rewards
            return entry if self.line["route"] == "tree" else {**entry, "observations": seen}
        entry["paid"] = [[sum(x), sum(y * y for y in x)] for x in zip(*rewards, strict=True)]
        if self.line["route"] != "tree":
            sums = [[[x] for x in step] for step in zip(*seen, strict=True)]
            count = len(episodes)
            means = [self.mean(step, 0) for step in sums]
            whole = self.line["observations"]["type"] == "symbols"
            entry["observed"] = [
                [round(x * count) if whole else x * count for x in m] for m in means
            ]
        return entry


def sealed(entries: list[Any]) -> Iterator[str]:
    """The text of the lines, each with its chain."""
    digits = "0" * 64
    for entry in entries:
        text = json.dumps(entry, separators=(",", ":"))[:-1]
        digits = hashlib.sha256((digits + text).encode()).hexdigest()
        yield f'{text},"chain":"{digits}"}}\n'


# ---------------------------------------------------------------- cases


def first_line(**changes: Any) -> dict[str, Any]:
    line = {
        "kind": "machine",
        "format": "surepath proof",
        "version": 1,
        "route": "tree",
        "horizon": 2,
        "actions": 2,
        "rewards": {"low": 0, "high": 1},
        "delta": 0.1,
        "attempt": 1,
        "share": 0.0,
        "episode": "independent",
        "observations": None,
        "future": 1,
        "separation": None,
        "norm": None,
        "tolerance": 0.0,
        "gap": None,
        "plan": [0, 0],
        "states": [1, 2],
        "edges": [],
    } | changes
    line["share"] = 0.8 * 0.2 ** (line["attempt"] - 1) * line["delta"]
    return line


def founds(target: int, known: tuple[float, ...] = (0, 0.0, 0.0)) -> list[Any]:
    return ["founds", target, None, *known]


def merges(target: int, radius: float | None = None) -> list[Any]:
    return ["merges", target, radius, 0, 0.0, 0.0]


ENDS: list[Any] = ["ends", None, None, 0, 0.0, 0.0]
TOP: list[Any] = ["top", None, None, 4, 0.25, 0.25]
FORK = System(
    start=0,
    steps={(0, 0): 1, (0, 1): 2, (1, 0): 3, (1, 1): 3, (2, 0): 3, (2, 1): 3},
    pays={(0, 0): 0.9, (0, 1): 0.1, (1, 0): 0.95, (1, 1): 0.05, (2, 0): 0.2, (2, 1): 0.1},
    shows={},
)
"""Two actions, two levels, and nothing to be seen."""
NARROW = System(FORK.start, FORK.steps, FORK.pays | {(1, 0): 0.9, (2, 0): 0.1}, {}, "narrow")
NORMAL = System(FORK.start, FORK.steps, FORK.pays, {}, "normal")
TREE = [founds(0), founds(1), ENDS, ENDS, ENDS, ENDS]
NEAR = System(FORK.start, FORK.steps, FORK.pays | {(1, 1): 0.6}, {})
"""The paths by the second action are ruled out long before the other one."""
LANE = System(0, {(n, 0): n + 1 for n in range(3)}, {(0, 0): 0.5, (1, 0): 0.5}, {})


def meeting(shows: dict[int, Any], rewards: str = "coins") -> System:
    """Three levels; both first actions lead to the same state."""
    steps = {(0, 0): 1, (0, 1): 1, (1, 0): 2, (1, 1): 3}
    steps |= {(hidden, action): 4 for hidden in (2, 3, 4) for action in (0, 1)}
    pays = {(0, 0): 0.9, (0, 1): 0.1, (1, 0): 0.9, (1, 1): 0.05, (2, 0): 0.1, (2, 1): 0.95}
    return System(0, steps, pays | {(3, 0): 0.1, (3, 1): 0.05}, shows, rewards)


SYMBOLS = {1: (0.9, 0.05, 0.05), 2: (0.05, 0.9, 0.05), 3: (0.05, 0.05, 0.9), 4: (0.3, 0.3, 0.4)}
CERTAIN = {1: (1.0, 0.0, 0.0), 2: (0.0, 1.0, 0.0), 3: (0.0, 0.0, 1.0)}
FEATURES = {1: [0.2, 0.8], 2: [0.5, 0.5], 3: [0.8, 0.2]}
MEETING: dict[str, Any] = {
    "route": "separation",
    "horizon": 3,
    "plan": [0, 0, 1],
    "states": [1, 1, 2],
    "observations": {"type": "symbols", "size": 3},
    "separation": 0.7,
    "edges": [founds(0, (3, 3.0, 3.0)), merges(0), founds(0), founds(1), ENDS, ENDS, ENDS, ENDS],
}
BOUNDED = {"type": "bounded", "size": 2, "diameter": 1.5, "map": "as it is"}
NOISY = {"type": "noisy", "size": 2, "noise": 0.2, "map": 'a "map"\u2028'}
APART = [founds(0), merges(0, 0.4), *MEETING["edges"][2:]]

CASES: dict[str, tuple[dict[str, Any], System, bool, int]] = {
    "tree": (first_line(edges=TREE), FORK, False, 6),
    "tree pooled": (first_line(edges=TREE), FORK, True, 6),
    "small variance": (first_line(edges=TREE, rewards={"low": -1, "high": 2}), NARROW, False, 3),
    "closed early": (first_line(edges=TREE), NEAR, False, 6),
    "closed early within": (first_line(edges=TREE, tolerance=0.2, gap=0.1), NEAR, True, 6),
    "second attempt": (first_line(edges=TREE, attempt=2), FORK, False, 6),
    "within": (first_line(edges=TREE, tolerance=0.6), FORK, False, 2),
    "gap": (first_line(edges=TREE, tolerance=0.6, gap=0.65), FORK, False, 2),
    "noise": (first_line(edges=TREE, rewards={"noise": 0.3}), NORMAL, False, 2),
    "top": (first_line(edges=[founds(0), TOP, ENDS, ENDS], states=[1, 1]), FORK, False, 8),
    "one action": (
        first_line(actions=1, states=[1, 1], edges=[founds(0), ENDS]),
        LANE,
        False,
        3,
    ),
    "merge": (first_line(**MEETING), meeting(SYMBOLS), False, 2),
    "merge pooled": (first_line(**MEETING), meeting(SYMBOLS), True, 2),
    "shared": (first_line(**MEETING | {"episode": "shared"}), meeting(SYMBOLS), False, 2),
    "exact": (first_line(**MEETING | {"separation": "exact"}), meeting(CERTAIN), False, 2),
    "two steps": (first_line(**MEETING | {"future": 2}), meeting(SYMBOLS), False, 2),
    "two steps pooled": (
        first_line(**MEETING | {"future": 2}),
        meeting(SYMBOLS),
        True,
        2,
    ),
    "noisy": (
        first_line(**MEETING | {"observations": NOISY, "separation": 0.4}),
        meeting(FEATURES),
        False,
        2,
    ),
    "norm": (
        first_line(
            **MEETING
            | {"route": "norm", "separation": None, "norm": 0.5}
            | {"observations": BOUNDED, "edges": APART}
        ),
        meeting(FEATURES),
        False,
        4,
    ),
    "norm pooled": (
        first_line(
            **MEETING
            | {"route": "norm", "separation": None, "norm": 0.5, "gap": 0.1}
            | {"observations": BOUNDED, "edges": APART}
        ),
        meeting(FEATURES),
        True,
        4,
    ),
}


def proof(name: str, seed: int = 0) -> list[dict[str, Any]]:
    """The lines of the honest proof of a case, without their chain."""
    line, system, pooled, first = CASES[name]
    return Maker(line).make(system, seed, pooled, first)
