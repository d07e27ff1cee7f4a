"""How large things in a file may be. What is larger is refused before memory is taken for it.

All limits are far above what a run writes. They keep a file of a few bytes from asking for more
memory or time than its size is worth; a large file still takes in proportion to its size.
"""

from __future__ import annotations

RESULT_BYTES = 2**28
"""Of a saved result, in a file or in a journal: six thousand prefixes with the largest covariance
matrices that are recorded."""

STRING_BYTES = 2**22
"""Of one text in a result. The longest that are written are the bytes of an array, in base64."""

CHUNK_BYTES = 2**20
"""That are looked at together, before all of a file is held in memory."""

CELL_BYTES = 2**20
"""Of a text in a row of a journal: its actions, or the types and shapes of its arrays."""

HORIZON = 10_000
"""Levels of a plan. Paths of all levels are compared with each other."""

ACTIONS = 2**20
"""That a system can take."""

DIMENSION = 2**18
"""Numbers in a feature: as bytes in base64 they are shorter than STRING_BYTES."""

CELLS = 2**24
"""Of a table with a row for each prefix and level and a column for each action."""

COUNT = 10**300
"""Largest whole number: what the theory bounds is far more than anybody runs, and a floating-point
number still holds it."""

NUMBER = 1e150
"""Largest floating-point number: its square is one too."""

READINGS = 10**30
"""Of a prefix, or of a run: their squares and products are floating-point numbers too."""

RECORDS = 2**62
"""Of a journal: SQLite's integers still hold the number of the next one."""

EMPTY_ARRAY = 2**16
"""Product of the sizes of an array that holds no number, such as [3, 0]: no bytes speak for it."""

SHOWN = 200
"""Characters of what was found that an error repeats."""

AXES = 32
"""Of an array: what every version of NumPy holds."""
