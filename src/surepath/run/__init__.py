"""Carrying out what a learner asks for."""
