"""Methods of inference by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from ..errors import OptionError
from ..options import one_of
from .exact import Exact
from .gibbs import Gibbs
from .graph import Inference
from .loopy_bp import LoopyBP
from .tree_reweighted import TreeReweighted

__all__ = ["INFERENCES", "InferenceName", "make_inference"]

INFERENCES: dict[str, Callable[..., Inference]] = {
    inference.name: inference for inference in (LoopyBP, TreeReweighted, Exact, Gibbs)
}
InferenceName = Literal["loopy_bp", "trw", "exact", "gibbs"]
"""The names in INFERENCES, for type checkers."""


def make_inference(name: str, options: Mapping[str, Any] | None = None) -> Inference:
    """Return the method with a name and options.

    Raises:
        OptionError: no method has this name, or the method has no such option.

    Example:
        >>> from loglinear.networks.inference import make_inference
        >>> make_inference("loopy_bp", {"damping": 0.5})
        LoopyBP(damping=0.5, tolerance=1e-06, max_iterations=200, schedule='flooding', candidates='response')
    """
    one_of("inference", name, tuple(INFERENCES))
    try:
        return INFERENCES[name](**(options or {}))
    except TypeError as error:
        message = f"inference_options={options!r} are not valid for {name} ({error}); see loglinear.networks"
        raise OptionError(message) from error
