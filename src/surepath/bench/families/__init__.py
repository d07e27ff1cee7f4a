"""Families of systems that could break an adaptive certificate, each with its exact truth."""
