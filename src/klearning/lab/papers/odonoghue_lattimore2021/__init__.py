"""O'Donoghue and Lattimore (2021), Variational Bayesian optimistic sampling: its bandits."""

from klearning.lab.papers.paper import Paper

PAPER = Paper(
    name="odonoghue_lattimore2021",
    title="O'Donoghue and Lattimore (2021), Variational Bayesian optimistic sampling",
    home=__name__,
    remark="The theorem and the set of optimistic mixtures are the paper’s; sizes and priors of the bandits are ours.",
    leads=("VBOS", "KLearning", "PSRL"),
)
