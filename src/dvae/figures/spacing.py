"""Things in a row: as near as can be to where they want to be, in order, and not on top of each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Pull = tuple[float, float]  # a place and the weight that draws towards it


def separate(wanted: Sequence[float], gaps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The places nearest to `wanted` (least weighted squares) with place[k + 1] >= place[k] + gaps[k].

    Subtracting the running sum of the gaps makes this an isotonic regression, which pooling adjacent
    violators solves exactly.
    """
    offsets = _offsets(gaps)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, number of places
    for place, offset, weight in zip(wanted, offsets, weights, strict=True):
        mean, size = place - offset, 1
        while blocks and blocks[-1][0] >= mean:
            before, before_weight, before_size = blocks.pop()
            mean = (before * before_weight + mean * weight) / (before_weight + weight)
            weight += before_weight
            size += before_size
        blocks.append((mean, weight, size))
    return _spread(((mean, size) for mean, _, size in blocks), offsets)


def separate_medians(pulls: Sequence[Sequence[Pull]], gaps: Sequence[float]) -> list[float]:
    """As `separate`, for the least weighted sum of absolute distances: lines stay straight or bend once."""
    offsets = _offsets(gaps)
    blocks: list[tuple[float, list[Pull], int]] = []  # median, all pulls, number of places
    for places, offset in zip(pulls, offsets, strict=True):
        pool = [(place - offset, weight) for place, weight in places]
        median, size = _median(pool), 1
        while blocks and blocks[-1][0] >= median:
            _, before, before_size = blocks.pop()
            pool = before + pool
            size += before_size
            median = _median(pool)
        blocks.append((median, pool, size))
    return _spread(((median, size) for median, _, size in blocks), offsets)


def within(low: float, high: float, places: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places pushed up from `low` and then down from `high`, gaps kept; `high` wins over `low`."""
    kept = list(places)
    for k, place in enumerate(kept):
        kept[k] = max(place, kept[k - 1] + gaps[k - 1] if k else low)
    for k in reversed(range(len(kept))):
        kept[k] = min(kept[k], kept[k + 1] - gaps[k] if k + 1 < len(kept) else high)
    return kept


def _offsets(gaps: Sequence[float]) -> list[float]:
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    return offsets


def _spread(blocks: Iterable[tuple[float, int]], offsets: Sequence[float]) -> list[float]:
    anchors = [anchor for anchor, size in blocks for _ in range(size)]
    return [anchor + offset for anchor, offset in zip(anchors, offsets, strict=False)]


def _median(pulls: list[Pull]) -> float:
    pulls = sorted(pulls)
    half = sum(weight for _, weight in pulls) / 2
    reached = 0.0
    for place, weight in pulls:
        reached += weight
        if reached >= half:
            return place
    return pulls[-1][0]
