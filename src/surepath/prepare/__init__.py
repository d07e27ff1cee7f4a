"""All that is chosen and checked before the first request."""
