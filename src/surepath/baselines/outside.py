"""Black-box optimisers of other packages, told the return of a sequence and nothing else."""

# The packages are loaded when they are used, and have few types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportMissingTypeStubs=false, reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import numpy as np

from surepath.baselines.openloop import OpenLoop
from surepath.errors import InputError, MissingExtraError
from surepath.learners.base import Answer
from surepath.validate import nearest, whole

NOISY_CHOICES = "RecombiningPortfolioOptimisticNoisyDiscreteOnePlusOne"
"""What nevergrad's own rule (NGOpt) takes for choices with noisy losses."""


class CatCma(OpenLoop):
    """CatCMA: a natural gradient on the law of every level's action, a generation at a time.

    Hamano, Saito, Nomura, Uchida and Shirakawa, "CatCMA: Stochastic Optimization for
    Mixed-Category Problems" (GECCO 2024), in the package cmaes. Its class CatCMA insists on
    continuous variables; CatCMAwM has the same update for categories and takes them alone.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        *,
        population: int | None = None,
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, batch=batch, seed=seed, reward_range=reward_range)
        if population is not None:
            whole("population", population, least=2)
        try:
            from cmaes import CatCMAwM
        except ImportError as error:
            raise MissingExtraError("cmaes", "rivals", "CatCma") from error
        self._optimizer: Any = CatCMAwM(
            c_space=[n_actions] * horizon,
            population_size=population,
            seed=int(self._rng.integers(2**31)),
        )
        self.population = int(self._optimizer.population_size)
        self._advance(None)

    def _advance(self, answers: list[Answer] | None) -> None:
        if answers is not None:
            losses = [-self._return(answer) for answer in answers]
            self._optimizer.tell(list(zip(self._drawn, losses, strict=True)))
            # The package does not show its law; the most likely sequence is its best guess.
            self.incumbent = tuple(np.asarray(self._optimizer._q).argmax(axis=1).tolist())
        self._drawn: list[Any] = [self._optimizer.ask() for _ in range(self.population)]
        self._pending = tuple(
            self._request(tuple(solution.c.argmax(axis=1).tolist()), self.batch)
            for solution in self._drawn
        )


class OptunaTpe(OpenLoop):
    """Optuna's default sampler (TPE), a categorical parameter for every level.

    Akiba, Sano, Yanase, Ohta and Koyama, "Optuna: A Next-generation Hyperparameter Optimization
    Framework" (KDD 2019). The incumbent is its best trial: the mean of one batch.
    """

    def __init__(self, horizon: int, n_actions: int, **options: Any) -> None:
        super().__init__(horizon, n_actions, **options)
        try:
            import optuna
        except ImportError as error:
            raise MissingExtraError("optuna", "rivals", "OptunaTpe") from error
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler: Any = optuna.samplers.TPESampler(seed=int(self._rng.integers(2**31)))
        self._study: Any = optuna.create_study(direction="maximize", sampler=sampler)
        self._advance(None)

    def _advance(self, answers: list[Answer] | None) -> None:
        for answer in answers or ():
            self._study.tell(self._trial, self._return(answer))
            best: dict[str, int] = self._study.best_params
            self.incumbent = tuple(best[f"step {level}"] for level in self._levels)
        self._trial: Any = self._study.ask()
        choices = range(self.n_actions)
        actions = tuple(
            int(self._trial.suggest_categorical(f"step {level}", choices)) for level in self._levels
        )
        self._pending = (self._request(actions, self.batch),)


class Nevergrad(OpenLoop):
    """An optimiser of nevergrad by name, for unordered choices and noisy losses.

    `evaluations` is how many sequences it will be able to try, for those that plan with it.
    Optimisers that draw from NumPy's global state are outside what a seed fixes.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        *,
        optimizer: str = NOISY_CHOICES,
        evaluations: int | None = None,
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, batch=batch, seed=seed, reward_range=reward_range)
        if evaluations is not None:
            whole("evaluations", evaluations, least=1)
        try:
            import nevergrad
        except ImportError as error:
            raise MissingExtraError("nevergrad", "rivals", "Nevergrad") from error
        registry: Any = nevergrad.optimizers.registry
        if optimizer not in registry:
            raise InputError(
                f"nevergrad has no optimiser {optimizer!r}",
                got=repr(optimizer),
                remedy=nearest(optimizer, registry),
            )
        self.optimizer = optimizer
        space: Any = nevergrad.p.TransitionChoice(
            range(n_actions), repetitions=horizon, ordered=False
        )
        space.random_state = np.random.RandomState(int(self._rng.integers(2**31)))
        space.function.deterministic = False
        self._optimizer: Any = registry[optimizer](space, budget=evaluations)
        self._advance(None)

    def _advance(self, answers: list[Answer] | None) -> None:
        for answer in answers or ():
            self._optimizer.tell(self._candidate, -self._return(answer))
            self.incumbent = tuple(map(int, self._optimizer.recommend().value))
        self._candidate: Any = self._optimizer.ask()
        actions = tuple(map(int, self._candidate.value))
        self._pending = (self._request(actions, self.batch),)
