"""O'Donoghue, Lattimore and Osband (2021), Matrix games with bandit feedback: regret against four opponents."""

from klearning.lab.papers.paper import Paper

PAPER = Paper(
    name="odonoghue_lattimore_osband2021",
    title="O'Donoghue, Lattimore and Osband (2021), Matrix games with bandit feedback",
    home=__name__,
    remark="Agents and sentences are the paper’s; the game with an idle threat and all sizes are ours.",
)
