"""Filling in a table leaves every other cell as the file has it."""

from __future__ import annotations

import contextlib

import numpy as np

from loglinear import PairwiseMRF
from loglinear.cli.main import main
from loglinear.data.table import Table


def test_cells_of_other_columns_come_back_as_they_were_read(tmp_path):
    columns = [np.array([*values * 10], dtype=object) for values in ("abab", "cdcd")]
    columns[1][0] = "d"
    model, data, out = tmp_path / "model", tmp_path / "in.csv", tmp_path / "out.csv"
    PairwiseMRF(l1=1.0).fit(Table(["x", "y"], columns)).save(model)
    lines = ["note,x,y,n", "NA,a,{},007", '"  keep ""this""  ", a ,c,1.50', " b , b,{}, 3", '"1,5",b,d,null', ""]
    data.write_text("\n".join(lines).format("", "NA"))
    with contextlib.suppress(SystemExit):
        main(["tag", "-m", str(model), str(data), "-o", str(out)])
    assert out.read_text() == "\n".join(lines).format("c", "d")
