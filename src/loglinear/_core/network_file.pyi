"""Files of networks."""

import numpy as np
import numpy.typing as npt

class NetworkFile:
    """The content of a network's file: settings in JSON, two variables for each edge, and the scores."""

    @property
    def settings(self) -> str: ...
    @property
    def edges(self) -> npt.NDArray[np.uint32]: ...
    @property
    def node_weights(self) -> npt.NDArray[np.float64]: ...
    @property
    def edge_weights(self) -> npt.NDArray[np.float64]: ...

def write_network(
    path: str,
    settings: str,
    edges: npt.NDArray[np.uint32],
    node_weights: npt.NDArray[np.float64],
    edge_weights: npt.NDArray[np.float64],
) -> None: ...
def read_network(path: str) -> NetworkFile: ...
