"""What every suite is run and reported with."""
