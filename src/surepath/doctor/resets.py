"""Does an episode leave something behind for the next one?"""

from __future__ import annotations

from surepath.doctor.finding import Finding, Verdict
from surepath.doctor.pilot import Pilot
from surepath.inference.independence import normal_tail, standardised
from surepath.inference.succession import Succession
from surepath.inference.tuning import TUNING

CLEAN = "resets leave nothing behind"


def clean(pilot: Pilot) -> Finding:
    """Of each request, every episode is held against the next: what is read, and what is paid."""
    succession, first = Succession(), 0
    for told in pilot.told:
        block = slice(first, first + told.count)
        for step in range(pilot.call.horizon):
            rewards = standardised(pilot.rewards[block, step : step + 1])
            succession.add(step, standardised(pilot.rows[step][block]), rewards)
        first += told.count
    tests = {
        (what, step): resemblance
        for what, kind in (("paid", succession.rewards), ("read", succession.readings))
        for step, resemblance in kind.items()
        if resemblance.variance > 0
    }
    if not tests:
        return Finding(CLEAN, "nothing scatters: there is no noise that could last")
    (what, step), worst = max(tests.items(), key=lambda each: each[1].score)
    alike = f"what is {what} at step {step}, in an episode and the one before"
    alike += f" (correlation {worst.correlation:.2f})"
    data = {f"{what} {step}": each.correlation for (what, step), each in tests.items()}
    chance = min(1.0, len(tests) * normal_tail(worst.score))
    verdict = Verdict.of(chance)
    if verdict is Verdict.HOLDS or not worst.beyond(TUNING.dependence_warning):
        return Finding(CLEAN, f"most alike: {alike}", chance=chance, data=data)
    return Finding(
        CLEAN,
        alike,
        verdict,
        chance,
        "Find what lasts from one episode to the next (warmth, a cache, a connection) and bring it "
        "to the same condition before each; or make each episode the mean of several that are "
        "apart in time.",
        data,
    )
