"""Tables I-V and figures 2, 3, 5-13 of Mathur & Chakrabarti (2010): quasi-Newton training over clusters of features.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/mathur2010.py --json docs/papers/mathur2010.json \
        --figures docs/papers

Tables I-V and figures 2, 3 and 5-9, on texts, are in text_clusters.py; figures 10-13, named entities, in
crf_clusters.py.
"""

from __future__ import annotations

from crf_clusters import entities
from findings import Findings
from tasks import options
from text_clusters import studied


def main() -> None:
    parser = options(__doc__, ["reuters", "conll2002-dutch"])
    parser.add_argument("--repeats", type=int, default=3, help="trainings whose median time counts")
    parser.add_argument("--seconds", type=float, default=400.0, help="limit on each training of the CRF")
    arguments = parser.parse_args()
    findings = Findings("mathur2010", arguments)
    if arguments.quick:
        arguments.repeats, arguments.seconds = 1, min(arguments.seconds, 3.0)
    if "reuters" in arguments.tasks:
        studied(findings, arguments)
    if "conll2002-dutch" in arguments.tasks:
        entities(findings, arguments)


if __name__ == "__main__":
    main()
