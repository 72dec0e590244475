"""Tests of networks are a session of their own: JAX has threads, and other tests fork, which do not go together."""

import sys

import pytest

NETWORKS = ("tests/deep/", "deep_k_learning", "evidence/deep", "deep_agent", "DeepKLearning", "simulator_for_deep")


def pytest_configure(config: pytest.Config) -> None:
    if "networks" not in config.option.markexpr.replace("not networks", ""):
        sys.modules["jax"] = None  # type: ignore[assignment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(part in item.nodeid for part in NETWORKS):
            item.add_marker(pytest.mark.networks)


def pytest_ignore_collect(collection_path: object, config: pytest.Config) -> bool | None:
    if "/tests/deep" in str(collection_path) and sys.modules.get("jax", True) is None:
        return True
    return None
