"""What was asked for, checked before anything else. Defaults stand here and nowhere else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from surepath.builtin_problems import Problem
from surepath.errors import InputError
from surepath.inference.guarantee_widths import known_guarantee
from surepath.inference.terms import EXACT, SEPARATION
from surepath.journal.identity import configuration, declared_by
from surepath.learners.base import check_returns, sound
from surepath.prepare.given import Given
from surepath.prepare.systems import system_of
from surepath.system import Declared, Readings, System
from surepath.theory.schedule import SCHEDULES, Schedule
from surepath.validate import between, nearest, whole

ADAPTIVE, PROVED = "adaptive", "proved"

MOST_AT_ONCE = 2**20
"""Episodes that can be said to run at once: more than any cluster runs."""

Future: TypeAlias = int | Literal["auto"]


@dataclass(frozen=True, kw_only=True)  # without slots, so that `Call.delta` is the default
class Call:
    """The arguments of `learn` that decide what is found; see there for what each means."""

    system: System
    horizon: int
    features: object = "auto"
    future: Future | None = None
    schedule: str | Schedule = ADAPTIVE
    guarantee: str = "calibrated"
    delta: float = 0.05
    gap: float | None = None
    tolerance: float | str | None = None
    separation: float | Literal["exact"] | None = None
    predict: bool = True
    norm: float | None = None
    reward_range: tuple[float, float] = (0.0, 1.0)
    return_range: tuple[float, float] | None = None
    data: Given | None = None
    budget: int | None = None
    at_once: int = 1
    seed: int = 0

    @classmethod
    def of(cls, env: object, horizon: int | None = None, **options: Any) -> Call:
        """The call for whatever stands for a system, with its own horizon unless one is given."""
        system = system_of(env, horizon)
        longest = whole("the system's horizon", system.horizon, least=1)
        levels = longest if horizon is None else whole("horizon", horizon, least=1, most=longest)
        data = options.pop("data", None)
        given = None if data is None else Given.of(data, system, levels)
        return cls(system=system, horizon=levels, data=given, **options)

    def __post_init__(self) -> None:
        between("delta", self.delta, 0, 1)
        whole("seed", self.seed, least=0)
        if self.budget is not None:
            whole("budget", self.budget, least=1)
        whole("at_once", self.at_once, least=1, most=MOST_AT_ONCE)
        if self.future not in (None, "auto"):
            whole("future", self.future, least=1)
        for name, value in (("gap", self.gap), ("norm", self.norm)):
            if value is not None:
                between(name, value, 0, math.inf)
        if self.separation not in (EXACT, None):
            between("separation", self.separation, 0, 1)
        _check_tolerance(self.tolerance, self.gap)
        _check_range(self.reward_range)
        self._check_schedule()
        self._check_returns()
        self._check_data()
        self._check_at_once()

    def _check_schedule(self) -> None:
        if isinstance(self.schedule, str) and self.schedule not in (ADAPTIVE, *SCHEDULES):
            raise InputError(
                f"there is no schedule {self.schedule!r}",
                got=repr(self.schedule),
                remedy=nearest(self.schedule, (ADAPTIVE, *SCHEDULES)),
            )
        known_guarantee(self.guarantee)
        if self.guarantee != Call.guarantee and not self.adaptive:
            raise InputError(
                "a guarantee is chosen for the adaptive schedule only; the others are proved as "
                "they are",
                got=f"schedule={self.schedule!r}, guarantee={self.guarantee!r}",
                remedy='Leave out guarantee, or use schedule="adaptive".',
            )

    def _check_returns(self) -> None:
        if self.return_range is None:
            return
        if not self.adaptive:
            raise InputError(
                "a range of returns is for the adaptive schedule: the others are fixed by the "
                "range of rewards",
                got=f"schedule={self.schedule!r}, return_range={self.return_range}",
                remedy='Leave out return_range, or use schedule="adaptive".',
            )
        least, most = (end * self.horizon for end in self.rewards)
        low, high = self.return_range
        if not (low < high and low < most and least < high):
            raise InputError(
                "return_range must be (low, high) with low < high, of returns that the rewards can "
                "add up to",
                got=f"{self.return_range}, where rewards add up to {least:g} .. {most:g}",
                remedy="Give the least and the most that a whole episode can pay.",
            )

    def _check_data(self) -> None:
        if self.data is None:
            return
        if not self.adaptive:
            raise InputError(
                "episodes from before are for the adaptive schedule: the others say beforehand "
                "how often to read what",
                got=f"schedule={self.schedule!r}, data of {self.data.episodes} episodes",
                remedy='Leave out data, or use schedule="adaptive".',
            )
        for each in self.data.readings:
            self.check_paid(sound(each, self.rewards))

    def _check_at_once(self) -> None:
        if self.at_once > 1 and not self.adaptive:
            raise InputError(
                "only the adaptive schedule asks for more at once: the others say beforehand what "
                "they ask for",
                got=f"schedule={self.schedule!r}, at_once={self.at_once}",
                remedy='Leave out at_once, or use schedule="adaptive".',
            )

    @property
    def adaptive(self) -> bool:
        return self.schedule == ADAPTIVE

    @property
    def future_grows(self) -> bool:
        """Whether the run looks further ahead where its readings show that it has to."""
        merges = self.adaptive and self.declared_separation is not None
        return merges and self.future in (None, "auto")

    @property
    def declared_separation(self) -> float | Literal["exact"] | None:
        """The separation in force; None where a proof does not rest on one."""
        proved = self.guarantee == PROVED
        return SEPARATION if self.separation is None and not proved else self.separation

    @property
    def tolerance_share(self) -> float | None:
        """Of the plan's value, where the tolerance is given in percent."""
        return share_of(self.tolerance) if isinstance(self.tolerance, str) else None

    @property
    def own_schedule(self) -> Schedule | None:
        """The user's own, where the schedule is not one that has a name."""
        return None if isinstance(self.schedule, str) else self.schedule

    @property
    def rewards(self) -> tuple[float, float]:
        """The range in force: a built-in problem's own, whatever `reward_range` says."""
        return self.problem.reward_range if self.problem else self.reward_range

    def check_paid(self, readings: Readings) -> None:
        """Refuse episodes that paid more or less than a whole one was said to."""
        if self.return_range is not None:
            check_returns(readings, self.rewards, self.return_range, self.horizon)

    @property
    def reward_noise(self) -> float:
        """The sub-Gaussian parameter of rewards: half their range, or what the system says."""
        span = self.rewards[1] - self.rewards[0]
        noise = span / 2 if math.isfinite(span) else Declared(self.system).reward_noise
        if not noise:
            raise InputError(
                "rewards without a range need their noise to be known, and positive",
                got=f"reward_range={self.rewards}, reward_noise={noise}",
                remedy="Give the system the attribute reward_noise (a standard deviation), or a "
                "finite reward_range.",
            )
        return float(noise)

    @property
    def last_actions(self) -> int | None:
        """Actions that differ at the last step, where the system says that these are fewer."""
        said = Declared(self.system).last_actions
        if said is None or self.horizon < self.system.horizon:  # another step is the last one then
            return None
        fewer = whole("last_actions", said, least=1)
        return fewer if fewer < self.system.n_actions else None

    @property
    def problem(self) -> Problem | None:
        """The system, where it knows its own answer."""
        return self.system if isinstance(self.system, Problem) else None

    @property
    def informed_problem(self) -> Problem | None:
        """The problem, if its gap and norm hold for this call: its features, its full horizon."""
        if self.problem is None:
            return None
        natural = self.features in ("auto", self.problem.preferred_features)
        return self.problem if natural and self.horizon == self.problem.horizon else None

    def recorded(self) -> dict[str, Any]:
        """The call as a journal has it; the budget may change from one run to the next."""
        return configuration(
            self.system,
            horizon=self.horizon,
            features=self.features,
            future=self.future,
            schedule=self.schedule,
            guarantee=self.guarantee,
            delta=self.delta,
            gap=self.gap,
            tolerance=self.tolerance,
            separation=self.declared_separation,
            predict=self.predict,
            norm=self.norm,
            reward_range=self.reward_range,
            seed=self.seed,
            declared=self._declared(),
            **self._said_beside(),
        )

    def _said_beside(self) -> dict[str, Any]:
        """Arguments that are recorded where they were given: older journals have none of them."""
        said: dict[str, Any] = {}
        if self.return_range is not None:
            said["return_range"] = self.return_range
        if self.data is not None:
            said["data"] = self.data.described()
        if self.at_once > 1:
            said["at_once"] = self.at_once
        return said

    def _declared(self) -> dict[str, Any] | None:
        """What the system said of itself; None where it is a problem that can be made anew."""
        if self.problem is not None and self.problem.identity:
            return None
        proof = not self.adaptive or self.guarantee != Call.guarantee
        said = declared_by(self.system, proof=proof)
        if self.last_actions is not None:  # which older journals do not say
            said["last_actions"] = self.last_actions
        return {**said, "rewards": self.rewards, "problem": self.problem is not None}


def _check_range(reward_range: tuple[float, float]) -> None:
    if not reward_range[0] < reward_range[1]:
        raise InputError(
            "reward_range must be (low, high) with low < high",
            got=reward_range,
            remedy="Give the smallest and the largest reward the system can pay.",
        )


def _check_tolerance(tolerance: float | str | None, gap: float | None) -> None:
    if tolerance is None:
        return
    if gap is not None:
        raise InputError(
            "a run has a gap or a tolerance: where the gap is known, the plan is the best one",
            got=f"gap={gap:g}, tolerance={tolerance!r}",
            remedy="Leave out one of them.",
        )
    if isinstance(tolerance, str):
        share_of(tolerance)
    else:
        _check_positive(tolerance)


def _check_positive(tolerance: float) -> None:
    if tolerance == 0:
        raise InputError(
            "no number of episodes tells two plans apart that are worth the same, so every run has "
            "a tolerance",
            got="tolerance=0",
            remedy="Give the least loss that matters to you; or gap=, if you know that all other "
            "plans lose at least that much.",
        )
    between("tolerance", tolerance, 0, math.inf)


def share_of(percent: str) -> float:
    """The share that a text such as "2%" stands for."""
    number, sign, rest = percent.strip().partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = math.nan
    if not (sign and not rest and 0 < share < 1):
        raise InputError(
            "tolerance is a number in units of return, or a share of it such as 2%",
            got=repr(percent),
            remedy='Write for example tolerance=0.5, or tolerance="2%".',
        )
    return share
