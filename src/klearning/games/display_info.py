"""How games are displayed: their names in words, and which parameter draws another game of the same kind."""

from klearning.tabular.worlds.display_info import DisplayInfo, Parameters

SAME_IDEA = {"Thompson": "PSRL", "Equilibrium": "OptimalAgent"}  # players and the agents of the same idea
OPPONENTS = {"BestResponse": "a best response", "Equilibrium": "the equilibrium"}  # in words, by class


def _plain(words: str) -> DisplayInfo:
    """Words for a game whose only parameter is its noise, if that is 1."""
    return DisplayInfo(lambda p: words if p.get("noise", 1.0) == 1.0 else "")


def _drawn(p: Parameters) -> str:
    return "" if "seed" in p else f"{p['rows']} × {p['columns']} games drawn from the prior"


def _markov(p: Parameters) -> str:
    return "" if "seed" in p else "Markov games drawn from the prior"


DISPLAY_INFO = {
    "rock_paper_scissors": _plain("rock-paper-scissors"),
    "idle_threat": _plain("idle threat"),
    "random_game": DisplayInfo(_drawn, drawn_by="seed"),
    "random_markov_game": DisplayInfo(_markov, drawn_by="seed"),
}
