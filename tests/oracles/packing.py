"""Compression by other libraries, for tests of what loglinear reads and writes."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pyarrow


def _zstd(text: bytes) -> bytes:
    return bytes(pyarrow.compress(text, "zstd", asbytes=True))


def _from_zstd(packed: bytes) -> bytes:
    return bytes(pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd").read())


# Functions that compress a text, by the end of a file's name, and functions that undo it.
PACKED = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": _zstd}
UNPACKED = {".gz": gzip.decompress, ".xz": lzma.decompress, ".bz2": bz2.decompress, ".zst": _from_zstd}
