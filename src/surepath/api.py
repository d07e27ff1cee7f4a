"""`learn`: from a system to a certified plan. `verify`: whether a file carries its certificate."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from surepath.errors import InputError
from surepath.journal.action_names import keep_names
from surepath.journal.database import Journal, is_journal
from surepath.journal.snapshot import snapshot
from surepath.learners.base import Asking
from surepath.prepare.call import Call, Future
from surepath.prepare.given import recorded_data
from surepath.prepare.replay import proof_of, replay
from surepath.prepare.so_far import so_far
from surepath.prepare.start import start
from surepath.results.result import Result, load, restored
from surepath.results.round import Callback
from surepath.results.verify import Verification
from surepath.results.verify import verify as verify_readings
from surepath.run.choose_executor import executor_of
from surepath.run.driver import drive
from surepath.run.executors import Executor
from surepath.run.interrupts import InterruptedRun
from surepath.run.progress import Progress
from surepath.run.runner import Runner
from surepath.theory.schedule import Schedule

if TYPE_CHECKING:
    from surepath.results.report.sheet import Sheet


class Page(NamedTuple):
    """A page about a run."""

    html: str
    running: bool  # whether another process is just writing its journal
    picture: str | None = None  # an SVG of the run closing its gap, where it was asked for


def learn(
    env: object,
    horizon: int | None = None,
    *,
    features: object = Call.features,
    future: Future | None = Call.future,
    schedule: str | Schedule = Call.schedule,
    guarantee: str = Call.guarantee,
    delta: float = Call.delta,
    gap: float | None = Call.gap,
    tolerance: float | str | None = Call.tolerance,
    separation: float | Literal["exact"] | None = Call.separation,
    predict: bool = Call.predict,
    norm: float | None = Call.norm,
    reward_range: tuple[float, float] = Call.reward_range,
    return_range: tuple[float, float] | None = Call.return_range,
    data: object = None,
    budget: int | None = Call.budget,
    journal: str | Path | None = None,
    workers: int | str | Executor | None = None,
    at_once: int = Call.at_once,
    callback: Callback | None = None,
    seed: int = Call.seed,
    progress: bool = False,
) -> Result:
    """Find the exact best action sequence of a resettable system, with its certificate.

    env: a system (horizon, n_actions, rollout), a built-in problem from `surepath.make`, or a
    Gymnasium environment: the environment, its id or spec, or a function that makes one.
    horizon: defaults to env's, where it has one; may be shorter.
    features: "auto", "onehot", "linear", "rbf", "matern", a scikit-learn transformer or
    Gaussian-process kernel, or a function from observations [n, ...] to features [n, d].
    future: how many observations tell hidden states apart. Without it an adaptive run begins with
    one and looks further ahead where its readings show that states look alike and are not
    ("auto"); a fixed schedule takes one. With a fixed schedule "auto" looks further as long as that
    tells more states apart in a pilot (raises the rank of the embeddings).
    schedule: "adaptive" needs to know nothing: it reads where the answer depends on it and stops
    when it is settled. "tight" and "paper" are fixed in advance and proved; they need gap and norm,
    which a built-in problem knows of itself. Or a `Schedule` of your own.
    guarantee: of the adaptive schedule. "calibrated" uses estimated variances and is validated, not
    proved. "proved" proposes a plan and proves it on fresh readings, for every system that
    satisfies the assumptions: with separation, prefixes may be taken for one state; with norm, if
    they are close; with neither, no two prefixes are, which is for systems with few sequences.
    delta: most probability with which a certified plan may be wrong.
    gap: least loss of a suboptimal plan, where known. norm: bound on the weights of Q*.
    tolerance: how much the plan may fall short of the best one and still be the answer: a number in
    units of return, or a share of it such as "2%". Without it, an eighth of what a paying step of
    the plan typically pays. The certificate says what it came to, and "optimal" where nothing is
    lost.
    separation: the least difference between hidden states that are not one, as a total variation of
    what is read there (0.3: of ten readings, three would have to be others; for real features,
    means 0.77 standard deviations of one reading apart). Prefixes count as one state when this has
    been excluded. A smaller one assumes less and costs more. "exact": readings have no noise. 0.3
    where none is given, and none with guarantee="proved".
    predict: whether states that were not tried may be predicted from those that were; some are then
    drawn and tried before the certificate.
    reward_range: the smallest and the largest reward that can be paid; a problem has its own.
    return_range: the least and the most that a whole episode can pay, where that is less than the
    rewards could add up to: paid at the end only, say. What is not known yet is then worth no more.
    data: episodes from before: a journal, a .csv or .parquet file with a row for each step (see
    `surepath export`), `Episodes`, or several of these. They are evidence for what is proposed and,
    of a calibrated run, for its certificate; a proof never rests on them. They are not counted as
    the run's own. A journal that has such episodes keeps them.
    budget: most episodes to spend; when it ends, the best plan so far is returned uncertified.
    While there is no whole plan, it begins with the best actions that were tried; zeros follow.
    journal: a file that records every episode before it is used. An existing one is continued: the
    run goes on where it was stopped or killed, and ends as if it never had been.
    workers: so many processes, "ray" for a Ray cluster, or an executor (`surepath.Serial`,
    `surepath.Processes`, `surepath.RayCluster`) with time limit and retries of your own. What is
    found does not depend on it.
    at_once: episodes that can run at the same time, of the adaptive schedule: with many workers or
    many benches, about their number. Where fewer are needed, it also asks for what will probably be
    needed next: fewer rounds, at the price of some episodes more. It decides what is asked for, so
    a journal is continued with the same.
    callback: is called after every round with a `surepath.Round`: the best actions so far, what
    they are worth, what no plan is worth more than, episodes, open questions. When it returns True,
    the run stops, and the best plan so far is returned like when a budget ends.
    seed: of all randomness; the same seed gives the same run. progress: show it while it goes on.

    Ctrl-C ends the run as soon as nothing is half done, by a KeyboardInterrupt: what was read is in
    the journal, and the best plan so far is its `result`.
    """
    call = Call.of(
        env,
        horizon,
        features=features,
        future=future,
        schedule=schedule,
        guarantee=guarantee,
        delta=delta,
        gap=gap,
        tolerance=tolerance,
        separation=separation,
        predict=predict,
        norm=norm,
        reward_range=reward_range,
        return_range=return_range,
        data=recorded_data(data, journal),
        budget=budget,
        at_once=at_once,
        seed=seed,
    )
    with ExitStack() as opened:
        executor = executor_of(workers)
        if executor is not workers:  # one that was given is closed by the one who made it
            opened.enter_context(executor)
        record: list[Journal] = []

        def runner() -> Runner:
            if journal is not None:
                record.append(opened.enter_context(Journal(journal, call.recorded())))
                keep_names(record[0], call.system)
            return Runner(
                call.system,
                seed,
                executor=executor,
                journal=record[0] if record else None,
                reward_range=call.rewards,
                check=call.check_paid,
            )

        run = start(call, runner)
        shown = opened.enter_context(Progress()) if progress else None

        def watch(learner: Asking) -> bool:
            if shown is not None:
                shown(learner)
            return callback is not None and bool(callback(learner.round()))

        try:
            drive(run.learner, run.task.runner, budget=budget, watch=watch)
        except InterruptedRun as interrupt:
            interrupt.result = run.result()
            raise
        result = run.result()
        for written in record:
            written.put("result", result.saved())
    return result


def verify(path: str | Path) -> Verification:
    """Whether a saved result, or the result in a journal, is what its readings carry.

    The certificate is derived again from the readings, without the learner. Of a journal, the
    readings are first counted again from its episodes; then the run is replayed, to see that it
    asks for just these episodes and ends with this result. Nothing is run and nothing imported that
    the file names. What nothing could be compared with is listed in `taken`.
    """
    found = verify_readings(path)
    if not is_journal(path) or not found.agrees:
        return found
    with Journal(path) as journal:
        replayed = replay(journal)
    if replayed.impossible:
        taken = f"that the run asked for just these episodes: {replayed.impossible}"
        return found.and_also((), (*found.taken, taken))
    return found.and_also(replayed.differences, ())


def report(
    path: str | Path, *, reload_seconds: float | None = None, animated: bool = False
) -> Page:
    """A page about a run, of a saved result or a journal: a text of HTML that stands alone.

    A run that another process is just writing is shown as far as it has come.
    reload_seconds: how often the page of such a run loads anew, if somebody writes it anew.
    animated: also a picture of the run closing its gap; only a journal knows how it did.
    """
    from surepath.results.report.sheet import sheet_of_journal, sheet_of_result  # no run needs it

    if not is_journal(path):
        return _page(sheet_of_result(load(path), Path(path).name), None, animated)
    with snapshot(Path(path)) as (journal, running):
        said = journal.get("result")
        found = so_far(journal) if said is None else restored(said, f"the result in {path}")
        sheet = sheet_of_journal(journal, found, running=running)
        return _page(sheet, reload_seconds if running else None, animated)


def _page(sheet: Sheet, reload_seconds: float | None, animated: bool) -> Page:
    from surepath.results.report.moving import moving_picture
    from surepath.results.report.page import page_of

    picture = moving_picture(sheet) if animated else None
    return Page(page_of(sheet, reload_seconds=reload_seconds), sheet.running, picture)


def proof(path: str | Path) -> list[str]:
    """The proof of a certificate that is proved, in the lines of docs/proof.md.

    path: a saved result, or a journal; the proof from a journal has every fresh episode.
    """
    if is_journal(path):
        with Journal(path) as journal:
            journal.check()
            return proof_of(journal)
    found = load(path).proof
    if found is None:
        raise InputError(
            f"{path} holds no proof",
            got="a certificate that is not proved, or none",
            remedy='Only certified runs with guarantee="proved" have one.',
        )
    return found
