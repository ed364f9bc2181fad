"""Lines of files: where a token stands."""

from __future__ import annotations

import gzip

import pytest

from loglinear.data.lines import line_of

CONTENTS = {
    "columns": "a O\n\n\nb B-X\nc O\n \nd O\ne I-X\n",
    "crfsuite": "O\ta\n\n\nB-X\tb\nO\tc\n\nO\td\nI-X\te\n",
    "conllu": "# c\n1\ta\t_\tO\n\n# c\n1-2\tbc\t_\t_\n1\tb\t_\tB-X\n2\tc\t_\tO\n\n1\td\t_\tO\n# x\n2\te\t_\tI-X\n",
    "jsonl": '{"tokens": ["a"]}\n\n{"tokens": ["b", "c"]}\n{"tokens": ["d", "e"]}\n',
}


@pytest.mark.parametrize(("format", "line"), [("columns", 8), ("crfsuite", 8), ("conllu", 11), ("jsonl", 4)])
def test_a_token_is_found_in_its_file(format, line, tmp_path):
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(CONTENTS[format].encode()))
    assert line_of(str(path), format, 2, 1) == line_of(str(path), format, 2, 2) == line
    assert line_of(str(path), format, 9, 0) is None
