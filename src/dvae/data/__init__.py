"""Data from elsewhere: the cache folder, downloads, images."""

from dvae.data.cache import data_folder
from dvae.data.downloads import fetch_cifar10
from dvae.data.images import ImageData, Images, load_images

__all__ = ["ImageData", "Images", "data_folder", "fetch_cifar10", "load_images"]
