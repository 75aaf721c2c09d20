"""Which nodes run together on the device: maximal connected subgraphs that no path leaves and enters again."""

from __future__ import annotations

from collections.abc import Sequence

import onnx


def tensors_of(node: onnx.NodeProto) -> list[str]:
    """What a node reads, tensors of the graph around its branches included, each as often as it is read."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            made = {name for inner in graph.node for name in inner.output} | {value.name for value in graph.input}
            made |= {tensor.name for tensor in graph.initializer}
            used = [name for inner in graph.node for name in tensors_of(inner)] + [value.name for value in graph.output]
            names.extend(name for name in used if name not in made)
    return names


def partitions(nodes: Sequence[onnx.NodeProto], on_device: Sequence[bool]) -> list[int | None]:
    """Number of the partition of every node, None on the host. The nodes are in topological order.

    Two partitions become one where an edge joins them, unless a path leads from one to the other through a third.
    """
    producers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    before = [{producers[name] for name in tensors_of(node) if name in producers} for node in nodes]
    group = list(range(len(nodes)))
    whole = all(on_device)
    for index, sources in enumerate(before):
        for source in sorted(sources):
            one, other = group[source], group[index]
            if not (on_device[source] and on_device[index]) or one == other:
                continue
            if whole or not _detour(before, group, one, other):
                group = [one if g == other else g for g in group]
    numbers: dict[int, int] = {}
    return [numbers.setdefault(g, len(numbers)) if there else None for g, there in zip(group, on_device, strict=True)]


def _detour(before: Sequence[set[int]], group: Sequence[int], start: int, end: int) -> bool:
    """Whether a path leads from one group to another through a third."""
    after: dict[int, set[int]] = {}
    for index, sources in enumerate(before):
        for source in sources:
            after.setdefault(group[source], set()).add(group[index])
    reached: set[int] = set()
    waiting = after.get(start, set()) - {start, end}
    while waiting:
        reached |= waiting
        following = set().union(*(after.get(current, ()) for current in waiting))
        if end in following:
            return True
        waiting = following - reached
    return False
