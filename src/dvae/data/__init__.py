"""Where graphs come from: files, samplers, and their fixed splits."""

from dvae.data.sources import data_folder, make_dataset, read_dags, split

__all__ = ["data_folder", "make_dataset", "read_dags", "split"]
