"""How games are shown: their names in words, and which of their parameters draws another game of one kind."""

from klearning.tabular.worlds.stages import Parameters, Stage

KIN = {"Thompson": "PSRL", "Equilibrium": "Optimal"}  # players and the agents of the same idea
OPPONENTS = {"BestResponse": "a best response", "Equilibrium": "the equilibrium"}  # in words, by class


def _plain(words: str) -> Stage:
    """Words for a game whose one parameter is its noise, where that is 1."""
    return Stage(lambda p: words if p.get("noise", 1.0) == 1.0 else "")


def _drawn(p: Parameters) -> str:
    return "" if "seed" in p else f"{p['rows']} × {p['columns']} games drawn from the prior"


STAGES = {
    "rock_paper_scissors": _plain("rock-paper-scissors"),
    "idle_threat": _plain("idle threat"),
    "random_game": Stage(_drawn, drawn_by="seed"),
    "random_markov_game": Stage(lambda p: "" if "seed" in p else "Markov games drawn from the prior", drawn_by="seed"),
}
