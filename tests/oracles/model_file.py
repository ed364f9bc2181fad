"""Model files taken apart and put together again with another content: the format of `native/src/files/model_file.rs`.

The checksum is XXH3 of 64 bits, seed 0, of more than 240 bytes, as its specification has it.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

_MASK = 2**64 - 1
_PRIMES32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIMES64 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d"
    "8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc"
    "8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


@dataclass
class ModelFile:
    """The content of a file.

    Attributes:
        metadata: texts by name; settings and labels are JSON.
        tensors: type, shape and bytes by name, as they stand in the file.
    """

    metadata: dict[str, str]
    tensors: dict[str, tuple[str, list[int], bytes]]

    @classmethod
    def of_bytes(cls, content: bytes) -> ModelFile:
        (length,) = struct.unpack("<Q", content[:8])
        header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
        metadata = header.pop("__metadata__")
        assert content[-8:] == checksum(content[:-8])
        places = sorted(header.items(), key=lambda item: item[1]["data_offsets"])
        return cls(
            metadata,
            {
                name: (each["dtype"], each["shape"], data[slice(*each["data_offsets"])])
                for name, each in places
                if name != "xxh3"
            },
        )

    def to_bytes(self) -> bytes:
        header: dict[str, object] = {"__metadata__": self.metadata}
        data = b""
        for name, (dtype, shape, content) in [*self.tensors.items(), ("xxh3", ("U8", [8], bytes(8)))]:
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        content = struct.pack("<Q", len(text)) + text + data[:-8]
        return content + checksum(content)

    @property
    def settings(self):
        """The settings; assign them to change them."""
        return json.loads(self.metadata["settings"])

    @settings.setter
    def settings(self, settings) -> None:
        self.metadata["settings"] = json.dumps(settings)

    def weights(self) -> dict[str, int]:
        """Names of the tensors of weights, and how many each has."""
        return {name: shape[0] for name, (dtype, shape, _) in self.tensors.items() if dtype == "F64" and shape[0]}

    def set_weight(self, name: str, at: int, value: float) -> None:
        """Change a weight."""
        dtype, shape, content = self.tensors[name]
        changed = content[: 8 * at] + struct.pack("<d", value) + content[8 * at + 8 :]
        self.tensors[name] = dtype, shape, changed


def _words(content: bytes, at: int) -> tuple[int, ...]:
    return struct.unpack_from("<8Q", content, at)


def checksum(content: bytes) -> bytes:
    """XXH3 of more than 240 bytes, as they stand in the file."""
    size = len(content)
    assert size > 240
    (p1, p2, p3, p4, p5), (q1, q2, q3) = _PRIMES64, _PRIMES32
    sums = [q3, p1, p2, p3, p4, q2, p5, q1]

    def add(at: int, secret: int) -> None:
        for i, (value, word) in enumerate(zip(_words(content, at), _words(_SECRET, secret), strict=True)):
            key = value ^ word
            sums[i ^ 1] = sums[i ^ 1] + value & _MASK
            sums[i] = sums[i] + (key & 0xFFFFFFFF) * (key >> 32) & _MASK

    last = (size - 1) // 64
    for stripe in range(last):
        add(64 * stripe, 8 * (stripe % 16))
        if stripe % 16 == 15:
            for i, word in enumerate(_words(_SECRET, 128)):
                sums[i] = ((sums[i] ^ sums[i] >> 47) ^ word) * q1 & _MASK
    add(size - 64, 121)
    found = size * p1 & _MASK
    mixed = [value ^ word for value, word in zip(sums, _words(_SECRET, 11), strict=True)]
    for i in range(0, 8, 2):
        product = mixed[i] * mixed[i + 1]
        found = found + ((product & _MASK) ^ (product >> 64)) & _MASK
    found = (found ^ found >> 37) * 0x165667919E3779F9 & _MASK
    return struct.pack("<Q", found ^ found >> 32)
