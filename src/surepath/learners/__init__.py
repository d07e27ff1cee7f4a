"""Learners without input or output: they ask for episodes and are told what was read."""
