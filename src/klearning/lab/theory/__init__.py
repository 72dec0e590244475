"""The paper's laws as code: each returns its two sides, so that a reader can check it on their own problem.

    belief = kl.Belief.empty(kl.Prior(kl.Beta(), kl.Dirichlet(1.0)), [1, 2], 2, [1.0])
    posterior = theory.quadrature(belief)                      # or theory.draws(belief), or theory.mixture([mdp, ...])
    law = theory.k_value_inequality(belief, posterior, tau=0.5, bonus="sharp")
    law.slack.min(), law.holds()

Laws without a page of their own are in the modules of this package, as `theory.duality.weak_duality`;
docs/reference/equations.md says which law is which equation of the paper.
"""

from klearning.lab.theory import calibrated as calibrated
from klearning.lab.theory import calibrated_vapor as calibrated_vapor
from klearning.lab.theory import optimistic as optimistic
from klearning.lab.theory import unrolling as unrolling
from klearning.lab.theory.bandits import bandit_regret_bound
from klearning.lab.theory.bounds import breaks_assumption, regret_bound, theorem_arithmetic
from klearning.lab.theory.certainty import certainty_equivalents, k_value_inequality
from klearning.lab.theory.cumulants import reward_bound
from klearning.lab.theory.dirichlet import dominance, widest_coin
from klearning.lab.theory.duality import optimum_against_schedule
from klearning.lab.theory.ensembles import Ensemble, draws, mixture, quadrature
from klearning.lab.theory.inequality import Inequality
from klearning.lab.theory.pigeonhole import pigeonhole, pigeonhole_on_a_path
from klearning.lab.theory.visits import positive_part_bound, two_budgets, visits_bound

__all__ = [
    "Ensemble",
    "Inequality",
    "bandit_regret_bound",
    "breaks_assumption",
    "certainty_equivalents",
    "dominance",
    "draws",
    "k_value_inequality",
    "mixture",
    "optimum_against_schedule",
    "pigeonhole",
    "pigeonhole_on_a_path",
    "positive_part_bound",
    "quadrature",
    "regret_bound",
    "reward_bound",
    "theorem_arithmetic",
    "two_budgets",
    "visits_bound",
    "widest_coin",
]
