# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of protobuf by their description, for checks: with arithmetic of its own.

    Proto("pprof.proto").decode("Profile", data) is {field: value}, of repeated fields {field: [value, …]}

Fields that are not there have their default. ValueError: bytes that are no such message, fields that
the description lacks, or text that is not UTF-8.
"""

import re
import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
WIRE = {"fixed64": FIXED64, "double": FIXED64, "sfixed64": FIXED64, "fixed32": FIXED32, "float": FIXED32,
        "sfixed32": FIXED32}
FORMAT = {"fixed64": "<Q", "sfixed64": "<q", "double": "<d", "fixed32": "<I", "sfixed32": "<i", "float": "<f"}
SIGNED = ("int32", "int64")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a number of more than ten bytes")


class Field:
    def __init__(self, repeated, kind, name):
        self.repeated, self.kind, self.name = bool(repeated), kind, name


class Proto:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"//[^\n]*", "", file.read())
        self.messages, self.enums, within = {}, set(), []
        for line in re.split(r"[;{]|(?<=})", text):
            line = line.strip()
            if match := re.fullmatch(r"(message|enum|oneof)\s+(\w+)", line):
                within.append(match[2] if match[1] != "oneof" else None)
                if match[1] == "enum":
                    self.enums.add(match[2])
                elif match[1] == "message":
                    self.messages[match[2]] = {}
            elif line.startswith("}"):
                within.pop()
            elif match := re.match(r"(?:(repeated|optional)\s+)?([\w.]+)\s+(\w+)\s*=\s*(\d+)", line):
                message = next(name for name in reversed(within) if name)
                if message not in self.enums and match[2] != "option":
                    kind = match[2].rpartition(".")[2]
                    self.messages[message][int(match[4])] = Field(match[1] == "repeated", kind, match[3])

    def default(self, field):
        if field.repeated:
            return []
        return {"string": "", "bytes": b"", "bool": False}.get(field.kind, None if field.kind in self.messages else 0)

    def scalar(self, field, value):
        if field.kind in SIGNED:
            return value - (1 << 64) if value >> 63 else value
        if field.kind in ("sint32", "sint64"):
            return (value >> 1) ^ -(value & 1)
        return bool(value) if field.kind == "bool" else value

    def number(self, field, data, at):
        if field.kind in FORMAT:
            size = struct.calcsize(FORMAT[field.kind])
            return struct.unpack(FORMAT[field.kind], data[at:at + size])[0], at + size
        value, at = varint(data, at)
        return self.scalar(field, value), at

    def take(self, message, field, data):
        if field.kind in self.messages:
            value = self.decode(field.kind, data, None if field.repeated else message[field.name])
        elif field.kind == "string":
            value = data.decode("utf-8")
        elif field.kind == "bytes":
            value = bytes(data)
        elif field.repeated:
            at = 0
            while at < len(data):
                value, at = self.number(field, data, at)
                message[field.name].append(value)
            return
        else:
            raise ValueError(f"{field.name} is no text")
        if field.repeated:
            message[field.name].append(value)
        else:
            message[field.name] = value

    def decode(self, name, data, into=None):
        """into: of the same message, which this is another part of."""
        fields = self.messages[name]
        message = into or {field.name: self.default(field) for field in fields.values()}
        at = 0
        try:
            while at < len(data):
                tag, at = varint(data, at)
                field = fields.get(tag >> 3)
                if not field:
                    raise ValueError(f"{name} has no field {tag >> 3}")
                if tag & 7 == BYTES:
                    size, at = varint(data, at)
                    if size > len(data) - at:
                        raise ValueError(f"{name}.{field.name} is cut")
                    self.take(message, field, data[at:at + size])
                    at += size
                    continue
                if field.kind in self.messages or field.kind in ("string", "bytes") or \
                        tag & 7 != WIRE.get(field.kind, VARINT):
                    raise ValueError(f"{name}.{field.name} is of wire type {tag & 7}")
                value, at = self.number(field, data, at)
                if field.repeated:
                    message[field.name].append(value)
                else:
                    message[field.name] = value
        except (IndexError, struct.error) as error:
            raise ValueError(f"{name} is cut") from error
        return message
