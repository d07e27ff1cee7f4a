"""Do the assumptions hold on this system, what will a run cost, and what should be changed?"""
