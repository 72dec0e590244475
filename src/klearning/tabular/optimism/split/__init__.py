"""The bonus `split`: unknown transitions have a price, row by row."""
