"""The checker accepts honest proofs, and nothing that was changed."""

from __future__ import annotations

import copy
import json
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import proofs
from places import ROOT

sys.path.insert(0, str(ROOT))
import checker  # it stands beside the package, as it is no part of it

Entries = list[dict[str, Any]]
NAMES = list(proofs.CASES)


@cache
def lines_of(name: str, seed: int = 0) -> tuple[str, ...]:
    return tuple(proofs.sealed(proofs.proof(name, seed)))


def entries_of(name: str) -> Entries:
    found = [json.loads(line) for line in lines_of(name)]
    return [{key: each[key] for key in each if key != "chain"} for each in found]


def verdict_of(entries: list[Any]) -> checker.Verdict:
    return checker.check(proofs.sealed(entries))


def refused(entries: list[Any], line: int | None = None) -> checker.Verdict:
    """The verdict about lines that are not valid, from this line on."""
    verdict = verdict_of(entries)
    assert not verdict.valid, verdict
    assert 1 <= verdict.line <= len(entries) + 1
    assert verdict.line >= (line or 1), verdict
    assert verdict.message
    assert verdict.message.isascii()
    return verdict


# ---------------------------------------------------------------- honest proofs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_an_honest_proof_is_valid(name: str, seed: int) -> None:
    """All numbers in it were computed from all paths and all episodes, one by one."""
    lines = lines_of(name, seed)
    verdict = checker.check(lines)
    assert (verdict.valid, verdict.line) == (True, 0), verdict
    end = json.loads(lines[-1])
    assert f"is {end['claim']}, it loses at most {end['tolerance']:.6g};" in verdict.message


def test_the_cases_use_what_the_format_has() -> None:
    ends = [json.loads(lines_of(name)[-1]) for name in NAMES]
    assert {end["claim"] for end in ends} == {"optimal", "within"}
    assert max(end["blocks"] for end in ends) > 2
    assert {"bounded", "noisy", "symbols"} == {
        line["observations"]["type"] for line, *_ in proofs.CASES.values() if line["observations"]
    }


def test_both_costs_of_noise_are_used() -> None:
    """Otherwise the honest proofs would not say that they are computed well."""
    costs = set[str]()
    for name in ("tree", "small variance", "shared"):
        line, system, pooled, first = proofs.CASES[name]
        maker = proofs.Maker(line)
        maker.make(system, 0, pooled, first)
        costs |= maker.costs
    assert costs == {"hoeffding", "bernstein"}


def test_edges_are_closed_one_after_the_other() -> None:
    """Paths that are ruled out are not read any more, and the last block has others."""
    for name in ("closed early", "closed early within", "shared"):
        blocks = [entry for entry in entries_of(name) if entry["kind"] == "block"]
        assert len(blocks[-1]["requests"]) < len(blocks[0]["requests"])
        assert blocks[-1]["before"]["paths"] is not None
    blocks = [entry for entry in entries_of("two steps") if entry["kind"] == "block"]
    assert (blocks[-1]["before"]["paths"], blocks[-1]["bet"]) == (None, 0.0)


def test_an_open_edge_that_is_not_read_allows_no_bet() -> None:
    """Edges are closed by the evidence, not by leaving them out."""
    entries = entries_of("closed early")
    starts = [place for place, entry in enumerate(entries) if entry["kind"] == "block"]
    del entries[starts[1]]["requests"][-1]
    del entries[starts[2] - 1]
    assert refused(entries).line == starts[1] + 1


def test_mixed_forms_of_readings_are_valid() -> None:
    """Some requests pooled and some not, as rewards of coins have exact sums."""
    raw, pooled = entries_of("merge"), entries_of("merge pooled")
    mixed = [a if place % 2 else b for place, (a, b) in enumerate(zip(raw, pooled, strict=True))]
    assert verdict_of(mixed).valid


# ---------------------------------------------------------------- changes


@pytest.mark.parametrize("name", NAMES)
def test_no_byte_can_be_changed(name: str) -> None:
    data, rng = "".join(lines_of(name)).encode(), random.Random(1)
    for _ in range(12):
        place, bit = rng.randrange(len(data)), 1 << rng.randrange(8)
        changed = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
        text = changed.decode(errors="surrogateescape")
        verdict = checker.check(text.splitlines(keepends=True))
        assert not verdict.valid
        assert verdict.line >= 1


@pytest.mark.parametrize("name", NAMES)
def test_no_line_can_be_left_out_repeated_or_moved(name: str) -> None:
    entries = entries_of(name)
    for place in range(0, len(entries), max(1, len(entries) // 4)):
        left = entries[:place] + entries[place + 1 :]
        twice = entries[: place + 1] + entries[place:]
        refused(left, place + 1 if place + 1 < len(entries) else None)
        refused(twice, place + 1)
        if place:
            swapped = [*entries[: place - 1], entries[place], entries[place - 1]]
            refused(swapped + entries[place + 1 :])
    assert refused(entries[:-1]).line == len(entries)
    assert refused([*entries, entries[-1]]).line == len(entries) + 1


Change = Callable[[Entries], object]


def of_first_line(name: str) -> Iterator[tuple[int, Change]]:
    """Changes of the machine; each with the line at which it must be seen."""
    line = proofs.CASES[name][0]
    for member, values in {
        "format": ["surepath", None],
        "version": [2, 1.0, True],
        "route": ["graph", None, ["tree"]],
        "delta": [0.2, 0, 1, -0.1, "0.1", True],
        "attempt": [line["attempt"] + 1, 0, 1.0, True],
        "share": [line["share"] * (1 + 1e-8), 0, None],
        "episode": ["dependent", None],
        "future": [0, None, -1, 1.0],
        "norm": [-1, "1"] if line["norm"] else [1.0],
        "tolerance": [-1e-12, None, True],
        "gap": [-1, 0, "0"],
        "horizon": [line["horizon"] + 1, 1, 10**15],
        "actions": [line["actions"] + 1, 10**15, 0],
        "plan": [line["plan"][:-1], [*line["plan"], 0], [line["actions"]] * line["horizon"]],
        "states": [[*line["states"], 1], [2, *line["states"][1:]], [10**15] * line["horizon"]],
        "edges": [line["edges"][:-1], [*line["edges"], line["edges"][-1]], None],
        "rewards": [{"low": 1, "high": 0}, {"low": 0}, {"noise": 0}, {"low": 0, "high": 0}, []],
        "observations": [{"type": "symbols", "size": 0}, {"type": "symbols"}, 3],
        "separation": [-1.0, 3.5, True, "near"],
    }.items():
        for value in values:
            yield 1, lambda entries, m=member, v=value: entries[0].update({m: v})
    for place, edge in enumerate(line["edges"]):
        for spot, values in {
            0: [{"founds": "top", "ends": "top"}.get(edge[0], "ends"), "leads", None],
            1: [None if edge[1] is not None else 0, 7, -1, True],
            2: [-1.0] if edge[2] else [0.5],
            3: [-1, 0.5, "1"],
            4: [99.0 + edge[3] * 99, None],
            5: [-1.0, True],
        }.items():
            for value in values:
                yield 1, lambda entries, p=place, s=spot, v=value: put(entries, v, 0, "edges", p, s)


def put(entries: Any, value: Any, *where: Any) -> None:
    *way, last = where
    for step in way:
        entries = entries[step]
    entries[last] = value


def of_blocks(name: str) -> Iterator[tuple[int, Change]]:
    entries = entries_of(name)
    last = len(entries) - 1
    for place, entry in enumerate(entries):
        if entry["kind"] != "block":
            continue
        line, bet, before, requests = place + 1, entry["bet"], entry["before"], entry["requests"]
        bets = [-bet - 1.0, bet * 1.0001 + 1e-3, "0", None]
        bets += [bet * 2**0.75, bet * 2**-0.75] if bet else [30.0]
        for value in bets:
            yield line, lambda e, p=place, v=value: e[p].update(bet=v)
        for side, found in before.items():
            value = 0.0 if found is None else found + 1e-6 * (1 + abs(found))
            yield line, lambda e, p=place, s=side, v=value: put(e, v, p, "before", s)
            yield line, lambda e, p=place, s=side: put(e, "0", p, "before", s)
        yield line, lambda e, p=place: e[p].update(block=e[p]["block"] + 1)
        for value in ([], [[[], 1]], [[[0], 0]], [[[0], 1.0]], [[[9], 1]], [[0, 1]], None):
            yield line, lambda e, p=place, v=value: e[p].update(requests=v)
        yield line, lambda e, p=place: e[p]["requests"].pop()
        yield line, lambda e, p=place: e[p]["requests"].append([[0], 1])
        yield line, lambda e, p=place: e[p]["requests"][0].append(1)
        for request in range(len(requests)):
            for more in (1, 10**15):
                yield (
                    line,
                    lambda e, p=place, r=request, n=more: put(
                        e, e[p]["requests"][r][1] + n, p, "requests", r, 1
                    ),
                )
        if len(requests) > 1 and bet:
            yield line, lambda e, p=place: e[p]["requests"].reverse()
    yield last + 1, lambda e: e[-1].update(episodes=e[-1]["episodes"] + 1)


def of_readings(name: str) -> Iterator[tuple[int, Change]]:
    entries, plan = entries_of(name), proofs.CASES[name][0]["plan"]
    requests = list[Any]()
    for place, entry in enumerate(entries):
        if entry["kind"] == "block":
            requests = entry["requests"]
        if entry["kind"] != "readings" or requests[entry["request"]][0] != plan:
            continue
        main = "paid" if "paid" in entry else "rewards"
        yield place + 1, lambda e, p=place: e[p].update(request=e[p]["request"] + 1)
        yield place + 1, lambda e, p=place: e[p].update(block=0)
        for member in {main, "observed" if main == "paid" else "observations"} & entry.keys():
            yield place + 1, lambda e, p=place, m=member: e[p][m].pop()
            yield place + 1, lambda e, p=place, m=member: e[p][m].append(e[p][m][0])
            yield place + 1, lambda e, p=place, m=member: e[p][m][0].pop()
            yield place + 1, lambda e, p=place, m=member: e[p][m][0].append(e[p][m][0][0])
            yield place + 1, lambda e, p=place, m=member: e[p].pop(m)
            for value in (None, "1", True, [1], {}, 1e99):
                yield place + 1, lambda e, p=place, m=member, v=value: put(e, v, p, m, 0, 0)
        for step in range(len(plan)):  # in their range, but others
            yield (
                place + 1,
                lambda e, p=place, m=main, s=step: put(
                    e, 0.5 + e[p][m][0][s] / 3 if m == "rewards" else [0.5, 0.3], p, m, *spot(m, s)
                ),
            )


def spot(member: str, step: int) -> tuple[int, ...]:
    return (0, step) if member == "rewards" else (step,)


def of_end(name: str) -> Iterator[tuple[int, Change]]:
    entries = entries_of(name)
    end, line = entries[-1], len(entries)
    for member, values in {
        "blocks": [end["blocks"] + 1, end["blocks"] - 1, float(end["blocks"])],
        "tolerance": [end["tolerance"] + 1e-6, end["tolerance"] - 1e-6, None],
        "claim": ["within" if end["claim"] == "optimal" else "optimal", "best", None],
        "value": [end["value"] + 1e-7, end["value"] - 1e-7, None, True],
        "episodes": [end["episodes"] - 1, True],
        "evidence": [None, {}, {"paths": 1e9, "merges": 1e9}, {"paths": None, "merges": None}],
    }.items():
        for value in values:
            if value != end[member] or type(value) is not type(end[member]):
                yield line, lambda e, m=member, v=value: e[-1].update({m: v})
    yield line, lambda e: e[-1].update(note="and more")
    yield line, lambda e: e[-1].pop("claim")


@pytest.mark.parametrize("kind", [of_first_line, of_blocks, of_readings, of_end])
@pytest.mark.parametrize("name", NAMES)
def test_no_member_can_be_changed(
    name: str, kind: Callable[[str], Iterator[tuple[int, Change]]]
) -> None:
    """Not even by somebody who makes the chain right again."""
    entries = entries_of(name)
    changes = list(kind(name))
    rng = random.Random(name)
    for line, change in rng.sample(changes, min(len(changes), 10)):
        changed = pickle.loads(pickle.dumps(entries))
        change(changed)
        if changed[-1] == entries[-1] and changed == entries:
            continue
        refused(changed, line)
    assert len(changes) > 10


@pytest.mark.parametrize("name", ["tree", "merge", "norm"])
def test_blocks_cannot_change_places(name: str) -> None:
    entries = entries_of(name)
    starts = [place for place, entry in enumerate(entries) if entry["kind"] == "block"]
    one, two = entries[starts[0] : starts[1]], entries[starts[1] : -1]
    for block, number in ((one, 2), (two, 1)):
        for entry in block:
            entry["block"] = number
    one[0]["before"], two[0]["before"] = two[0]["before"], one[0]["before"]
    assert refused([entries[0], *two, *one, entries[-1]]).line >= 2


def test_a_bad_plan_cannot_take_the_place_of_a_good_one() -> None:
    for name in NAMES:
        entries = entries_of(name)
        if entries[0]["actions"] > 1:
            entries[0]["plan"] = [1, *entries[0]["plan"][1:]]
            refused(entries)


# ---------------------------------------------------------------- what a forger might try


def test_a_tiny_share_is_compared_relatively() -> None:
    entries = entries_of("tree")
    entries[0] |= {"delta": 1e-12, "share": 9e-10}
    assert refused(entries).line == 1


def test_a_false_merge_is_not_proved() -> None:
    """Where the ends differ, a file that stops as if they were the same is refused."""
    line, system, pooled, first = proofs.CASES["merge"]
    different = copy.deepcopy(system)
    different.steps[0, 1] = 3
    with pytest.raises(AssertionError, match="nothing was proved"):
        proofs.Maker(line | {"separation": 0.7}).make(different, 0, pooled, first)
    entries = entries_of("merge")
    for entry in entries[1:]:
        for row in entry.get("observations", []):
            row[0] = 2 if entry["request"] >= 4 else row[0]
    assert refused(entries).line > 1


def test_states_farther_apart_than_possible_are_no_assumption() -> None:
    for name, most in (("merge", 1), ("two steps", 2)):
        entries = entries_of(name)
        entries[0]["separation"] = most + 0.01
        assert refused(entries).line == 1
    line = proofs.CASES["noisy"][0] | {"observations": proofs.BOUNDED, "separation": 1.51}
    assert refused([line]).line == 1
    assert refused([line | {"separation": 1.5}]).line == 2  # where the next line should be


@pytest.mark.parametrize("future", [3, 10**6])
def test_no_future_is_longer_than_the_horizon(future: int) -> None:
    """Also where nothing is merged, so that nothing else depends on it."""
    lines = proofs.proof("tree")
    assert refused([lines[0] | {"future": future}, *lines[1:]]).line == 1


def test_steps_that_share_noise_are_compared_one_by_one() -> None:
    """Two laws of two steps may be far apart, and each of the steps look alike."""
    entries = entries_of("two steps")
    entries[0]["episode"] = "shared"
    assert refused(entries).line == 1


@pytest.mark.parametrize(("low", "high"), [(1e7, 1e7 + 1), (-1e7 - 1, -1e7), (0, 0)])
def test_rewards_may_not_be_far_from_zero(low: float, high: float) -> None:
    """Their squares would have too few digits left."""
    entries = entries_of("tree")
    entries[0]["rewards"] = {"low": low, "high": high}
    assert refused(entries).line == 1


def test_symbols_have_no_norm() -> None:
    entries = entries_of("norm")
    entries[0]["observations"] = {"type": "symbols", "size": 2}
    assert refused(entries).line == 1


def test_members_stay_where_they_belong() -> None:
    """Not even if their number is right."""
    for place, name in ((1, "before"), (-1, "evidence")):
        entries = entries_of("tree")
        entries[place] |= entries[place][name] | {name: {}}
        refused(entries, place % len(entries) + 1)
    entries = entries_of("tree")
    entries[0]["rewards"] = {"low": 0, "top": 1}
    assert refused(entries).line == 1
    entries = entries_of("tree")
    entries[0]["note"] = entries[0].pop("gap")
    assert refused(entries).line == 1


def test_squares_far_from_zero_prove_nothing() -> None:
    """A small part of large squares is more than all that rewards can differ by."""
    far = {"low": 9e5, "high": 9e5 + 1}
    entries: list[Any] = [proofs.first_line(horizon=1, plan=[0], states=[1], rewards=far)]
    entries[0]["edges"] = [["ends", None, None, 100, 9e7, 8.1e13]] * 2
    proof = checker.Proof()
    proof.lines = proofs.sealed(entries)
    proof.machine(proof.take("machine", *range(22, 28)))
    total = 9e5 + 0.5
    assert not proof.possible(1, total, total * total * (1 - 5e-10))
    assert not proof.possible(2, 2 * total, 2 * total * total + 1)  # they are in one range of 1
    assert not proof.possible(1, 9e5 - 1e-6, (9e5 - 1e-6) ** 2)
    squares = total * total * (1 - 5e-15)
    assert proof.possible(1, total, squares)  # as the page says
    proof.asked = {proof.edges[0]: [1, 1, total, squares]}
    assert proof.gain(proof.edges[0], 0.5, expected=False) <= 0.5 * total


def test_a_plan_that_was_not_read_has_no_value() -> None:
    entries = entries_of("one action")
    entries[1]["requests"] = [[[0], 3]]
    entries[2]["rewards"] = [row[:1] for row in entries[2]["rewards"]]
    assert refused(entries).line == len(entries)


def test_squares_cannot_be_less_than_the_sum_allows() -> None:
    entries = entries_of("tree pooled")
    entries[-2]["paid"][0] = [5.0, 0.1]
    assert refused(entries).line == len(entries) - 1


def test_an_edge_has_no_fewer_than_no_rewards() -> None:
    entries = entries_of("tree")
    entries[0]["edges"][0][3:] = [-2, 0.0, 0.0]
    assert refused(entries).line == 1


def test_a_state_is_founded_once() -> None:
    entries = entries_of("tree")
    entries[0]["edges"][1][1] = 0
    assert refused(entries).line == 1


def test_a_merge_needs_somebody_else_who_founds_its_target() -> None:
    entries = entries_of("merge")
    entries[0]["edges"][0][0] = "merges"
    assert refused(entries).line == 1


# ---------------------------------------------------------------- hostile files


def sealed_text(*texts: str) -> list[str]:
    """Lines of any text, with a chain that is right."""
    lines, digits = list[str](), "0" * 64
    for text in texts:
        digits = checker.hashlib.sha256((digits + text).encode()).hexdigest()
        lines.append(f'{text},"chain":"{digits}"}}\n')
    return lines


def first_text(**changes: str) -> str:
    """The first line of a proof, with the text of some members replaced."""
    entry = entries_of("merge")[0]
    return "{" + ",".join(f'"{k}":{changes.get(k, json.dumps(v))}' for k, v in entry.items())


HOSTILE = {
    "nothing": [],
    "an empty line": ["\n"],
    "only a chain": sealed_text(""),
    "no JSON": sealed_text("{{"),
    "a list": ["[]\n"],
    "nested lists": sealed_text(first_text(plan="[" * 100_000 + "]" * 100_000)),
    "nested objects": sealed_text(first_text(gap='{"a":' * 50_000 + "1" + "}" * 50_000)),
    "less nested lists": sealed_text(first_text(plan="[" * 500 + "]" * 500)),
    "a text without end": sealed_text('{"a":"' + '\\"' * 300_000),
    "a huge number": sealed_text(first_text(horizon="9" * 100_000)),
    "a huge float": sealed_text(first_text(delta="1e999")),
    "a large float": sealed_text(first_text(tolerance="1e300")),
    "a tiny one": sealed_text(first_text(delta="1e-320", share="8e-321")),
    "digits": sealed_text(first_text(delta="0." + "1" * 10_000)),
    "NaN": sealed_text(first_text(tolerance="NaN")),
    "Infinity": sealed_text(first_text(tolerance="Infinity")),
    "-Infinity": sealed_text(first_text(tolerance="-Infinity")),
    "a member twice": sealed_text(first_text() + ',"delta":0.1'),
    "true for a number": sealed_text(first_text(actions="true")),
    "a huge horizon": sealed_text(first_text(horizon=str(10**15))),
    "many actions": sealed_text(first_text(actions=str(10**15))),
    "many states": sealed_text(first_text(states=f"[1,1,{10**15}]")),
    "a far future": sealed_text(first_text(future=str(10**15))),
    "a late attempt": sealed_text(first_text(attempt=str(10**15))),
    "a bad surrogate": ['{"kind":"\udcff"}\n'],
    "an escaped surrogate": sealed_text(first_text(route='"\\ud800"')),
    "tiny noise": sealed_text(
        first_text(observations='{"type":"noisy","size":1,"noise":1e-200,"map":""}')
    ),
    "a tiny range": sealed_text(first_text(rewards='{"low":0,"high":1e-200}')),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_has_a_verdict(name: str) -> None:
    verdict = checker.check(HOSTILE[name])
    assert not verdict.valid
    assert verdict.line == (2 if name == "a tiny one" else 1)
    assert verdict.message.isascii()
    assert len(verdict.message) < 2000


def test_continuations_are_not_counted_out() -> None:
    """A^(K - 1) may be more than there are atoms; nobody goes through them."""
    horizon = 400
    edges = [proofs.founds(0), proofs.merges(0)] * (horizon - 201)
    edges += [proofs.founds(0), ["top", None, None, 0, 0.0, 0.0]] * 200
    entry = proofs.first_line(
        **proofs.MEETING
        | {"horizon": horizon, "plan": [0] * horizon, "states": [1] * horizon, "future": 200}
        | {"edges": [*edges, proofs.ENDS, proofs.ENDS]}
    )
    assert refused([entry]).line == 1


def test_many_small_blocks_stay_cheap() -> None:
    """A block that does not read every edge may not bet, and costs no more than it says."""
    entry = proofs.first_line(edges=proofs.TREE)
    before = {"paths": 0.0, "merges": None}
    lines: list[Any] = [entry]
    for block in range(1, 2000):
        lines.append({"kind": "block", "block": block, "before": before, "bet": 0})
        lines[-1]["requests"] = [[[0], 1]]
        lines.append({"kind": "readings", "block": block, "request": 0, "rewards": [[1]]})
    assert refused(lines).line == len(lines) + 1


def test_bets_on_a_long_plan_are_given_up() -> None:
    """Requests of one action read all that is open but the plan, which has very many edges."""
    horizon, top = 1000, ["top", None, None, 0, 0.0, 0.0]
    edges = [proofs.founds(0), top] * (horizon - 1) + [proofs.ENDS, proofs.ENDS]
    shape = {"horizon": horizon, "plan": [0] * horizon, "states": [1] * horizon}
    lines: list[Any] = [proofs.first_line(**shape, edges=edges)]
    proof = checker.Proof()
    proof.lines = proofs.sealed(lines)
    proof.machine(proof.take("machine", *range(22, 28)))
    proof.open = dict.fromkeys([proof.edges[1], *proof.plan])
    proof.work, requests = 50_000, [[[1], 1], [[0], 1]]
    block = {"kind": "block", "block": 1, "bet": 0, "requests": requests}
    block["before"] = {"paths": 0.0, "merges": None}
    *_, text = proofs.sealed([*lines, block])
    proof.lines = iter([text])
    with pytest.raises(ValueError, match="chain"):  # of the first readings, which are not there
        proof.block(proof.take("block", 8))
    assert proof.work < 0


def test_ends_with_many_symbols_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many merges with one founder that has shown very many symbols; the work is bounded."""
    actions, many = 50, 1000
    first = [proofs.founds(0)] + [proofs.merges(0)] * (actions - 1)
    entry = proofs.first_line(
        **proofs.MEETING
        | {"horizon": 2, "actions": actions, "plan": [0, 0], "states": [1, 1]}
        | {"observations": {"type": "symbols", "size": many}}
        | {"edges": first + [proofs.ENDS] * actions}
    )
    requests = [[[0], many], *([[action], 1] for action in range(1, actions))]
    lines: list[Any] = [entry, {"kind": "block", "block": 1, "bet": 0, "requests": requests}]
    lines[1]["before"] = {"paths": 0, "merges": 0}
    for request, (_, count) in enumerate(requests):
        lines.append({"kind": "readings", "block": 1, "request": request})
        lines[-1] |= {"rewards": [[0]] * count, "observations": [[n] for n in range(count)]}
    assert "work" not in refused(lines).message
    allowed = 10_000 - 20 * len("".join(proofs.sealed(lines)))
    monkeypatch.setattr(checker.Proof, "work", allowed)
    assert "work" in refused(lines).message


def test_rewards_without_a_range_may_not_overflow() -> None:
    entries = entries_of("noise")
    for entry in entries:
        if "rewards" in entry and entry["kind"] == "readings":
            entry["rewards"] = [[x * 9e99 for x in row] for row in entry["rewards"]]
    refused(entries)


@pytest.mark.parametrize("name", ["tree", "merge", "noisy", "two steps pooled"])
def test_random_changes_of_any_value_raise_nothing(name: str) -> None:
    """Whatever stands anywhere, there is a verdict."""
    rng, entries = random.Random(7), entries_of(name)
    values = [None, True, -1, 0, 1e99, 10**15, 0.5, "", "exact", [], [[]], {}, [None], -0.0]
    for _ in range(40):
        changed = pickle.loads(pickle.dumps(entries))
        node: Any = rng.choice(changed)
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = rng.choice(keys)
            if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
                node = node[key]
                continue
            node[key] = copy.deepcopy(rng.choice(values))
            break
        verdict = verdict_of(changed)
        assert verdict.valid == (verdict.line == 0)


# ---------------------------------------------------------------- the command


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "checker.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command(tmp_path: Path) -> None:
    good, bad, binary = (tmp_path / name for name in ("good", "bad", "binary"))
    good.write_text("".join(lines_of("tree")))
    bad.write_text("".join(lines_of("tree")[:-1]))
    binary.write_bytes(b"\xff\x00\n")
    valid = run(str(good))
    assert (valid.returncode, valid.stdout[:27]) == (0, "valid: the plan is optimal,")
    short = run(str(bad))
    assert (short.returncode, short.stderr) == (1, "")
    assert short.stdout.startswith(f"line {len(lines_of('tree'))}: ")
    assert run(str(binary)).stdout.startswith("line 1: ")
    for arguments in ([], [str(tmp_path)], [str(tmp_path / "none")], ["a", "b"]):
        gone = run(*arguments)
        assert (gone.returncode, gone.stdout) == (2, "")
        assert "Traceback" not in gone.stderr


def test_the_checker_stands_alone() -> None:
    """It uses nothing but the standard library."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import checker; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT)], capture_output=True, text=True, check=True
    )
    tops = {name.partition(".")[0] for name in ran.stdout.split()} - {"checker", "__main__"}
    assert not {"surepath", "numpy", "scipy"} & tops
