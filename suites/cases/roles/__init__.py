"""Roles: what operators need of their inputs whatever the recipe, as data tables, one module a kind."""

from __future__ import annotations

from collections.abc import Mapping

from suites.cases.node import Node
from suites.cases.roles import contributed, domains, indices, layers, quantization, regions
from suites.cases.roles.role import Role

ROLES: Mapping[str, Mapping[str, Role]] = {
    **domains.ROLES,
    **indices.ROLES,
    **quantization.ROLES,
    **contributed.ROLES,
    **layers.ROLES,
    **regions.ROLES,
}
"""Operator → tensor → role; each operator stands in one module."""


def role_of(node: Node, name: str) -> Role | None:
    """The role of a tensor, None if the recipe's values are fit for it."""
    return ROLES.get(node.operator, {}).get(name)
