"""O'Donoghue, "Variational Bayesian Reinforcement Learning with Regret Bounds", NeurIPS 2021."""
