"""Papers reproduced: one folder a paper, one file a figure."""
