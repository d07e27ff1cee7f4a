"""What a run returns: the plan, the certificate, what it cost, and the check of all that."""
