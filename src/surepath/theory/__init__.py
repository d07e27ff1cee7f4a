"""Numbers without readings: what schedules ask for, what no learner beats, what kernels gain."""
