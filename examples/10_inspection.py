"""A game: four sites, one inspector a night, and somebody who dumps waste where she is not.

Rows are the offender's moves, columns ours; what we gain he loses. Neither knows what a night at a site comes to: that
is learnt from noisy results. An inspector whose rounds can be foretold is useless, so the answer is a mixture.
"""

from klearning import games

NIGHTS = 2000
SEEDS = 20

game = games.inspection_game(sites=4)
best = game.equilibrium
print(f"value of a night, played perfectly by both: {game.value:.3f}")
print("inspect site 1, 2, 3, 4 with chances", " ".join(f"{p:.2f}" for p in best.policy))
print("he dumps there with chances         ", " ".join(f"{p:.2f}" for p in best.opponent[:4]))

# An offender who knows all payoffs and our chances of tonight, though not where we shall be, is the worst there is.
# Regret is exact: the value of the game less what tonight's chances are worth against him.
agents = {
    "K-learning": games.KLearning(),
    "UCB": games.UCB(),
    "Thompson sampling": games.Thompson(),
    "EXP3": games.EXP3(),
}
print(f"\n{NIGHTS} nights, mean of {SEEDS} seeds   regret   after 500   grows as nights to the power")
for name, agent in agents.items():
    matches = games.play(agent, game, "best_response", rounds=NIGHTS, seeds=SEEDS)
    regret = matches.regret.mean(axis=0)
    print(f"{name:28} {regret[-1]:8.1f}   {regret[499]:9.1f}   {matches.powers().mean():28.2f}")

# One step of K-learning by hand: means and standard deviations of the payoffs make a mixture, and a bound on what a
# night can be expected to bring, with its certificate.
plan = games.solve(game.payoffs, 0.1 + 0.0 * game.payoffs)
print(f"\nnearly sure of all payoffs: a night is worth {plan.bound:.3f} at most, inspect with chances", end=" ")
print(" ".join(f"{p:.2f}" for p in plan.policy))
