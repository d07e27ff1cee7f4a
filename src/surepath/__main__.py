"""`python -m surepath` is the command line."""

from surepath.cli import app

app(prog_name="surepath")
