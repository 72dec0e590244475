"""Columns as a pandas data frame."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(columns: "Mapping[str, Sequence[Any]]") -> "DataFrame":
    """A DataFrame of these columns, in this order."""
    try:
        from pandas import DataFrame
    except ImportError:
        raise ImportError("data frames need pandas: pip install pandas") from None
    return DataFrame(dict(columns))
