"""Form encoding as the SDK sends it: brackets for nesting, lists by index."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

from counterfoil.simulator.refusals import ApiError


def decode(text: str) -> dict[str, Any]:
    """
    ``line_items[0][price_data][currency]=gbp`` as nested dicts and lists.

    Raises:
        ApiError: The keys contradict each other.
    """
    tree: dict[str, Any] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        path = key.replace("]", "").split("[")
        node: Any = tree
        for part, following in pairwise(path):
            node = node.setdefault(part or str(len(node)), {})
            if not isinstance(node, dict):
                raise ApiError(400, f"Invalid parameter: {key} ({following})", param=key)
        node[path[-1] or str(len(node))] = value
    return {key: _lists(value, key) for key, value in tree.items()}


def _lists(node: Any, name: str) -> Any:
    if not isinstance(node, dict):
        return node
    items = {key: _lists(value, key) for key, value in node.items()}
    # What is numbered is a list; but metadata has whatever keys its owner gave it.
    if items and name != "metadata" and all(key.isdigit() for key in items):
        return [items[key] for key in sorted(items, key=int)]
    return items
