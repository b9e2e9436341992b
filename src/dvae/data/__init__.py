"""Data from elsewhere: the cache folder, downloads, images."""

from dvae.data.cache import data_folder

__all__ = ["data_folder"]
