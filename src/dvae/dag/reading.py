"""Files of DAGs, told apart by their names: JSONL, DOT, GraphML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dvae.dag.convert import from_networkx
from dvae.dag.dot import all_from_dot
from dvae.dag.jsonl import ScoredDag, load_jsonl
from dvae.dag.limits import check_size
from dvae.dag.lines import FilePath
from dvae.errors import DagError, FormatError, MissingError

DOT_ENDINGS = (".dot", ".gv")
GRAPHML_ENDING = ".graphml"
MAX_TEXT_BYTES = 64 * 2**20  # of a DOT or GraphML file, which is read as a whole
TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".parquet")


def load_dags(path: FilePath) -> list[ScoredDag]:
    """All DAGs of a file: JSONL, several DOT graphs one after another, or one graph in GraphML."""
    name = Path(path).name.lower()
    if name.endswith(TABLE_ENDINGS):
        raise FormatError(
            f"{path} is a table, not a file of DAGs: for Bayesian networks over its columns name the task bn:{path}; "
            "DAGs are read from JSONL, DOT (.dot) and GraphML (.graphml)"
        )
    if not name.endswith((*DOT_ENDINGS, GRAPHML_ENDING)):
        return load_jsonl(path)
    dags = all_from_dot(_text(path), str(path)) if name.endswith(DOT_ENDINGS) else [_graphml(path)]
    for dag in dags:
        try:
            check_size(len(dag), len(dag.edges))
        except DagError as error:
            raise FormatError(f"{path}: {error}") from None
    return [ScoredDag(dag) for dag in dags]


def _graphml(path: FilePath) -> Any:
    """One graph; the type of a node is its attribute `type` or, without one, `label`, or else its name."""
    import networkx

    _text(path)  # a file that is not there or not text is said in our words
    try:
        graph = networkx.read_graphml(path)
    except Exception as error:  # whatever an XML parser or networkx raises
        raise FormatError(
            f"{path}: not GraphML ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
        ) from None
    for node, attributes in graph.nodes(data=True):
        if "type" not in attributes:
            attributes["type"] = attributes.pop("label", node)
    try:
        return from_networkx(graph)
    except DagError as error:
        raise FormatError(f"{path}: {error}") from None


def _text(path: FilePath) -> str:
    try:
        if Path(path).stat().st_size > MAX_TEXT_BYTES:
            raise FormatError(f"{path}: the file is longer than {MAX_TEXT_BYTES:,} bytes; JSONL has no such limit")
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingError(f"the file {path} does not exist") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start + 1} is not UTF-8") from None
    except OSError as error:
        raise FormatError(f"{path}: the file cannot be read ({error.strerror})") from None
