"""Data that came from outside, as the records they stand for; or an error that names the place."""
