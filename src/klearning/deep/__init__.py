"""Networks: deep K-learning, behind the extra `deep` (JAX and optax)."""
