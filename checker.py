"""Check the proof of a certificate: `python checker.py proof.jsonl`; sections are of docs/proof.md.

Prints what is proved, or the first line not valid and why. Nothing of surepath is used.
"""

import hashlib
import json
import math
import re
import sys
from collections import Counter, namedtuple
from itertools import accumulate

Verdict = namedtuple("Verdict", "valid line message")  # line: the first that is not valid, or 0
Edge = type("Edge", (), {"sign": -1, "evidence": 0.0})  # the rest: see Proof.graph


def need(fine: object, found: object, should: str) -> None:
    if not fine:
        raise ValueError(f"found {ascii(found)[:90]}, should be {should}")


def whole(value: object, least: int = 0) -> int:
    need(type(value) is int and value >= least, value, f"a whole number from {least}")
    return value


def table(value: list[list], rows: int, columns: int) -> list[list]:
    need(len(value) == rows and {*map(len, value)} <= {columns}, value, f"{rows} of {columns} each")
    return value


def same(found: dict, **own: object) -> None:
    """Compare what can be derived; see the last words of section "The end"."""
    for name, value in own.items():
        near = (
            type(value) is float and abs(found[name] - value) <= 1e-9 * (1 + abs(value)) < math.inf
        )
        fine = near or (type(found[name]) is type(value) is not float and found[name] == value)
        need(fine, found[name], f"{value} as {name}, by what was read")


class Proof:
    """What follows from the lines so far; the members of the first line are attributes."""

    place, before, number, episodes, bets, loss, work = 0, "0" * 64, 0, 0, 0.0, 0.0, 10**6

    def take(self, kind: str, *sizes: int) -> dict:
        """Section "Lines". All members are used, so none is unknown if their number is right."""
        self.place, line = self.place + 1, next(self.lines, "")
        text, _, tail = line.removesuffix("\n").rpartition(',"chain":"')
        digits = hashlib.sha256((self.before + text).encode()).hexdigest()
        need(tail == digits + '"}', tail, f"a line of kind {kind} that ends with its chain")
        entry, self.work = json.loads(line), self.work + 20 * len(line)  # steps that may be taken
        bare = re.sub(r'"[^"\\]*(?:\\.[^"\\]*)*"', "", line)  # without the texts in it
        odd = re.search(r"true|false|NaN|Infinity|\d{27}|[eE]\+?\d{3}", bare)
        self.before, self.members = entry["chain"], bare.count(":")
        fine = entry["kind"] == kind and self.members in sizes and not odd and self.work > 0
        need(fine, odd or [*entry], f"{kind}, its members, plain numbers and not too much work")
        return entry

    def machine(self, line: dict) -> None:
        """Section "The first line"."""
        vars(self).update(line)
        same(line, format="surepath proof", version=1)
        self.ranged, r = "low" in self.rewards, self.rewards  # R = 2 s and v = s^2 without a range
        self.low, self.high = (r["low"], r["high"]) if self.ranged else (-r["noise"], r["noise"])
        self.width, self.needed = self.high - self.low, -math.log(self.share)  # R, L
        share = 0.8 * 0.2 ** (whole(self.attempt, 1) - 1) * self.delta
        fine = 0 < self.delta < 1 and abs(self.share - share) <= 1e-9 * share and self.width > 1e-99
        fine = fine and self.tolerance >= 0 and (self.gap is None or self.gap > 0)
        fine = fine and max(abs(self.low), abs(self.high)) <= 1e6 * self.width
        need(fine, self.share, "a share, and rewards, tolerance and gap, as they can be")
        self.observed(self.observations, self.separation, self.route, whole(self.future, 1))
        self.graph(self.states, whole(self.actions, 1), whole(self.horizon, 1))
        self.plan, self.open = [*self.walk(self.plan)], dict.fromkeys(self.edges)
        need(len(self.plan) == self.horizon >= self.future, line["plan"], "H actions, H >= K")
        for edge in self.plan:
            edge.sign = 1  # as only `ours` counts, and elsewhere only `theirs`
        self.paths, self.merges = None if self.actions == 1 else 0.0, 0.0 if self.many else None
        self.windows, self.apart, self.along = {}, {}, {}

    def observed(self, seen: dict | None, e: float | str | None, route: str, k: int) -> None:
        """How ends are compared. States farther apart than K diameters do not exist."""
        kind, kinds = seen and seen["type"], {"tree": [None], "norm": ["bounded", "noisy"]}
        fine = kind in (kinds | {"separation": ["symbols", *kinds["norm"]]})[route]
        need(fine and (kind in (None, "symbols") or type(seen["map"]) is str), seen, "of a type")
        self.symbols, self.size = kind == "symbols", whole(seen["size"], 1) if kind else 0
        diameter = seen["diameter"] if kind == "bounded" else 1
        noise, most = (seen["noise"], math.inf) if kind == "noisy" else (diameter / 2, diameter)
        self.spread, alone = noise**2 * k, {"independent": k, "shared": 1}[self.episode]  # c
        members = 22 + self.ranged + {None: 0, "symbols": 2}.get(kind, 4)
        fine = (alone, self.members) == (k, members)
        fine = fine and (e is None, self.norm is None) == (route != "separation", route != "norm")
        fine = fine and (self.symbols if e == "exact" else e is None or 0 < e <= most * k)
        need(fine and noise > 1e-99 and (self.norm is None or self.norm > 0), e, "by the route")

    def graph(self, states: list[int], actions: int, h: int) -> None:
        """The machine. States and edges are numbered through all levels; paths end at None."""
        fine = len(states) == h and min(map(whole, states)) == states[0] == 1
        need(fine, states, "numbers of states of H levels, 1 at level 0")
        entries, after = table(self.edges, sum(states) * actions, 6), [*accumulate(states)]
        self.edges, lefts = [], [h - x for x, n in enumerate(states) for _ in range(n * actions)]
        for left, (role, target, radius, *known) in zip(lefts, entries, strict=True):
            leads, near = role in ("founds", "merges"), role == "merges" and self.route == "norm"
            deep = self.size > 0 and self.future < min(left, 64)  # else: too many continuations
            roles = ["founds", *["top"] * self.ranged, *["merges"] * deep]
            fine = role in (roles if left > 1 else ["ends"]) and self.possible(*known)
            fine = fine and (whole(target) < states[1 - left] if leads else target is None)
            need(fine and (radius > 0 if near else radius is None), role, "an edge that can be")
            edge, state = Edge(), after[-left] + target if leads else None
            edge.level, edge.source, edge.target = h - left, len(self.edges) // actions, state
            edge.role, edge.radius, edge.known, edge.read = role, radius, known, [0, 0.0, 0.0]
            edge.extra = self.norm * radius if near else self.high * (left - 1) * (role == "top")
            self.edges.append(edge)
        roles = Counter(edge.role for edge in self.edges)
        self.founder = {edge.target: edge for edge in self.edges if edge.role == "founds"}
        need(roles["founds"] == len(self.founder) == sum(states) - 1, roles, "one founder each")
        self.many = roles["merges"] * actions ** min(self.future - 1, 64)  # with continuations

    def possible(self, n: int, total: float, squares: float) -> bool:
        """Whether n rewards can have this sum and these squares; section "Blocks"."""
        low, high, slack = self.low, self.high, 1e-8 * self.width
        if whole(n) == 0 or squares * (1 + 1e-14) + n * slack * self.width < total * total / n:
            return n == total == squares == 0
        most = (low + high) * total - n * low * high + n * slack * self.width
        fine = n * (low - slack) <= total <= n * (high + slack)
        return not self.ranged or (fine and squares * (1 - 1e-14) <= most)

    def walk(self, taken: list[int]):
        """Section "Which edge a reading belongs to"."""
        fine, state = type(taken) is list and 1 <= len(taken) <= self.horizon, 0
        need(fine and max(map(whole, taken)) < self.actions, taken, "1 to H actions below A")
        for action in taken:
            if state is not None:
                yield (edge := self.edges[state * self.actions + action])
                state = None if edge.radius else edge.target

    def block(self, line: dict) -> bool:
        """Section "Blocks"; and the bet, which no other on the list may beat."""
        self.number, self.asked, bet, requests = self.number + 1, {}, line["bet"], line["requests"]
        same(line, block=self.number)
        same(line["before"], paths=self.paths, merges=self.merges)
        for taken, count in table(requests, max(1, len(requests)), 2):
            self.episodes += whole(count, 1)
            for edge in self.walk(taken):
                n, g, *_ = self.asked.get(edge, (0, 0))
                self.asked[edge] = [n + count, g + count * len(taken), 0.0, 0.0]
        bets = [bet, 0.0, *(self.needed / self.width * 2 ** (k / 4) for k in range(-24, 61))]
        fine = any(abs(bet - each) <= 1e-9 * each for each in bets[1:])
        ready = self.paths is not None and all(x in self.asked for x in self.open if x.sign < 0)
        need(fine and (ready or bet == 0), bet, "on the list, 0 if edges are unread")
        if ready:
            own = [min(self.through(x).values()) + self.tolerance * (x + self.bets) for x in bets]
            need(own[0] >= max(own) - 1e-6 * (1 + abs(max(own))), bet, "the bet that promises most")
        for request, (taken, count) in enumerate(requests):
            self.readings(request, taken, count)
        return self.close(bet)

    def through(self, bet: float) -> dict[Edge, float]:
        """The least evidence against an open path by each open edge, as expected with this bet."""
        unread, asked, self.work = bet and -math.inf, self.asked, self.work - len(self.open)
        value = {x: x.evidence + (self.gain(x, bet) if x in asked else unread) for x in self.open}
        skipped = [*accumulate((value[x] for x in self.plan[::-1]), initial=0.0)][::-1]
        fore, rest, weight, inf = {0: 0.0}, {None: 0.0}, {}, math.inf  # least to and from a state
        for x in self.open:  # who takes it skips one of the plan, and behind a `top` all
            skips = skipped[x.level] if x.role == "top" else value[self.plan[x.level]]
            weight[x] = value[x] + skips if x.sign < 0 else 0.0
            fore[x.target] = min(fore.get(x.target, inf), fore.get(x.source, inf) + weight[x])
        for x in reversed(self.open):
            weight[x] += rest.get(x.target, inf)
            rest[x.source] = min(rest.get(x.source, inf), weight[x])
        return {x: fore.get(x.source, inf) + weight[x] for x in self.open if x.sign < 0}

    def gain(self, edge: Edge, bet: float, expected: bool = True) -> float:
        """What a block adds to the evidence of an edge: `ours` on the plan, else `theirs`."""
        (n, g, total, squares), (known, s, q) = self.asked[edge], edge.known
        square, shared, pull = self.width**2, self.episode == "shared", bet * self.width / n
        mu = s / known if known else (self.low + self.high) / 2
        mu = min(max(mu, self.low), self.high) if self.ranged else mu
        w = ((max(0.0, q - s * s / known) if known else 0.0) + square / 4) / (known + 1)
        c = max(squares - 2 * mu * total + n * mu * mu, (total - n * mu) ** 2 / n)  # if rounded
        mean, c = (mu, n * w) if expected else (total / n, c)
        cost = bet * bet * square / 8 * (g if shared else n) / n**2  # hoeffding
        if self.ranged and not shared and pull < 1:
            psi = -math.log1p(-pull) - pull
            cost = psi * c / square if psi * n * w / square < cost else cost  # bernstein
        return bet * (edge.sign * mean - edge.extra) - cost

    def readings(self, request: int, taken: list[int], count: int) -> None:
        """Section "Blocks": what was read goes to the edges that the request walks through."""
        line = self.take("readings", 6 if self.size else 5)
        same(line, block=self.number, request=request)
        paid, seen = self.pooled(line, count, len(taken), min(len(taken), self.horizon - 1))
        for edge, (total, squares) in zip(self.walk(taken), paid, strict=False):
            self.asked[edge][2:] = self.asked[edge][2] + total, self.asked[edge][3] + squares
            last = edge.level + self.future
            if self.many and last <= len(seen):
                key = edge, *taken[edge.level + 1 : last]
                window = self.windows.setdefault(key, [Counter() for _ in range(self.future + 1)])
                for own, step in zip(window, [*seen[edge.level : last], {0: count}], strict=True):
                    own.update(step)

    def pooled(self, line: dict, count: int, size: int, steps: int) -> tuple[list, list[dict]]:
        """Sums and squares of rewards; at each observed step counts of symbols, or sums."""
        if "paid" in line:
            paid = table(line["paid"], size, 2)
            fine = all(self.possible(count, *pair) for pair in paid)
            seen = table(line["observed"], steps, self.size) if self.size else []
            seen = [dict(enumerate(map(whole, x) if self.symbols else x)) for x in seen]
        else:
            rows = table(line["rewards"], count, size)
            paid = [(math.fsum(x), math.fsum(y * y for y in x)) for x in zip(*rows, strict=True)]
            fine = not self.ranged or all(self.low <= x <= self.high for row in rows for x in row)
            rows = table(line["observations"], count, steps) if self.size else []
            seen = [[*x] for x in zip(*rows, strict=True)]
            if not self.symbols:
                seen = [zip(*table(x, count, self.size), strict=True) for x in seen]
                seen = [dict(enumerate(map(math.fsum, x))) for x in seen]
        for x in (seen := [Counter(x) for x in seen]):
            n = sum(x.values())
            fine &= n == count and max(map(whole, x)) < self.size if self.symbols else n < math.inf
        need(fine, line, f"rewards in their range, {count} symbols below {self.size}, or features")
        return paid, seen

    def close(self, bet: float) -> bool:
        """Add up what the block has shown; section "What is ruled out"."""
        for edge, (n, _, total, squares) in self.asked.items():
            edge.evidence += self.gain(edge, bet, False)
            need(abs(edge.evidence) < 1e200, edge.evidence, "evidence of usual size")
            for old in (edge.known, edge.read):
                old[:] = old[0] + n, old[1] + total, old[2] + squares
        self.bets, found = self.bets + bet, self.through(0.0) if bet else {}
        for edge, x in found.items():
            if x + self.tolerance * self.bets >= self.needed:
                self.loss = max(self.loss, (self.needed - x) / self.bets)
                del self.open[edge]
        left = [x for edge, x in found.items() if edge in self.open]
        self.paths = min(left, default=None) if bet else self.paths
        self.merges = self.merged() if self.many else None
        return self.paths is None and (self.merges is None or self.merges >= self.needed)

    def merged(self) -> float:
        """Section "Evidence for merges": G."""
        for key, ours in self.windows.items():
            need(self.work > 0, key[1:], "less work than that for a file of this size")
            theirs = self.windows.get((self.founder.get(key[0].target), *key[1:]))
            if key[0].role == "merges" and theirs:
                self.along[key] = self.alike(key, ours, theirs)
        self.windows = self.windows if self.separation == "exact" else {}
        self.work -= len(self.along) + len(self.windows)
        return min(self.along.values()) if len(self.along) == self.many else 0.0

    def alike(self, key: tuple, ours: list[Counter], theirs: list[Counter]) -> float:
        """The evidence of a merge along a continuation, by windows there and at the founder."""
        n, m, pairs = ours[-1][0], theirs[-1][0], [*zip(ours, theirs, strict=True)]
        apart = self.apart.setdefault(key, [Counter() for _ in ours])  # W for each step, then M
        self.work -= sum(map(len, [*ours, *theirs, *apart]))
        if self.separation == "exact":
            return self.needed * all(len(a + b) == 1 for a, b in pairs)
        for w, (a, b) in zip(apart, pairs, strict=True):
            for x in {**a, **b}:
                w[x] += (a[x] * m - b[x] * n) / (n + m)
        apart[-1][0] += n * m / (n + m)
        *steps, (weight,) = [[*w.values()] for w in apart]
        d = sum(sum(map(abs, w)) / 2 if self.symbols else math.hypot(*w) for w in steps) / weight
        e, c = key[0].radius or self.separation, self.spread
        bet = 0.65 * e / c
        return max(self.along.get(key, 0.0), bet * weight * (e - d) - bet * bet * c * weight / 2)


def check(lines) -> Verdict:
    """Read the lines of a proof, up to the first that is not valid; section "The end"."""
    proof, proof.lines = Proof(), iter(lines)
    try:
        proof.machine(proof.take("machine", *range(22, 28)))
        while not proof.block(proof.take("block", 8)):
            pass
        line, value = proof.take("end", 10), sum(x.read[1] / x.read[0] for x in proof.plan)
        claim = "optimal" if proof.loss == 0 or proof.loss < (proof.gap or 0) else "within"
        same(line["evidence"], paths=None, merges=proof.merges)
        same(line, blocks=proof.number, episodes=proof.episodes, tolerance=proof.loss)
        same(line, claim=claim, value=value)
        proof.place, more = proof.place + 1, next(proof.lines, None)
        need(more is None, more, "the end of the file")
    except Exception as error:
        return Verdict(False, proof.place, ascii(error)[:300])
    words = f"the plan is {claim}, it loses at most {proof.loss:.6g}; an honest run errs"
    return Verdict(True, 0, f"{words} with probability <= {proof.delta}, given line 1")


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            verdict = check(file)
    except (OSError, IndexError) as error:
        sys.exit(print("usage: python checker.py proof.jsonl;", ascii(error), file=sys.stderr) or 2)
    print("valid" if verdict.valid else f"line {verdict.line}", verdict.message, sep=": ")
    sys.exit(not verdict.valid)
