"""What pictures are made of: Matplotlib's canvas, HTML that cannot be injected into, tiny images. Nothing is run."""
