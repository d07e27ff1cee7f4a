"""`python -m surepath` is the command line."""

import sys
from pathlib import Path

if sys.path and Path(sys.path[0] or ".").resolve() == Path.cwd():
    # Python puts the current folder first, where a stranger may have left a module with the name of
    # one that is imported later. The command `surepath` does not have it there either.
    del sys.path[0]

from surepath.cli import app

app(prog_name="surepath")
