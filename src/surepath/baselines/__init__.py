"""Other methods behind the same ask and tell: what surepath's own is measured against."""
