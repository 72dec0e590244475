"""The exact model of Gymnasium's Blackjack-v1, which has no `P`, to evaluate policies exactly.

Cards come from an infinite deck: 1 to 9 with probability 1/13 each, 10 with 4/13. The dealer draws below 17.
"""

from functools import cache

from klearning.tabular.models.mdp import MDP
from klearning.tabular.models.tabular import END

CARDS = {card: (4 if card == 10 else 1) / 13 for card in range(1, 11)}
SUMS, SHOWN = 32, 11  # sizes of Gymnasium's observation: player's sum, dealer's card (and a usable ace)
STICK, HIT = 0, 1
Hand = tuple[int, bool]  # sum, and whether an ace counts as 11 in it
Outcomes = list[tuple[float, int, float, bool]]


def add(hand: Hand, card: int) -> Hand:
    """A hand with one more card."""
    total, soft = hand[0] + card, hand[1]
    if card == 1 and total + 10 <= 21:
        total, soft = total + 10, True
    if total > 21 and soft:
        total, soft = total - 10, False
    return total, soft


@cache
def dealer(hand: Hand) -> dict[int, float]:
    """Probabilities of the dealer's final sums; 0 stands for more than 21."""
    if hand[0] > 21:
        return {0: 1.0}
    if hand[0] >= 17:
        return {hand[0]: 1.0}
    ends: dict[int, float] = {}
    for card, p in CARDS.items():
        for end, q in dealer(add(hand, card)).items():
            ends[end] = ends.get(end, 0.0) + p * q
    return ends


def number(total: int, shown: int, ace: bool) -> int:
    """An observation (sum, card, ace) as `SpaceIndex` numbers it."""
    return (total * SHOWN + shown) * 2 + ace


def transitions() -> dict[int, dict[int, Outcomes]]:
    """P[s][a] = [(probability, next state, reward, terminated), …], as Gymnasium's other toy-text environments have."""
    P = {}
    for total in range(SUMS):
        for shown in range(SHOWN):
            for ace in (False, True):
                s = number(total, shown, ace)
                P[s] = {STICK: _stick(s, total, shown), HIT: _hit(s, (total, ace), shown)}
    return P


def _stick(s: int, total: int, shown: int) -> Outcomes:
    probabilities = {1.0: 0.0, 0.0: 0.0, -1.0: 0.0}
    for end, p in dealer(add((0, False), shown) if shown else (17, False)).items():
        probabilities[float((total > end) - (total < end))] += p
    return [(p, s, r, True) for r, p in probabilities.items()]


def _hit(s: int, hand: Hand, shown: int) -> Outcomes:
    outcomes: Outcomes = []
    for card, p in CARDS.items():
        total, soft = add(hand, card)
        outcomes.append((p, s, -1.0, True) if total > 21 else (p, number(total, shown, soft), 0.0, False))
    return outcomes


class Model:
    """Blackjack for `MDP.from_gymnasium`: transitions and initial distribution."""

    def __init__(self) -> None:
        self.P = transitions()
        self.initial_state_distrib = [0.0] * len(self.P)
        for first, p in CARDS.items():
            for second, q in CARDS.items():
                for shown, r in CARDS.items():
                    total, ace = add(add((0, False), first), second)
                    self.initial_state_distrib[number(total, shown, ace)] += p * q * r


def blackjack(horizon: int = 12) -> MDP:
    """Blackjack-v1, with state 0 for END and observations numbered from 1."""
    assert END == 0
    return MDP.from_gymnasium(Model(), horizon, name="Blackjack-v1")
