"""O'Donoghue (2021), Variational Bayesian reinforcement learning with regret bounds: a module a figure."""

from klearning.lab.papers.odonoghue2021.protocols import PROTOCOLS
from klearning.lab.papers.paper import Paper

PAPER = Paper(
    name="odonoghue2021",
    title="O'Donoghue (2021), Variational Bayesian reinforcement learning with regret bounds",
    home=__name__,
    protocols=PROTOCOLS,
    remark="‘Fitted’ settings were tried until the paper’s sentences on depth 50 came true; "
    "neither setting is known to be the author’s.",
    leads=("KLearning", "SoftQLearning", "PSRL"),
)
