"""What tests of every kind rely on: Ctrl-C, threads that do not fight, and how many examples Hypothesis tries."""

import gc
import os
import signal

from hypothesis import settings

from budget import *  # noqa: F403 - its hooks
from examples import NIGHT

# Several workers share the processors: NumPy's linear algebra keeps to one thread in each. Nothing above imports NumPy.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# By day few examples, the same every time; at night many, and others every time.
settings.register_profile("push", derandomize=True, database=None, deadline=None, max_examples=NIGHT // 6)
settings.register_profile("night", derandomize=False, deadline=None, max_examples=NIGHT)
# The option --hypothesis-profile comes later, and has the last word.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "push"))


def pytest_configure() -> None:
    """Let Ctrl-C interrupt, also where a shell has started the tests in the background and had it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems() -> None:
    """Leave tests and modules out of garbage collections, which would look at a million objects that always stay."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Run one more worker than there are processors: tests that wait would leave a third of the time idle."""
    return (os.cpu_count() or 1) + 1
