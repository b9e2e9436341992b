"""What the page on a Bayesian network shows, without a browser: evidence in, drawings, beliefs and tables out."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dvae.bayesnet import (
    Belief,
    Confidence,
    Inference,
    Network,
    ParameterTable,
    network_class,
    parameter_table,
)
from dvae.errors import TaskError
from dvae.explorer import graph_view
from dvae.explorer.places import RequestError
from dvae.figures import NetworkEdge
from dvae.figures.networks import look_of, network_style

REMEMBERED = 64
KINDS = ("class", "DAG")

Evidence = Mapping[str, str | float]


class NetworkModel:
    """A network, how sure its edges are if that is known, and answers that are remembered."""

    def __init__(self, network: Network, title: str, confidence: Confidence | None = None) -> None:
        network.need_parameters()
        self.network, self.title, self.confidence = network, title, confidence
        self.kind = network_class(network)
        continuous = [variable.name for variable in network.variables if not variable.is_discrete]
        style = network_style(network.names, continuous)
        self._style = replace(style, background=None, edge=graph_view.EDGE)
        self._dag = network.dag
        self._remembered = lru_cache(REMEMBERED)(self._beliefs)
        self._lock = threading.Lock()

    def checked(self, evidence: object) -> dict[str, str | float]:
        """Evidence that a browser sent."""
        if not isinstance(evidence, Mapping):
            raise RequestError("the evidence is not a list of names and values")
        found: dict[str, str | float] = {}
        for name, value in evidence.items():
            if name not in self.network or isinstance(value, bool) or not isinstance(value, str | int | float):
                raise RequestError(f"the evidence names {name!r}, which is no variable of the network")
            found[str(name)] = value
        Inference(self.network, found)
        return found

    def name_at(self, place: object) -> str:
        """The variable at a place that a browser sent."""
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(self.network):
            raise RequestError("the network has no such variable")
        return self.network.names[place]

    def beliefs(self, evidence: Evidence) -> dict[str, Belief]:
        """What every other variable is, given some."""
        with self._lock:  # one exact answer at a time: each may take much memory
            return self._remembered(tuple(sorted(evidence.items())))

    def _beliefs(self, evidence: tuple[tuple[str, str | float], ...]) -> dict[str, Belief]:
        return Inference(self.network, dict(evidence)).beliefs()

    def toggled(self, evidence: Evidence, name: str, code: object) -> dict[str, str | float]:
        """The evidence with a state of a variable given, or no longer given if it was; refused if it cannot happen."""
        states = self.network[name].states
        if states is None or isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < len(states):
            raise RequestError(f"{name!r} has no such state")
        changed = {**evidence, name: states[code]}
        if evidence.get(name) == states[code]:
            del changed[name]
        self.beliefs(changed)
        return changed

    def with_number(self, evidence: Evidence, name: str, value: object) -> dict[str, str | float]:
        """The evidence with a number of a variable given."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise RequestError(f"give a number for {name!r}")
        changed = {**evidence, name: float(value) if not isinstance(value, str) else value}
        self.beliefs(changed)
        return changed

    def elements(self, kind: str, evidence: Evidence, selected: str | None) -> list[dict[str, Any]]:
        """The drawing: edges without direction have no arrow where the class is shown."""
        if kind not in KINDS:
            raise RequestError(f"there is no view {kind!r}")
        names = [str(label) for label in self._dag.types]
        parts = graph_view.named_elements(self._dag, self._style, names)
        for part in parts:
            data = part["data"]
            if "source" in data:
                self._dress(part, names[data["from"]], names[data["to"]], kind)
            elif "node" in data:
                name = names[data["node"]]
                marks = ["given"] * (name in evidence) + ["chosen"] * (name == selected)
                part["classes"] = " ".join(marks)
                data["name"] = name
        return parts

    def _dress(self, part: dict[str, Any], source: str, target: str, kind: str) -> None:
        sure = None if self.confidence is None else self.confidence.of(source, target)
        directed = kind == "DAG" or self.kind.mark(source, target) != "-"
        look = look_of(NetworkEdge(source, target, directed, sure))
        part["data"] |= {"thick": look.width, "note": look.note}
        part["classes"] = f"{part['classes']} {'directed' if directed else 'undirected'}".strip()

    def parameters(self, name: str) -> ParameterTable:
        """The table of a variable, or its lines."""
        return parameter_table(self.network, name)

    def edge_notes(self, name: str) -> list[str]:
        """The edges of a variable in words, with their confidence where it is known."""
        self.network[name]
        notes = []
        for source, target in self.network.edges:
            if name in (source, target):
                directed = self.kind.mark(source, target) != "-"
                sure = None if self.confidence is None else self.confidence.of(source, target)
                notes.append(look_of(NetworkEdge(source, target, directed, sure)).note)
        return notes

    def facts(self) -> str:
        """What the head of the page says of the network."""
        reversible = len(self.kind.undirected)
        words = [
            f"{len(self.network)} variables",
            f"{len(self.network.edges)} edges",
            f"{reversible} without direction",
        ]
        words.append(f"{self.network.num_parameters:,} parameters")
        if self.confidence is not None:
            words.append(f"confidence from {self.confidence.networks:,} resampled tables")
        return " · ".join(words)


def common_variables(network: Network, confidence: Confidence) -> None:
    """Refuses confidence of another network's edges."""
    if set(network.names) != set(confidence.variables):
        raise TaskError("the network and the confidence of edges do not have the same variables")
