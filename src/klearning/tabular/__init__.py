"""The mathematics of finite problems: models, beliefs, plans, worlds, agents, trials."""
