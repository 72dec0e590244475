"""The paper's laws as code: each returns its two sides, so that a reader can check it on their own problem.

    belief = kl.Belief.empty(kl.Prior(kl.Beta(), kl.Dirichlet(1.0)), [1, 2], 2, [1.0])
    posterior = theory.quadrature(belief)                      # or theory.draws(belief), or theory.mixture([mdp, ...])
    law = theory.k_value_inequality(belief, posterior, tau=0.5, bonus="sharp")
    law.slack.min(), law.holds()

docs/reference/equations.md says which law is which equation of the paper.
"""

from klearning.lab.theory.bandits import (
    bandit_regret_bound,
    best_arm_chances,
    expected_maximum,
    mixture_value,
    thompson_is_optimistic,
    vbos_is_optimistic,
)
from klearning.lab.theory.bounds import breaks_assumption, lower_bound, regret_bound, theorem_arithmetic
from klearning.lab.theory.calibrated import (
    calibrated_regret,
    missed_on_path,
    optimism_identity,
    optimism_tangent,
    shared_phi,
)
from klearning.lab.theory.calibrated_vapor import (
    vapor_identity,
    vapor_pays_at_most,
    vapor_phi,
    vapor_regret,
    vapor_tangent,
)
from klearning.lab.theory.certainty import (
    Chain,
    bellman_inequality,
    certainty_equivalents,
    cumulant_inequality,
    k_value_inequality,
    maximal_chain,
    maximal_inequality,
    q_cumulants,
    sum_of_independents,
    tilde_cumulants,
)
from klearning.lab.theory.cumulants import dirichlet_cumulant, reward_bound, reward_cumulants
from klearning.lab.theory.dirichlet import Dominance, beta_over_dirichlet, dominance, gaussian_over_beta, widest_coin
from klearning.lab.theory.duality import (
    Episodes,
    Saddle,
    dual_value,
    flow_residual,
    lagrangian,
    mean_return,
    occupancy_of,
    optimum_against_schedule,
    saddle_point,
    strong_duality,
    temperature_is_optimal,
    weak_duality,
)
from klearning.lab.theory.ensembles import Ensemble, Estimate, draws, mixture, quadrature
from klearning.lab.theory.inequality import Inequality
from klearning.lab.theory.optimistic import fixed_point, mean_mdp, optimistic_operator, soft_maximum, variational
from klearning.lab.theory.pigeonhole import pigeonhole, pigeonhole_on_a_path
from klearning.lab.theory.unrolling import (
    big_delta,
    episode_regret,
    expected_q_values,
    little_delta,
    phi,
    unrolled,
    unrolling_bound,
)
from klearning.lab.theory.visits import positive_part_bound, two_budgets, visits_bound
from klearning.tabular.beliefs.distributions import beta_cumulant, gaussian_cumulant

__all__ = [
    "Chain",
    "Dominance",
    "Ensemble",
    "Episodes",
    "Estimate",
    "Inequality",
    "Saddle",
    "bandit_regret_bound",
    "bellman_inequality",
    "best_arm_chances",
    "beta_cumulant",
    "beta_over_dirichlet",
    "big_delta",
    "breaks_assumption",
    "calibrated_regret",
    "certainty_equivalents",
    "cumulant_inequality",
    "dirichlet_cumulant",
    "dominance",
    "draws",
    "dual_value",
    "episode_regret",
    "expected_maximum",
    "expected_q_values",
    "fixed_point",
    "flow_residual",
    "gaussian_cumulant",
    "gaussian_over_beta",
    "k_value_inequality",
    "lagrangian",
    "little_delta",
    "lower_bound",
    "maximal_chain",
    "maximal_inequality",
    "mean_mdp",
    "mean_return",
    "missed_on_path",
    "mixture",
    "mixture_value",
    "occupancy_of",
    "optimism_identity",
    "optimism_tangent",
    "optimistic_operator",
    "optimum_against_schedule",
    "phi",
    "pigeonhole",
    "pigeonhole_on_a_path",
    "positive_part_bound",
    "q_cumulants",
    "quadrature",
    "regret_bound",
    "reward_bound",
    "reward_cumulants",
    "saddle_point",
    "shared_phi",
    "soft_maximum",
    "strong_duality",
    "sum_of_independents",
    "temperature_is_optimal",
    "theorem_arithmetic",
    "thompson_is_optimistic",
    "tilde_cumulants",
    "two_budgets",
    "unrolled",
    "unrolling_bound",
    "vapor_identity",
    "vapor_pays_at_most",
    "vapor_phi",
    "vapor_regret",
    "vapor_tangent",
    "variational",
    "vbos_is_optimistic",
    "visits_bound",
    "weak_duality",
    "widest_coin",
]
