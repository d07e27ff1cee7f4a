"""Every number of the adaptive engine that was chosen rather than derived, with its reason.

A number marked *validity* decides what may be claimed: moved far enough, it makes certificates
wrong, and only a calibration (`surepath bench calibration`) shows whether it may be moved. A number
marked *cost* decides how many episodes or how much computing a run takes, never what it may claim.

Limits of floating-point arithmetic and of memory are not tuned; they stand where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["validity", "cost"]


def _validity(value: Any, why: str) -> Any:
    return field(default=value, metadata={"kind": "validity", "why": why})


def _cost(value: Any, why: str) -> Any:
    return field(default=value, metadata={"kind": "cost", "why": why})


@dataclass(frozen=True, slots=True)
class Tuning:
    """The numbers, by the question they answer."""

    # ------------------------------------------------ when is a question settled?
    tolerance: float = _cost(
        1 / 8,
        "Where no tolerance is given: plans count as equal when their values are closer than this "
        "share of what a paying step of the plan typically pays (root mean square); a claim "
        "says how close. Smaller makes ties cost more.",
    )
    free_ways: int = _validity(
        32,
        "Ways to leave the plan that need no correction for their number: the Gaussian tail beyond "
        "sqrt(2 ln(2/delta)) standard errors is about delta / 15, which pays for several looks at "
        "each, and of several that are as close all have to be settled at once, so that their "
        "errors hardly add up. Of one better among 40 equal sequences, at the gap that is worst, "
        "0.7 % were missed at delta 0.05 and 5 % at 0.2 (simulated).",
    )
    free_rare_ways: float = _validity(
        2.0,
        "The same where an answer rests on rewards that were seen a few times at most: their tail "
        "is about exp(-z^2/2) itself, and every level may hide one. With 32, of chains of 16 "
        "decisions between a sure reward and a jackpot that is worth 1.3 times as much 22 of 40 "
        "certificates were false at delta 0.2, of 31 decisions 28 of 153 at 0.05; with 2, 9 of 100 "
        "and 0 of 80 (`surepath bench calibration`: jackpots).",
    )
    few_events: float = _validity(
        8.0,
        "So many rewards at the end of the range count as few. With none of them, 8 of 40 of the "
        "chains of 16 decisions were false, with 8 of them 3.",
    )
    close_decision: float = _validity(
        1.0,
        "What another decision that is as close adds to z^2, as a degree of freedom adds to the "
        "quantiles of chi-square. With half of it 160 close decisions of two actions lost more "
        "than was said in 6 % at delta 0.05 (simulated, at the gap that is worst); with none of it "
        "40 in 36 %, 80 in 76 % (`surepath bench calibration --only close-decisions`).",
    )
    free_rivals: float = _validity(
        2.0,
        "Ways through a level, as close to the plan as any, that need no correction for their "
        "number where the plan counts as equal to them: beyond, z^2/2 of a tie grows by the "
        "logarithm. Without it one better among 25 equal sequences was missed in 12 % at delta "
        "0.05, 36 % at 0.2 (`surepath bench calibration`: one among equals).",
    )

    # ------------------------------------------------ are two prefixes one state?
    symbol_prior: float = _validity(
        0.5,
        "Weight of each symbol in the Dirichlet prior of an unknown law (Jeffreys' choice). Larger "
        "leans to one state while there are few readings.",
    )
    difference_scales: tuple[float, ...] = _validity(
        (1.0, 1 / 4, 1 / 16, 1 / 64),
        "How much the means of two states may differ: variances of the difference, in units of the "
        "noise of one reading, each as likely as the others. Without the small ones, states that "
        "are close together are taken for one.",
    )
    shared_noise: float = _validity(
        8.0,
        "Readings of a place as heavy as which its noise is taken to be that of its level. With "
        "fewer a handful of readings that happen to agree would count as noise-free; with more, "
        "places of unequal noise are compared with the wrong one.",
    )

    most_continuations: int = _cost(
        1024,
        "Ways to go on that a future may have. Each of them has to be read before two prefixes "
        "count as one, so a longer future costs as many times more; beyond this a run is refused.",
    )
    least_seen: float = _validity(
        0.9,
        "A reading of which landmarks of a kernel see a smaller share than this, in units of what "
        "they see of a reading of the pilot, counts as unseen. The less is seen of two places, the "
        "more they look alike.",
    )
    most_unseen: float = _validity(
        0.25,
        "Where more than this share of the readings is unseen, landmarks are added. Fewer may be "
        "glitches of a sensor, which nobody has to see.",
    )

    # ------------------------------------------------ what is a state worth that was not tried?
    least_points: int = _validity(
        12,
        "States of a level that must have been tried before any other is predicted from them: with "
        "fewer, the errors of predictions cannot be measured.",
    )
    new_direction: float = _validity(
        0.5,
        "If the median state has more than this share of its squared length in a direction that no "
        "other state has, the states do not span each other and nothing is predicted.",
    )
    constant_length: float = _validity(
        3.0,
        "Length of the constant coordinate beside the features, in units of theirs: long enough "
        "that the ridge hardly shrinks the average value.",
    )
    largest_error_share: float = _validity(
        0.2,
        "The scale of prediction errors is their mean square, but at least this share of the "
        "largest square. For Gaussian errors the two are about equal; where few errors are large "
        "and most are small, the mean alone would promise too much.",
    )
    audited_share: float = _validity(
        0.15,
        "So many predicted states are drawn and tried that, if more than this share of them were "
        "missed, the sample would show it with probability 1 - delta: 20 of them at 0.05.",
    )
    ridges: tuple[float, ...] = _validity(
        (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
        "Ridges that are tried, in units of the mean squared length of the points; the one with "
        "the smallest leave-one-out error is used.",
    )

    # ------------------------------------------------ do the readings fit the assumptions?
    consistency_alarm: float = _validity(
        1e-3,
        "Probability, over all comparisons of a run together, of refusing a certificate because "
        "prefixes of one state seem to pay differently although they do not.",
    )
    consistency_suspicion: float = _cost(
        0.5,
        "The same probability for reading a prefix more often, which is all that happens to one "
        "that only looks odd.",
    )
    consistency_readings: int = _validity(
        512,
        "Readings after which a prefix has been put into the right state, if observations can tell "
        "states apart at all. Only then does an odd prefix count against the assumptions; before, "
        "it is read more often.",
    )
    uneven_most: float = _validity(
        9.0,
        "The square that one prefix adds at most where the differences in pay of all prefixes are "
        "added up, 1 being expected: three standard deviations. Of 4, 9 and 16 the one that shows "
        "differences as large as the noise of a prefix in the fewest prefixes.",
    )
    alias_readings: int = _validity(
        64,
        "Readings after which a prefix that goes on differently counts as one. Its noise is then "
        "known from its own readings; before, it is only read more often.",
    )
    odd_chance: float = _validity(
        0.1,
        "What follows a merge is read more often where so much difference would come by chance "
        "with less than this probability. Larger finds states that only look alike sooner, at the "
        "price of more readings where nothing is wrong.",
    )
    odd_at_once: float = _cost(
        1.0,
        "Places that look odd by mere chance, at most, whatever the number of comparisons. With 10 "
        "more was read there than to settle all merges.",
    )
    own_readings: int = _validity(
        32,
        "Readings of the plan as it stands, action by action: what was pooled from other prefixes "
        "is then compared with its own.",
    )
    exact_repeats: int = _validity(
        64,
        "Where readings are declared exact: rewards of a level that were read again so often, and "
        "were always the same, count as exact too.",
    )
    dependence_batch: int = _validity(
        8, "Episodes of one request from which dependence between their steps is estimated."
    )
    dependence_events: int = _validity(
        5,
        "A feature enters the test of independence when at least so many readings stand out in it: "
        "chance meetings of rarer events are larger than the test's variance says.",
    )
    dependence_warning: float = _validity(
        3.5, "Standard deviations of dependence between steps that are worth a warning."
    )
    dependence_alarm: float = _validity(
        5.0,
        "Standard deviations of dependence between steps at which determinism is no longer "
        "believed and the certificate is refused. The tests of a run are many, and not "
        "exactly Gaussian.",
    )
    least_resemblance: float = _validity(
        0.1,
        "Correlation of an episode with the one before it below which it is left alone, however "
        "certain: hardly any hardware is without, and means are then a tenth less sure than they "
        "seem. At 0.3 to 0.5 orders of compiler passes were certified that lost more than "
        "twice what was said.",
    )
    dependence_hopeless: float = _cost(
        20.0,
        "Standard deviations of dependence between steps at which a run ends at once: it will be "
        "refused, and the longer it goes on, the clearer that gets. Well beyond the alarm, which "
        "further readings may still take back.",
    )
    drift_alarm: float = _validity(
        5e-4,
        "Probability, over all tests of a run together, of refusing a certificate because the "
        "system seems to change during the run although it does not. Below one in a thousand, "
        "because the readings of a prefix are few and their sums not exactly Gaussian.",
    )
    drift_warning: float = _validity(
        5e-3, "The same probability for a warning, which refuses nothing."
    )
    drift_events: int = _validity(
        5,
        "A symbol or a reward enters the test of drift when it was read, and missed, at least so "
        "often: fewer may all come early or late by chance.",
    )
    drift_prefixes: int = _validity(
        8,
        "Prefixes of a step from which it is told what is to be expected of one of them. Of fewer "
        "none is chosen by chance for what it paid.",
    )
    drift_parts: int = _cost(
        32,
        "Parts of a run into which the readings of a prefix are put together. More would show "
        "better when a change began, and take more memory.",
    )

    # ------------------------------------------------ what to read next?
    first_readings: int = _cost(4, "Readings of every edge before anything is decided.")
    first_symbols: int = _cost(
        5, "The same of symbols: there is no noise of theirs that has to be known first."
    )
    first_on_tree: int = _cost(
        2, "The same where no two prefixes are taken for one: only what is paid has to be known."
    )
    worth_a_round: float = _cost(
        0.05,
        "Share of a run's episodes that is worth a round: fewer first readings are asked for "
        "beside all else, and so many states are tried together where they promise the same.",
    )
    tree_at_first: int = _cost(
        64,
        "Action sequences up to which a run begins without merging: to read all of them takes "
        "about as many episodes as to settle one or two merges.",
    )
    scouts: int = _cost(
        64, "Worlds that are drawn in a round of scouting, to see in how many one sequence is best."
    )
    scouts_at_once: int = _cost(
        8, "Of these, worlds whose best sequence is run before others are drawn."
    )
    scouts_agree: float = _cost(
        0.6,
        "Share of the worlds with one best sequence at which it is taken for the best, and told "
        "from others by what decides between them.",
    )
    scouts_in_the_dark: float = _cost(
        0.9,
        "Share of the worlds that may each have another best sequence after an episode for every "
        "edge: where more have, what was paid does not say where to look.",
    )
    scouts_an_edge: int = _cost(
        4,
        "Most episodes of scouting for every edge of what looks alike: about those that it takes "
        "to read every edge a few times and know the states.",
    )
    least_growth: float = _cost(
        0.1, "Readings behind an open question grow by at least this share of what there is."
    )
    most_growth: float = _cost(
        0.4, "And by at most this share: what is open is looked at again before more is spent."
    )
    doubtful: float = _cost(
        3.0,
        "While a challenger would take more than this share of more readings to be ruled out, the "
        "plan may well be another one: nothing else is read before.",
    )
    least_alike: float = _cost(
        0.25,
        "Meanwhile, of the ends that may be another state, the share that is read: those that look "
        "least like the state they are taken for. With all of them, half of all locks of 20 levels "
        "took 22,000 steps to be opened, with a quarter or a tenth 13,000 to 16,000.",
    )
    most_settling: float = _cost(
        1.0,
        "Readings of an end that may be another state grow by what will probably settle it, and by "
        "at most this share of what there is.",
    )
    expanded_at_once: float = _cost(
        0.25,
        "States that are tried together, as a share of those of their level that were tried "
        "before: fewer rounds, at the price of some that were not needed.",
    )
    mostly_guessed: float = _cost(
        0.5,
        "Where more than this share of a challenger's spread comes from a state that was only "
        "predicted, that state is tried instead of reading the path to it more often.",
    )
    looks_apart: float = _cost(
        1.5,
        "Readings grow by this factor between two looks at whether what looks alike goes on alike, "
        "which takes as much computing as a judgement.",
    )
    landmarks_at_once: int = _cost(
        4,
        "Landmarks that a place gets when it has too few: enough to see on which side of them "
        "something lies, and few enough that there is room for other places.",
    )
    least_request: int = _cost(4, "Episodes below which a request is not worth its round.")
    most_labels: int = _cost(
        64,
        "Continuations that are kept for each state when the hardest challenger is searched. More "
        "are thinned by rounding spreads up, which only widens what is said; where a question is "
        "open only by that, the search is repeated with four times as many.",
    )
    most_exact_labels: int = _cost(
        1024,
        "The same where readings are exact: every end that was measured may be one of its own. "
        "Thinned to 64, the spread of one end counts for another that is worth more, and however "
        "often that other one is read, its question stays open.",
    )

    followed_share: float = _validity(
        0.1,
        "Episodes, as a share of the run's, that follow what was taken for one state to the end: "
        "hidden states that look alike and pay differently much later show there only.",
    )
    least_audited: int = _validity(
        2, "Sequences that are followed for that in any case, in runs that take few episodes too."
    )
    merge_readings: int = _validity(
        32,
        "Readings of each sequence that is followed for that: enough to see a difference of a "
        "tenth of the range in rewards that hardly scatter.",
    )
    # ------------------------------------------------ how is a proposal proved?
    proposal_delta: float = _cost(
        0.2,
        "How sure a proposal has to be before fresh readings are to prove it: what makes it false "
        "is then found, and costs another attempt.",
    )
    block_share: float = _cost(
        1 / 3,
        "Of the fresh readings that are expected to suffice, the share that is read before the "
        "bets are adjusted and what is ruled out by then is left alone.",
    )
    least_block: int = _cost(
        16,
        "Episodes of a block at least, so that so many workers have something to do. It does not "
        "follow how many there are: whoever runs the episodes, they are the same.",
    )
    refuted: float = _cost(
        2.0,
        "An attempt is given up when the evidence for some other plan is so many times what the "
        "plan itself would need. The worst of many plans is often unlucky: at 1, all 62 attempts "
        "that were given up in 120 runs had proposed the best plan, at 2 there were 12.",
    )
    attempt_patience: float = _cost(
        12.0,
        "An attempt is given up when it has taken so many times what it was expected to.",
    )


TUNING = Tuning()


class Entry(NamedTuple):
    """One number of the record, for whoever lists or varies them."""

    name: str
    value: Any
    kind: Kind
    why: str


def entries(tuning: Tuning = TUNING) -> list[Entry]:
    """All numbers with their marks and reasons."""
    return [
        Entry(each.name, getattr(tuning, each.name), each.metadata["kind"], each.metadata["why"])
        for each in fields(tuning)
    ]
