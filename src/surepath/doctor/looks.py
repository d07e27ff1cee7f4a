"""What readings show of the hidden states: noise, how many there are, how far apart, aliases."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from surepath.doctor.finding import Finding, Verdict
from surepath.doctor.pilot import ROUNDS, Pilot
from surepath.inference.alias import going_on
from surepath.inference.comparison import Comparison
from surepath.inference.same_law import samples_of
from surepath.inference.separation import Separation, as_total_variation
from surepath.inference.states import Automaton, Shape, derive
from surepath.inference.terms import EXACT, SEPARATION, Terms
from surepath.inference.tuning import TUNING
from surepath.prepare.call import PROVED, Call
from surepath.prepare.future import rank
from surepath.prepare.resolved import Resolved
from surepath.prepare.terms import terms_of
from surepath.readings.trie import Tally
from surepath.system import Actions, FloatArray, IntArray

READ_OFTEN = 64
"""Readings of a state from which its distance to others is measured."""

NOISE, STATES, ALIAS = "noise of readings", "states and their separation", "no aliasing"
ONE_NODE = np.zeros((1, 1), dtype=np.int64)


def terms_of_pilot(pilot: Pilot) -> Terms:
    """The terms of the calibrated run that would follow; exact where the readings are."""
    call = replace(pilot.call, guarantee=Call.guarantee, norm=None)
    return terms_of(call, Resolved(pilot.features, ""), pilot.features, 1)


def machine_of(pilot: Pilot, terms: Terms) -> Automaton:
    return derive(pilot.pooled[0], terms.shape, terms.merge_test)


def likely_machine(pilot: Pilot) -> Automaton:
    """Sorted by Bayes factors alone: what is rarely read is put where it most likely belongs."""
    return machine_of(pilot, replace(terms_of_pilot(pilot), separation=None, guarantee=PROVED))


def states_of(pilot: Pilot, machine: Automaton) -> list[IntArray]:
    """The state of every episode at each level, [H][n]."""
    found = list[IntArray]()
    for level, layer in enumerate(machine.layers):
        of = {node.prefix: state for state, nodes in enumerate(layer.members) for node in nodes}
        labels = np.zeros(pilot.episodes, dtype=np.int64)
        for group in pilot.groups(level):
            labels[group] = of[tuple(int(a) for a in pilot.actions[group[0], :level])]
        found.append(labels)
    return found


def noise(pilot: Pilot) -> Finding:
    """Whether the same actions always give the same readings."""
    declared = pilot.call.separation == EXACT
    if pilot.exact:
        remedy = "" if declared else 'Say separation="exact": nothing is read twice then.'
        return Finding(
            NOISE, "readings are exact: the same actions always gave the same", remedy=remedy
        )
    if declared:
        return Finding(
            NOISE,
            "readings were declared exact, and the same actions gave different ones",
            Verdict.BROKEN,
            0.0,
            "Give a number as separation; if the sensor has no noise, see whether the path forks.",
        )
    return Finding(NOISE, "readings are noisy; they are averaged")


# ---------------------------------------------------------------- states


def states(pilot: Pilot) -> Finding:
    """How many states were seen, how far apart those are that were read often, and the rank."""
    terms = terms_of_pilot(pilot)
    machine = machine_of(pilot, terms)
    seen = [len(layer.members) for layer in machine.layers]
    ranks = [_rank(pilot, step) for step in range(pilot.call.horizon)]
    data: dict[str, Any] = {"states": seen, "ranks": ranks}
    words = f"states seen by level {_list(seen)}, rank of their embeddings {_list(ranks)}"
    if pilot.exact:
        return Finding(STATES, words, data=data)
    nearest = _nearest(machine, terms.shape)
    data["nearest"] = nearest
    said = pilot.call.declared_separation
    if nearest is None or not isinstance(said, float):
        return Finding(STATES, f"{words}; no two of a level were read often enough", data=data)
    supported = max(0.01, np.floor(100 * nearest) / 100)
    words += f"; the nearest are {nearest:.2g} apart, as a total variation"
    remedy = ""
    if nearest < said:
        remedy = f"Say separation={supported:.2g}: some states seem closer than {said:g}."
    elif nearest > 1.5 * SEPARATION:
        remedy = (
            f"separation={supported:.2g} would cost less, if no state that the pilot has not seen "
            "is closer to another."
        )
    return Finding(STATES, words, remedy=remedy, data=data)


def _list(numbers: list[int]) -> str:
    return " ".join(map(str, numbers[:12])) + (" ..." if len(numbers) > 12 else "")


def _nearest(machine: Automaton, shape: Shape) -> float | None:
    """The least distance between two states of a level, as a total variation."""
    found = list[float]()
    for layer in machine.layers[1:]:
        several = len(layer.prefixes)
        if not several:
            continue
        samples, kind = samples_of(
            [layer.here], (several, 1), shape.dimension, symbols=shape.symbols
        )
        often = kind.counts(samples)[:, 0] >= READ_OFTEN
        found += _distances(samples[often], kind, symbols=shape.symbols)
    if not found:
        return None
    return min(found) if shape.symbols else as_total_variation(min(found))


def _distances(samples: FloatArray, kind: Comparison, *, symbols: bool) -> list[float]:
    """Between all pairs, less what noise adds to a squared distance on average."""
    found = list[float]()
    for i in range(len(samples) - 1):
        apart = kind.apart(samples[i : i + 1], samples[i + 1 :], ONE_NODE)
        directions = 1.0 if symbols else np.where(apart.freedom > 0, apart.freedom, 1)
        excess = apart.distance**2 - directions * apart.variance
        found += np.sqrt(np.maximum(excess, 0.0)).ravel().tolist()
    return found


def _rank(pilot: Pilot, step: int) -> int:
    """Of the embeddings of a level, above the noise between the rounds."""
    groups = [each for each in pilot.groups(step) if len(each) >= 2 * ROUNDS]
    if not groups:
        return 0
    rows = pilot.rows[step]
    estimates = [[rows[part].mean(axis=0) for part in np.array_split(g, ROUNDS)] for g in groups]
    return rank(np.array(estimates).swapaxes(0, 1))


# ---------------------------------------------------------------- aliases


def aliases(pilot: Pilot) -> Finding:
    """Whether prefixes that look alike go on alike."""
    terms = terms_of_pilot(pilot)
    if pilot.exact:
        found = _exact_aliases(pilot)
        if found.verdict is not Verdict.HOLDS:
            return found
        terms = replace(terms, separation=EXACT)
    test = terms.merge_test
    assert test is not None  # of a calibrated run
    machine = machine_of(pilot, terms)
    alias = going_on(machine, terms.shape, test).alias
    if alias is not None:
        future = alias.step - len(alias.prefix) + 1
        return _aliased(alias.prefix, alias.others, future, str(alias), TUNING.consistency_alarm)
    chance, prefix, others = _paid_differently(machine, test)
    if Verdict.of(chance) is not Verdict.HOLDS:
        words = f"prefixes that look alike pay differently, such as {prefix} and {others}"
        return _aliased(prefix, others, None, words, chance)
    merged = sum(
        int((layer.sorting.merges.tested & (layer.sorting.merges.evidence >= test.evidence)).sum())
        for layer in machine.layers
        if layer.sorting is not None
    )
    words = f"{merged} places look like another one, and go on and pay like it"
    return Finding(ALIAS, words, Verdict.HOLDS, chance)


def _aliased(
    prefix: Actions, others: Actions, future: int | None, words: str, chance: float
) -> Finding:
    remedy = (
        "Other features may tell them apart, or a longer future= (by default a run looks "
        "further ahead by itself)."
        if future is None
        else f"future={future} tells them apart (by default a run looks further ahead by itself); "
        "or show the system in more detail, and choose features that see it."
    )
    data = {"prefix": list(prefix), "others": list(others), "future": future}
    return Finding(ALIAS, words, Verdict.of(chance), chance, remedy, data)


def _paid_differently(machine: Automaton, test: Separation) -> tuple[float, Actions, Actions]:
    """The least chance, over all merges that are settled, that the same action pays alike."""
    found: list[tuple[float, Actions, Actions]] = [(1.0, (), ())]
    for layer, below in zip(machine.layers, machine.layers[1:], strict=False):
        sorting = layer.sorting
        if sorting is None:
            continue
        for i in np.flatnonzero(sorting.merges.tested).tolist():
            state, action = sorting.edges[i]
            if sorting.merges.evidence[i] < test.evidence:
                continue
            ends = [n.children[action] for n in layer.members[state] if action in n.children]
            rest = [n for n in below.members[int(sorting.labels[i])] if n not in ends]
            found += _compared(ends, rest, machine.n_actions)
    chance, prefix, others = min(found)
    return min(1.0, chance * (len(found) - 1 or 1)), prefix, others


def _compared(ends: list[Any], rest: list[Any], n_actions: int) -> list[Any]:
    from scipy.stats import ttest_ind_from_stats

    found = list[Any]()
    for action in range(n_actions):
        sides = [
            [n.children[action] for n in side if action in n.children] for side in (ends, rest)
        ]
        mine, theirs = (_tally(side) for side in sides)
        if min(mine[0], theirs[0]) < READ_OFTEN / 2:
            continue
        spread = [max(each[2], 1e-12) ** 0.5 for each in (mine, theirs)]
        tested: Any = ttest_ind_from_stats(
            mine[1], spread[0], mine[0], theirs[1], spread[1], theirs[0], equal_var=False
        )
        found.append((float(tested.pvalue), sides[0][0].prefix[:-1], sides[1][0].prefix[:-1]))
    return found


def _tally(nodes: list[Any]) -> tuple[int, float, float]:
    """Number, mean and variance of the rewards that lead to these nodes."""
    total = Tally()
    for node in nodes:
        total.add(node.rewards)
    # One more reading, half a range away: few equal rewards do not make a certain mean.
    variance = (total.scatter + 0.25) / max(1, total.count - 1)
    return total.count, total.mean, variance


def _exact_aliases(pilot: Pilot) -> Finding:
    """Of readings without noise: equal ones must be followed by equal ones."""
    horizon = pilot.call.horizon
    sequences = np.unique(pilot.actions, axis=0, return_index=True)[1]
    seen = [[pilot.observations[i, step].tobytes() for step in range(horizon)] for i in sequences]
    acted = [tuple(int(a) for a in pilot.actions[i]) for i in sequences]
    worst: tuple[int, Actions, Actions] | None = None
    for level in range(1, horizon):
        alike = defaultdict[bytes, list[int]](list)
        for i, each in enumerate(seen):
            alike[each[level]].append(i)
        for several in alike.values():
            for i in several:
                for j in several:
                    found = _differ(acted[i], acted[j], seen[i], seen[j], level) if i < j else 0
                    if found and (worst is None or found > worst[0]):
                        worst = found, acted[i][:level], acted[j][:level]
    if worst is None:
        return Finding(ALIAS, "equal readings are followed by equal ones", Verdict.HOLDS, 1.0)
    future, prefix, others = worst
    words = (
        f"after {prefix} and after {others} the readings are the same, and what follows the same "
        f"actions differs {future - 1} steps later"
    )
    return _aliased(prefix, others, future, words, 0.0)


def _differ(
    one: Actions, other: Actions, mine: list[bytes], theirs: list[bytes], level: int
) -> int:
    """Observations from the level on that it takes to tell these apart; 0 where nothing does."""
    for step in range(level + 1, len(mine)):
        if one[step - 1] != other[step - 1]:
            return 0
        if mine[step] != theirs[step]:
            return step - level + 1
    return 0
