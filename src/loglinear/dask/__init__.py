"""Training and tagging on a Dask cluster: `pip install 'loglinear[distributed]'`.

`ChainCRF` and `MaxEnt` are the library's estimators for data that several machines share, and `train` is the same as
a function. The data are cut into parts, each a pure task that a worker reads and keeps; the solver runs in this process
and asks for values and gradients, which the workers add up in a tree that depends on the parts alone. The weights are
bitwise the same on any number of workers, and when workers are lost on the way.

Importing `loglinear` does not import Dask.
"""

from __future__ import annotations

from ..extras import needed_by

with needed_by("loglinear.dask"):
    import distributed  # noqa: F401

    from .chain import ChainCRF, train
    from .maxent import MaxEnt

__all__ = ["ChainCRF", "MaxEnt", "train"]
