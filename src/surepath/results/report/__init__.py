"""A run as one page to look at: a file of its own that needs no network and no other file."""
