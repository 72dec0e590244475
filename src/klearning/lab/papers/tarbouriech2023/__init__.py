"""Tarbouriech, Lattimore and O'Donoghue (2023), Probabilistic inference in reinforcement learning done right."""

from klearning.lab.papers.paper import Paper

PAPER = Paper(
    name="tarbouriech2023",
    title="Tarbouriech, Lattimore and O'Donoghue (2023), Probabilistic inference in reinforcement learning done right",
    home=__name__,
    remark="The bound is the paper’s; bonus, depths and sizes of the random worlds are ours.",
    leads=("VAPOR", "KLearning", "PSRL"),
)
