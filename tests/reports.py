"""Runs whose pages tests look at."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import surepath
from surepath.readings.digests import Cloud
from surepath.readings.record import record_of
from surepath.readings.trie import Node, Tally

HOSTILE = (
    "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>\"'&amp;"
    "\x1b[31m\x00\u202eabc\u2066\u2028" + "long " * 2000
)
"""A name that would run, paint, turn the text around, or flood the page."""

TEXTS = ("claim", "reason")
LISTS = ("assumptions", "notes", "warnings", "doubts")


def hostile_result(path: Path) -> Path:
    """A saved result of which every text is hostile."""
    result = surepath.learn(surepath.make("lock", horizon=3, actions=3))
    data = result.saved()
    for name in TEXTS:
        data["certificate"][name] = HOSTILE
    for name in LISTS:
        data["certificate"][name] = [HOSTILE, HOSTILE]
    data["certificate"]["guarantee"] = HOSTILE
    data["call"]["system"] = {"problem": HOSTILE, HOSTILE: HOSTILE}
    data["call"]["features"] = HOSTILE
    path.write_text(json.dumps(data))
    return path


@cache
def of_many_prefixes() -> surepath.Result:
    """A result with twenty thousand prefixes, of which no two are taken for one state."""
    problem = surepath.make("tabular", horizon=3, actions=4, states=4, observations=6)
    result = surepath.learn(problem, guarantee="proved", budget=60)
    terms = result.certificate.terms
    assert terms is not None
    shape = replace(terms.shape, horizon=8)
    certificate = replace(result.certificate, terms=replace(terms, shape=shape))
    root, rng = Node(), np.random.default_rng(0)
    level = [root]
    for _ in range(shape.horizon + 1):
        for node in level:
            count = int(rng.integers(8, 400))
            paid = int(rng.binomial(count, rng.random()))
            node.rewards = Tally(count, float(paid), paid * (1 - paid / count))
            node.digest = Cloud(count, np.zeros(shape.dimension), np.zeros(shape.dimension))
        level = [node.child(action) for node in level for action in range(4)]
    for node in level:  # below the last level there is nothing
        assert node.parent is not None
        node.parent.children.clear()
    root.rewards = Tally()
    return replace(result, certificate=certificate, record=record_of(root))
