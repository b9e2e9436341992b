"""Fewer crossings by sifting: every vertex is moved to the best place of its layer, again and again.

Matuszewski, Schönfeld and Molitor, 1999. The places of a vertex are compared by walking it past one neighbour after
the other, since an exchange of two neighbours changes only the crossings of their own links.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from random import Random

Links = Sequence[Sequence[int]]  # of every vertex


def sift(order: list[list[int]], above: Links, below: Links, rounds: int, chance: Random) -> int:
    """Sifts all vertices in place, for so many rounds or until nothing is gained; returns what is gained."""
    place = {vertex: position for row in order for position, vertex in enumerate(row)}
    home = {vertex: row for row in order for vertex in row}
    vertices = [vertex for row in order if len(row) > 1 for vertex in row]
    total = 0
    for _ in range(rounds):
        chance.shuffle(vertices)
        gain = sum(_sift_one(vertex, home[vertex], place, above, below) for vertex in vertices)
        total += gain
        if gain == 0:
            break
    return total


def _sift_one(vertex: int, row: list[int], place: dict[int, int], above: Links, below: Links) -> int:
    """Moves one vertex to where it has fewest crossings; of equal places it takes the nearest."""
    start = place[vertex]
    sides = [sorted(place[other] for other in links[vertex]) for links in (above, below)]
    best, least = start, 0
    for way in (-1, 1):
        change, position = 0, start + way
        while 0 <= position < len(row):
            for links, own in zip((above, below), sides, strict=True):
                change += way * _exchanged(own, [place[other] for other in links[row[position]]])
            if change < least:
                best, least = position, change
            position += way
    if best != start:
        row.insert(best, row.pop(start))
        for position in range(min(start, best), max(start, best) + 1):
            place[row[position]] = position
    return -least


def _exchanged(own: Sequence[int], others: Sequence[int]) -> int:
    """Crossings that come, less those that go, when a vertex with sorted ends `own` steps over one to its right."""
    return sum(bisect_left(own, end) - (len(own) - bisect_right(own, end)) for end in others)
