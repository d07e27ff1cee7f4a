"""What was read, pooled by prefix."""
