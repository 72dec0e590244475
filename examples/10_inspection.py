"""A game: four sites, one inspector per night, and an offender who dumps waste at another site.

Rows are the offender's moves, columns ours, and we gain what he loses. Both must learn the payoffs from noisy results.
A predictable inspector is useless, so the answer is a mixed strategy.
"""

from klearning import games

NIGHTS = 2000
SEEDS = 20

game = games.inspection_game(sites=4)
best = game.equilibrium
print(f"value of a night, played perfectly by both: {game.value:.3f}")
print("inspect site 1, 2, 3, 4 with chances", " ".join(f"{p:.2f}" for p in best.policy))
print("he dumps there with chances         ", " ".join(f"{p:.2f}" for p in best.opponent[:4]))

# The worst offender knows all payoffs and tonight's probabilities, but not the site we draw. Regret is exact: the value
# of the game minus the value of tonight's probabilities against him.
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

# One step of K-learning by hand: means and standard deviations of the payoffs give a mixed strategy, and a bound on the
# expected value of a night, with its certificate.
plan = games.solve(game.payoffs, 0.1 + 0.0 * game.payoffs)
print(f"\nnearly sure of all payoffs: a night is worth {plan.bound:.3f} at most, inspect with chances", end=" ")
print(" ".join(f"{p:.2f}" for p in plan.policy))
