"""One family of errors. Each is also the built-in a Python user would expect to catch.

The command line prints the message of any `DvaeError` as one sentence and exits with code 2; every other
exception is a defect in this package.
"""

from __future__ import annotations


class DvaeError(Exception):
    """The caller gave something this package cannot work with."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())  # what came may hold line breaks; a message has one line


class DagError(DvaeError, ValueError):
    """A graph that is not an acyclic labelled graph."""


class FormatError(DvaeError, ValueError):
    """A file that does not hold what it should; the message names the file and the line."""

    @classmethod
    def at(cls, path: object, line: int, problem: str) -> FormatError:
        return cls(f"{path}:{line}: {problem}")


class TaskError(DvaeError, ValueError):
    """An unknown task, or a DAG that does not belong to the task.

    `problem` is the sentence without the number of the DAG, for callers who name it otherwise.
    """

    def __init__(self, problem: str, *, dag: int | None = None) -> None:
        super().__init__(problem if dag is None else f"DAG {dag} {problem}")
        self.problem = problem if dag is None else f"the DAG {problem}"


class MisfitError(TaskError):
    """A DAG, one of several, that does not belong to the task; `problem` is a predicate, as in "has a cycle"."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(problem, dag=number)
        self.number = number


class ConfigError(DvaeError, ValueError):
    """A setting that is unknown, of the wrong type or out of range."""


class CheckpointError(DvaeError, ValueError):
    """Saved weights or state that do not fit the model they are loaded into."""


class StorageError(DvaeError, OSError):
    """A file that could not be written, as on a full or read-only disk; what was there before is whole."""


class InUseError(DvaeError, RuntimeError):
    """A folder that another process is writing into."""


class DivergedError(DvaeError, ArithmeticError):
    """A training whose loss or weights are no longer finite; the command line ends with code 1."""


class MissingError(DvaeError, FileNotFoundError):
    """A file, a data set or an optional package that is not there; the message says how to get it."""


class DeviceError(DvaeError, RuntimeError):
    """A device or a way of using it that this machine does not offer."""


class MemoryLimitError(DvaeError, MemoryError):
    """Graphs that are too large for the memory; the message has the estimate and the setting to change."""


class StudyError(DvaeError, ValueError):
    """A study that is not there, or that was made for something else."""


class PrunedError(Exception):
    """Raised inside a score by its `report`: this candidate is not worth finishing. No error of the caller's."""
