# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of `ebreport html` as data: the head, and columns of sections. Shares no code with either
end; written from report/page/columns.h."""

import base64
import gzip
import json
import re
import struct

SCRIPT = re.compile(r'<script type="([^"]*)" id="([^"]*)">(.*?)</script>', re.S)


def varints(data, rows):
    values, at = [], 0
    for _ in range(rows):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        values.append(value)
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes behind the last row")
    return values


def column_values(column, data, rows):
    if column["type"] == "bytes":
        return data
    if column["type"] == "f64":
        if len(data) != 8 * rows:
            raise ValueError("not a double for each row")
        return list(struct.unpack(f"<{rows}d", data))
    values = varints(data, rows)
    if column["zigzag"]:
        values = [value >> 1 ^ -(value & 1) for value in values]
    if column["delta"]:
        last = 0
        for i, value in enumerate(values):
            last = values[i] = last + value
    return values


class Page:
    """One trace of a page. section(name) gives {column: values}, without rows {}."""

    def __init__(self, document, number=0):
        scripts = {name: text for _, name, text in SCRIPT.findall(document)}
        self.head = json.loads(scripts["head"])["traces"][number]
        self.packed = {name.split("-", 2)[2]: text for name, text in scripts.items()
                       if name.startswith(f"s-{number}-")}
        self.known = {}

    def section(self, name):
        if name not in self.known:
            self.known[name] = self.decode(name)
        return self.known[name]

    def decode(self, name):
        described = self.head["sections"].get(name)
        if not described:
            return {}
        data = gzip.decompress(base64.b64decode(self.packed[name], validate=True))
        columns, at = {}, 0
        for column in described["columns"]:
            columns[column["name"]] = column_values(
                column, data[at:at + column["bytes"]], described["rows"])
            at += column["bytes"]
        if at != len(data):
            raise ValueError(f"{name}: {len(data)} bytes, {at} of columns")
        return columns

    def rows(self, name):
        """A dictionary for each row, without columns that are bytes."""
        columns = {key: values for key, values in self.section(name).items()
                   if not isinstance(values, bytes)}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def strings(self):
        section = self.section("strings")
        texts, at = [], 0
        for length in section.get("length", []):
            texts.append(section["text"][at:at + length].decode(errors="replace"))
            at += length
        return texts
