"""The page "Does it beat ...?", made of what the suites wrote.

`python -m surepath.bench.harness.page FOLDER PAGE` writes it.

Nothing on it is typed by hand but the words between the tables. It holds steps, ratios and rates
only: they do not depend on the machine.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from surepath.errors import InputError

CHAPTERS = {
    "peers": """## Against every rival

Every rival gets, for every problem, the setting of a small grid that serves it best on training
instances; recurrent PPO keeps its own defaults and is trained once, for 50,000 steps at most.
Rivals that choose one sequence at a time play it four times or more, for the bench's own running
time; MiniGrid, the slowest to run, has five runs, and rivals are tuned there within a quarter of
the steps. surepath is called as it comes. A ratio below 1 means that surepath needs fewer steps to
be right in 95 % of its runs. What a ratio cannot show: most rivals do not know when they are right,
and surepath goes on until it does ("stops by itself").""",
    "table1": """## What does each method do, and for how long?

The first table of the paper, with what was measured beside what is said.""",
    "lower-bounds": """## When can nothing do well?

Drop determinism or let the gap vanish, and what a guarantee takes grows without bound: the paper's
two lower bounds.""",
    "scaling": """## How does the cost grow?

Exponents of the steps in everything the theorem mentions. The theorem is an upper bound for the two
fixed schedules; `adaptive` is told nothing, and its exponents stand beside it to be compared.""",
}
"""The suites of the page, in its order, and what is said before each."""

HEAD = """# Does it beat ...?

Made by `make bench` from the output of `surepath bench peers`, `table1`, `lower-bounds` and
`scaling`; a step is one observation read, the same for every method. Success rates come with 95 %
Wilson intervals."""


def page(folder: Path, figures: str) -> str:
    """The page, from the tables in the folder; `figures` is where its pictures will be."""
    blocks = [HEAD]
    for suite, words in CHAPTERS.items():
        path = folder / f"{suite}.md"
        if not path.is_file():
            raise InputError(
                f"the page needs the results of the suite {suite!r}",
                got=f"no file {path}",
                remedy=f"Run surepath bench {suite} --out {folder}.",
            )
        _, _, tables = path.read_text(encoding="utf-8").partition("\n\n")
        blocks += [words, tables.strip().replace(f"]({suite}-", f"]({figures}/{suite}-")]
    return "\n\n".join(blocks) + "\n"


def write(folder: Path, target: Path) -> None:
    """The page as a file, its pictures in a folder beside it."""
    pictures = target.with_suffix("")
    text = page(folder, pictures.name)
    pictures.mkdir(exist_ok=True)
    for suite in CHAPTERS:
        for picture in folder.glob(f"{suite}-*.svg"):
            shutil.copyfile(picture, pictures / picture.name)
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
