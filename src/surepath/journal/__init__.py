"""The record of every episode ever paid for, and which run it belongs to."""
