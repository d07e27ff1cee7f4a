"""Pure functions of readings and terms, asked by learner and verifier alike."""
