"""How objects show themselves: summaries, tables, plots, data frames, progress."""
