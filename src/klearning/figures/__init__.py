"""Pictures: pure functions from results to a Matplotlib figure. They run nothing."""
