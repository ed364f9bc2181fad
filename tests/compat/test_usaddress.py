"""The model of usaddress, from python-crfsuite, on addresses: labels, marginals and probabilities are the peer's."""

from __future__ import annotations

import csv
import html
import os
import re
from itertools import islice
from pathlib import Path

import pycrfsuite as peer
import pytest

from loglinear.compat import pycrfsuite as ours

DATA = Path(os.environ.get("LOGLINEAR_DATA", "")) / "usaddress"
pytestmark = pytest.mark.skipif(
    not ("LOGLINEAR_DATA" in os.environ and DATA.is_dir()), reason="LOGLINEAR_DATA has no folder usaddress"
)
TABLES = ("allegheny.csv", "cook.csv", "nyc.csv", "us_addrs_cases.csv")
COLLECTIONS = ("labeled-test.xml", "labeled.xml", "synthetic_clean_osm_data.xml")


def addresses(name):
    """The addresses of a file, as lists of words."""
    if name.endswith(".csv"):
        with open(DATA / name, encoding="utf-8", newline="") as file:
            texts = [row["raw_address"] for row in csv.DictReader(file)]
    else:
        # One of the collections is no well-formed XML.
        texts = re.findall("<AddressString>(.*?)</AddressString>", (DATA / name).read_text(encoding="utf-8"), re.DOTALL)
        texts = [html.unescape(re.sub("<[^>]*>", "", text)) for text in texts]
    return [words for text in texts if (words := re.findall(r"[^\s,;#&]+[,;]?|[#&]", text))]


def word_features(word):
    """Features of a word, named as the model's are; nested dicts take them over for its neighbours."""
    core = re.sub(r"^\W+|[^\w.]+$", "", word).lower()
    plain = core.replace(".", "")
    number = plain.isdigit()
    zeros = len(plain) - len(plain.rstrip("0"))
    return {
        "abbrev": core.endswith("."),
        "digits": "all_digits" if number else "some_digits" if re.search(r"\d", plain) else "no_digits",
        "word": False if number else plain,
        "trailing.zeros": plain[len(plain) - zeros :] if number else False,
        "length": f"{'d' if number else 'w'}:{len(plain)}",
        "endsinpunc": word[-1] if word[-1] in ",;)" else False,
        "directional": plain in {"n", "s", "e", "w", "north", "south", "east", "west", "nw", "ne", "sw", "se"},
        "street_name": plain in {"st", "street", "ave", "avenue", "rd", "road", "dr", "drive", "blvd", "ln", "lane"},
        "has.vowels": re.search("[aeiou]", plain[1:]) is not None,
    }


def items_of(words):
    features = [word_features(word) for word in words]
    features[0]["address.start"] = features[-1]["address.end"] = True
    plain = [dict(each) for each in features]
    for at, each in enumerate(features):
        if at:
            each["previous"] = plain[at - 1]
        if at + 1 < len(features):
            each["next"] = plain[at + 1]
    return features


@pytest.fixture(scope="module")
def taggers():
    both = ours.Tagger(), peer.Tagger()
    for tagger in both:
        tagger.open(str(DATA / "usaddr.crfsuite"))
    return both


def compare(taggers, sequences):
    mine, theirs = taggers
    names = mine.labels()
    assert names == theirs.labels()
    known = 0
    for words in sequences:
        items = items_of(words)
        labels = mine.tag(items)
        assert labels == theirs.tag(items), words
        known += len(set(labels))
        assert mine.probability(labels) == pytest.approx(theirs.probability(labels), abs=1e-9)
        for position in range(len(words)):
            assert [mine.marginal(name, position) for name in names] == pytest.approx(
                [theirs.marginal(name, position) for name in names], abs=1e-9
            )
    assert known > 2 * len(sequences)  # the features are the model's


@pytest.mark.parametrize("name", [*TABLES, *COLLECTIONS])
def test_some_addresses_have_the_peers_labels_and_probabilities(taggers, name):
    every = addresses(name)
    compare(taggers, list(islice(every, 0, None, max(len(every) // 60, 1))))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TABLES, *COLLECTIONS])
def test_all_addresses_have_the_peers_labels_and_probabilities(taggers, name):
    compare(taggers, addresses(name))


def test_the_dump_is_the_peers_byte_for_byte(taggers, tmp_path):
    for number, tagger in enumerate(taggers):
        tagger.dump(str(tmp_path / str(number)))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    # The peer cannot parse its own dump here: an attribute has a line's end in its name.
    info = taggers[0].info()
    assert (len(info.labels), len(info.attributes)) == (29, 1270)
    assert len(info.transitions) + len(info.state_features) == 2605
