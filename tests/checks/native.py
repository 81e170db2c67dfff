# SPDX-License-Identifier: GPL-2.0-or-later
"""ClickHouse's format Native, as far as `ebreport export --to clickhouse` writes it."""

import struct

NUMBERS = {"UInt8": "B", "UInt32": "I", "UInt64": "Q", "Int64": "q", "Date": "H", "DateTime64(9, 'UTC')": "q"}


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise ValueError(f"{size} bytes are missing at {self.at}")
        self.at += size
        return self.data[self.at - size:self.at]

    def length(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def numbers(self, code, n):
        return list(struct.unpack(f"<{n}{code}", self.take(n * struct.calcsize(code))))

    def string(self):
        return self.take(self.length())


def column(data, kind, n):
    if kind in NUMBERS:
        return data.numbers(NUMBERS[kind], n)
    if kind == "String":
        return [data.string() for _ in range(n)]
    if kind == "UUID":
        return [data.take(8)[::-1] + data.take(8)[::-1] for _ in range(n)]
    if kind.startswith("Array("):
        ends = data.numbers("Q", n)
        elements = column(data, kind[len("Array("):-1], ends[-1] if ends else 0)
        return [elements[begin:end] for begin, end in zip([0] + ends, ends)]
    if kind != "LowCardinality(String)":
        raise ValueError(f"a column is of type {kind}")
    if data.numbers("Q", 2) != [1, 0x602]:
        raise ValueError("a dictionary of another kind")
    words = [data.string() for _ in range(*data.numbers("Q", 1))]
    if words[0] or len(set(words)) != len(words) or data.numbers("Q", 1) != [n]:
        raise ValueError("a dictionary is not as it should be")
    return [words[number] for number in data.numbers("I", n)]


def blocks(content):
    """Of a file: {name of a column: values}, one a block."""
    data = Bytes(content)
    while data.at < len(content):
        n_columns, rows = data.length(), data.length()
        block = {}
        for _ in range(n_columns):
            name = data.string().decode()
            block[name] = column(data, data.string().decode(), rows)
        yield block
