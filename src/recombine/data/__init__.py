"""Sets of images with labels: fetched by name, verified by hash, and loaded as arrays."""

from recombine.data.fetching import get
from recombine.data.loading import images
from recombine.data.places import directory
from recombine.data.sets import SETS, DataSet, find
from recombine.data.verifying import State, state, verify

__all__ = ["SETS", "DataSet", "State", "directory", "find", "get", "images", "state", "verify"]
