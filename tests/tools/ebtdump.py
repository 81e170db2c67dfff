#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A second reader of .ebt files, written from docs/FORMAT.md alone.

    ebtdump.py FILE           prints the text of section 7, as `ebreport dump` does
    ebtdump.py --check FILE   checks what a writer promises: index, footer, order, watermarks

It needs Python's standard library and the `zstd` command. It ignores index and footer, scanning
the chunks instead, so that it reads damaged files too. It is a check on the page and on libebt,
not a tool for large files: everything is kept in memory.

Exit status: 0; 1 the file is no .ebt file, or --check found something.
"""

import functools
import struct
import subprocess
import sys

FILE_MAGIC = b"\x89EBT\r\n\x1a\n"
CHUNK_MAGIC = b"EBTC"
FOOTER_MAGIC = b"EBTF"
FILE_HEADER_LEN = CHUNK_HEADER_LEN = 96
FOOTER_LEN = 64

MAX_HEADER = 4096
MAX_RAW = 16 << 20
MAX_STORED = MAX_RAW + (64 << 10)
MAX_ROWS = 1 << 20
MAX_DICT = 1 << 20
MAX_STRING = 1 << 20
MAX_FRAMES = 1024
MAX_FIELDS = 64
MAX_DECODED = 128 << 20

TYPE_TABLE = 1
FLAG_ZSTD, FLAG_CRITICAL = 1, 2
FEATURE_WINDOW = 1
FEATURE_HOSTS = 2
ENC_CONST, ENC_VARINT, ENC_ZIGZAG, ENC_DELTA, ENC_FIXED = range(5)
ENC_STRINGS, ENC_STACKS, ENC_TASKS = 64, 65, 66
U64, I64, HEX, TIME, DURATION, ENUM, TASK, STACK, STRING, BYTES = range(10)
META, STATE, EVENT = range(3)
SCHEMA, SCHEMA_VALUE, INDEX, META_TABLE = 1, 2, 3, 16
M64 = (1 << 64) - 1
NAME_BYTES = b"abcdefghijklmnopqrstuvwxyz0123456789_"


class Corrupt(Exception):
    """Bytes that cannot be right. The message says which."""


# --- section 1: conventions ---


def crc32c_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


CRC_TABLE = crc32c_table()


@functools.lru_cache(maxsize=1024)  # whoever reads many cuts of a file meets the same bytes again
def crc32c(data):
    crc = 0xFFFFFFFF
    table = CRC_TABLE
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def unzigzag(v):
    """The signed value as a u64 in two's complement."""
    return v >> 1 ^ (-(v & 1) & M64)


def signed(v):
    return v - (1 << 64) if v >> 63 else v


class Cursor:
    """Bytes that are used up from the front."""

    def __init__(self, data):
        self.data, self.pos = data, 0

    def take(self, n):
        if n > len(self.data) - self.pos:
            raise Corrupt("too few bytes")
        self.pos += n
        return self.data[self.pos - n : self.pos]

    def u8(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        data, pos = self.data, self.pos
        while True:
            if pos >= len(data):
                raise Corrupt("varint is cut off")
            byte = data[pos]
            pos += 1
            if shift == 63 and byte > 1:
                raise Corrupt("varint is too large")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.pos = pos
                return value
            shift += 7

    def varints(self, n):
        return [self.varint() for _ in range(n)]

    def count(self, limit, what):
        n = self.varint()
        if n > limit:
            raise Corrupt(f"{n} {what}, limit {limit}")
        return n

    def end(self):
        if self.pos != len(self.data):
            raise Corrupt(f"{len(self.data) - self.pos} bytes too many")


# --- section 3: chunks ---

CHUNK_HEADER = struct.Struct("<4sHHIIQHHIQQQQQIIQII")


class Chunk:
    """A header whose fields have the names of table `index`, and its stored payload."""

    def __init__(self, data, offset, tag):
        head = data[offset : offset + CHUNK_HEADER_LEN]
        if len(head) < CHUNK_HEADER_LEN:
            raise Corrupt("header is cut off")
        (magic, self.type, self.flags, self.header_len, chunk_tag, self.seq, self.table_id,
         self.stream, self.epoch, self.stored, self.raw, self.time_min, self.time_max,
         self.watermark, self.rows, self.lost, self.host, self.crc,
         header_crc) = CHUNK_HEADER.unpack(head)
        self.host &= 0xFFFFFFFF
        self.offset = offset
        if magic != CHUNK_MAGIC or chunk_tag != tag or header_crc != crc32c(head[:92]):
            raise Corrupt("bad header")
        begin = offset + self.header_len
        if not CHUNK_HEADER_LEN <= self.header_len <= MAX_HEADER or self.header_len % 8:
            raise Corrupt("bad length of header")
        if self.raw > MAX_RAW or self.stored > MAX_STORED or begin + self.stored > len(data):
            raise Corrupt("bad length of payload")
        if self.rows > MAX_ROWS:
            raise Corrupt("too many rows")
        self.payload = data[begin : begin + self.stored]
        self.next = (begin + self.stored + 7) & ~7

    def zstd(self):
        return bool(self.flags & FLAG_ZSTD)


def is_footer(data, offset, tag):
    foot = data[offset : offset + FOOTER_LEN]
    return (offset == len(data) - FOOTER_LEN and foot[:4] == FOOTER_MAGIC
            and struct.unpack_from("<I", foot, 40)[0] == tag
            and struct.unpack_from("<I", foot, 60)[0] == crc32c(foot[:60]))


def read_header(data):
    """The offset of the first chunk, and the file tag."""
    if len(data) < FILE_HEADER_LEN or data[:8] != FILE_MAGIC:
        raise Corrupt("not an .ebt file")
    major, _, length, incompat = struct.unpack_from("<HHIQ", data, 8)
    if struct.unpack_from("<I", data, 92)[0] != crc32c(data[:92]):
        raise Corrupt("header of the file is damaged")
    if major != 1:
        raise Corrupt(f"major version {major} is not known")
    if incompat & ~(FEATURE_WINDOW | FEATURE_HOSTS):
        raise Corrupt(f"incompatible features {incompat:#x} are not known")
    if not FILE_HEADER_LEN <= length <= MAX_HEADER or length % 8:
        raise Corrupt("bad length of the file's header")
    begin, end = read_window(data)
    if begin >= end:
        raise Corrupt("the window ends before it begins")
    return length, struct.unpack_from("<I", data, 32)[0]


def read_window(data):
    """First time that the file is about, and the first behind."""
    if struct.unpack_from("<Q", data, 16)[0] & FEATURE_WINDOW:
        return struct.unpack_from("<QQ", data, 56)
    return 0, M64 + 1


def scan(data):
    """Yields the good chunks of a file, whatever lies between them."""
    offset, tag = read_header(data)
    while offset < len(data) and not is_footer(data, offset, tag):
        try:
            chunk = Chunk(data, offset, tag)
        except Corrupt:
            offset = data.find(CHUNK_MAGIC, offset + 1)
            while offset % 8 and offset >= 0:
                offset = data.find(CHUNK_MAGIC, offset + 1)
            if offset < 0:
                return
            continue
        offset = chunk.next
        if chunk.type != TYPE_TABLE and chunk.flags & FLAG_CRITICAL:
            raise Corrupt(f"chunk type {chunk.type} is not known, and critical")
        if crc32c(chunk.payload) == chunk.crc:
            yield chunk


def unzstd(stored):
    run = subprocess.run(["zstd", "-dcq"], input=stored, capture_output=True, check=False)
    return run.stdout if run.returncode == 0 else None


def decompress(chunks):
    """Pairs of a chunk and its raw payload; one zstd process for many chunks where it can be."""
    frames = [c for c in chunks if c.zstd()]
    joined = unzstd(b"".join(c.payload for c in frames)) if frames else b""
    split = joined is not None and len(joined) == sum(c.raw for c in frames)
    pos = 0
    for chunk in chunks:
        if not chunk.zstd():
            raw = chunk.payload
        elif split:
            raw = joined[pos : pos + chunk.raw]
            pos += chunk.raw
        else:
            raw = unzstd(chunk.payload)
        if raw is not None and len(raw) == chunk.raw:
            yield chunk, raw


# --- section 4: payload ---


def decode_column(encoding, data, rows):
    cur = Cursor(data)
    if encoding == ENC_CONST:
        column = [int.from_bytes(cur.take(8), "little")] * rows
    elif encoding == ENC_VARINT:
        column = cur.varints(rows)
    elif encoding == ENC_ZIGZAG:
        column = [unzigzag(v) for v in cur.varints(rows)]
    elif encoding == ENC_DELTA:
        column, value = [], 0
        for v in cur.varints(rows):
            value = (value + unzigzag(v)) & M64
            column.append(value)
    else:
        width = cur.u8()
        if width not in (1, 2, 4, 8):
            raise Corrupt(f"width {width}")
        column = [int.from_bytes(cur.take(width), "little") for _ in range(rows)]
    cur.end()
    return column


def decode_strings(cur):
    lengths = cur.varints(cur.count(MAX_DICT, "strings"))
    if lengths and max(lengths) > MAX_STRING:
        raise Corrupt("string too long")
    return [cur.take(n) for n in lengths]


def decode_stacks(cur):
    n = cur.count(MAX_DICT, "stacks")
    attrs, counts = cur.varints(n), cur.varints(n)
    stacks, address = [], 0
    for i in range(n):
        if counts[i] > MAX_FRAMES:
            raise Corrupt("stack too deep")
        addresses = []
        for v in cur.varints(counts[i]):
            address = (address + unzigzag(v)) & M64
            addresses.append(address)
        stacks.append((attrs[i], addresses))
    return stacks


def decode_tasks(cur, strings):
    n = cur.count(MAX_DICT, "tasks")
    tids, pids, starts, comms = cur.varints(n), cur.varints(n), cur.varints(n), cur.varints(n)
    tasks, start = [], 0
    for i in range(n):
        start = (start + unzigzag(starts[i])) & M64
        tasks.append((tids[i], pids[i], start, entry(strings, comms[i], b"")))
    return tasks


def entry(dictionary, value, none):
    if value == 0:
        return none
    if value > len(dictionary):
        raise Corrupt(f"entry {value} of {len(dictionary)}")
    return dictionary[value - 1]


class Payload:
    """Columns by field id, and the chunk's dictionaries."""

    def __init__(self, raw, rows):
        cur = Cursor(raw)
        directory = [(cur.varint(), cur.u8(), cur.varint())
                     for _ in range(cur.count(MAX_FIELDS + 3, "columns"))]
        if rows * len(directory) * 8 > MAX_DECODED:
            raise Corrupt("too many values")
        self.columns, self.strings, self.stacks, self.tasks = {}, [], [], []
        self.unknown = set()
        last_dictionary = last_id = 0
        for field_id, encoding, length in directory:
            data = cur.take(length)
            if encoding >= ENC_STRINGS and field_id == 0:
                if encoding <= last_dictionary or last_id:
                    raise Corrupt("dictionaries are out of order")
                last_dictionary = encoding
                self.dictionary(encoding, Cursor(data))
            else:
                if field_id <= last_id:
                    raise Corrupt("columns are out of order")
                last_id = field_id
                if encoding <= ENC_FIXED:
                    self.columns[field_id] = decode_column(encoding, data, rows)
                else:
                    self.unknown.add(field_id)
        cur.end()

    def dictionary(self, encoding, cur):
        if encoding == ENC_STRINGS:
            self.strings = decode_strings(cur)
        elif encoding == ENC_STACKS:
            self.stacks = decode_stacks(cur)
        elif encoding == ENC_TASKS:
            self.tasks = decode_tasks(cur, self.strings)
        else:
            return
        cur.end()

    def column(self, field_id, rows):
        if field_id in self.unknown:
            raise Corrupt(f"encoding of field {field_id} is not known")
        return self.columns.get(field_id, [0] * rows)

    def value(self, field_type, v):
        """A value of a column as Python has it."""
        if field_type == I64:
            return signed(v)
        if field_type in (STRING, BYTES):
            return entry(self.strings, v, b"")
        if field_type == STACK:
            return entry(self.stacks, v, None)
        if field_type == TASK:
            return entry(self.tasks, v, None)
        return v


# --- section 5: schema. The fields of tables 1 to 3 are those of section 9. ---


class Field:
    def __init__(self, field_id, name, field_type):
        self.id, self.name, self.type, self.values = field_id, name, field_type, {}


class Table:
    def __init__(self, name, table_class):
        self.name, self.table_class, self.fields = name, table_class, {}


FIXED = {
    SCHEMA: [U64, U64, ENUM, ENUM, STRING, STRING, STRING, STRING, STRING],
    SCHEMA_VALUE: [U64, U64, U64, STRING],
    INDEX: [U64, U64, U64, TIME, TIME, TIME, HEX, HEX] + [U64] * 6,
}


def fixed_rows(chunk, payload):
    """Rows of a table of FIXED, as tuples without time."""
    columns = [[payload.value(t, v) for v in payload.column(2 + i, chunk.rows)]
               for i, t in enumerate(FIXED[chunk.table_id])]
    return list(zip(*columns))


def plain_name(name):
    if not 1 <= len(name) <= 63 or name.strip(NAME_BYTES):
        raise Corrupt(f"{name!r} is no name of a table or field")
    return name.decode()


def read_schema(chunks):
    tables = {}
    for chunk, payload in chunks:
        if chunk.table_id == SCHEMA:
            for (table_id, field_id, table_class, field_type, name, field_name, *_) in \
                    fixed_rows(chunk, payload):
                name, field_name = plain_name(name), plain_name(field_name)
                table = tables.setdefault(table_id, Table(name, table_class))
                table.fields.setdefault(field_id, Field(field_id, field_name, field_type))
    for chunk, payload in chunks:
        if chunk.table_id == SCHEMA_VALUE:
            for table_id, field_id, value, name in fixed_rows(chunk, payload):
                if table_id in tables and field_id in tables[table_id].fields:
                    tables[table_id].fields[field_id].values.setdefault(value, name)
    return tables


# --- section 7: text ---


def utf8_length(data, i):
    """Bytes of the valid UTF-8 sequence at i, 0: none."""
    first = data[i]
    n = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    try:
        return n if len(data[i : i + n].decode("utf-8")) == 1 else 0
    except UnicodeDecodeError:
        return 0


def is_control(char):
    return ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F


def quote(data):
    out, i = ['"'], 0
    while i < len(data):
        n = utf8_length(data, i)
        char = data[i : i + n].decode("utf-8")
        if n == 0 or is_control(char):
            n = n or 1
            out += [f"\\x{byte:02x}" for byte in data[i : i + n]]
        elif char in '"\\':
            out.append("\\" + char)
        else:
            out.append(char)
        i += n
    return "".join(out) + '"'


PLAIN = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")


def enum_text(name):
    return name.decode() if name and PLAIN.issuperset(name) else quote(name)


def value_text(field, value):
    if field.type == HEX:
        return f"{value:#x}"
    if field.type == ENUM and value in field.values:
        return enum_text(field.values[value])
    if field.type == TASK:
        return "{}/{}/{}/{}".format(*value[:3], quote(value[3])) if value else "-"
    if field.type == STACK:
        if value is None:
            return "-"
        attrs, addresses = value
        return (("u:" if attrs & 1 else "k:") + ",".join(f"{a:x}" for a in addresses)
                + ("+" if attrs & 2 else ""))
    if field.type == STRING:
        return quote(value)
    if field.type == BYTES:
        return "x" + value.hex()
    return str(value)


def chunk_lines(chunk, payload, table):
    """Of each row: time, number in its chunk, text, and the processes of its tasks, where it has
    fields for tasks."""
    fields = [f for f in table.fields.values() if f.id != 1]
    columns = [[payload.value(f.type, v) for v in payload.column(f.id, chunk.rows)]
               for f in fields]
    tasks = [column for field, column in zip(fields, columns) if field.type == TASK]
    for i, time in enumerate(payload.column(1, chunk.rows)):
        values = (f" {field.name}={value_text(field, column[i])}"
                  for field, column in zip(fields, columns))
        pids = {column[i][1] for column in tasks if column[i]} if tasks else None
        yield time, i, f"{time} {table.name}" + "".join(values), pids


def read_pids(chunks, tables):
    """The processes that a part is of; None: all."""
    pids = None
    for chunk, payload in chunks:
        if chunk.table_id != META_TABLE or META_TABLE not in tables:
            continue
        key, value = (payload.column(f.id, chunk.rows)
                      for f in tables[META_TABLE].fields.values() if f.id != 1)
        for k, v in zip(key, value):
            if payload.value(STRING, k) == b"cut.pids":
                pids = {int(pid) for pid in payload.value(STRING, v).split(b",")}
    return pids


def read_file(data):
    """Pairs of chunk and payload, in file order."""
    chunks = []
    for chunk, raw in decompress([c for c in scan(data) if c.type == TYPE_TABLE]):
        try:
            chunks.append((chunk, Payload(raw, chunk.rows)))
        except Corrupt as e:
            print(f"chunk {chunk.seq} at offset {chunk.offset}: {e}", file=sys.stderr)
    return chunks


def has_hosts(data):
    return bool(struct.unpack_from("<Q", data, 16)[0] & FEATURE_HOSTS)


def host_name(chunks):
    """The last that table `meta` has."""
    name = b"?"
    for chunk, payload in chunks:
        if chunk.table_id == META_TABLE:
            keys, values = (payload.column(field, chunk.rows) for field in (2, 3))
            for key, value in zip(keys, values):
                if entry(payload.strings, key, b"") == b"host.name":
                    name = entry(payload.strings, value, b"")
    return name.decode(errors="replace")


def dump(data, out):
    chunks = read_file(data)
    tables = read_schema(chunks)
    hosts = sorted({c.host for c, _ in chunks} - {0}) if has_hosts(data) else []
    if not hosts:
        dump_chunks(data, chunks, tables, out)
    for host in hosts:
        own = [(c, p) for c, p in chunks if c.host in (0, host)]
        out.write(f"host-{host}: {host_name(own)}\n")
        dump_chunks(data, own, tables, out)


def dump_chunks(data, chunks, tables, out):
    begin, end = read_window(data)
    wanted = read_pids(chunks, tables)
    lines = []
    for chunk, payload in chunks:
        table = tables.get(chunk.table_id)
        if table is None:
            continue
        try:
            rows = list(chunk_lines(chunk, payload, table))
        except Corrupt as e:
            print(f"chunk {chunk.seq} at offset {chunk.offset}: {e}", file=sys.stderr)
            continue
        for time, i, text, of in rows:
            if wanted is not None and of is not None and not wanted & of:
                continue
            meta = table.table_class == META
            if not meta and not begin <= time < end:
                continue
            order = (0, chunk.table_id, time) if meta else (1, time, chunk.table_id)
            lines.append((order, chunk.offset, i, text))
    lines.sort()
    for *_, text in lines:
        out.write(text + "\n")


# --- sections 3 and 6: what a writer promises ---


def pid_filter(tasks):
    bits = 0
    for _, pid, _, _ in tasks:
        bits |= 1 << ((pid * 0x9E3779B1 & 0xFFFFFFFF) >> 25)
    return bits & M64, bits >> 64


def check_index(chunks, offset):
    """Follows the index from the footer back; returns what it says of each chunk, by offset."""
    by_offset = {c.offset: (c, p) for c, p in chunks}
    said = {}
    while offset is not None:
        if offset not in by_offset or by_offset[offset][0].table_id != INDEX:
            yield f"index: no chunk of table 3 at {offset}"
            return
        rows = fixed_rows(*by_offset[offset])
        said.update((row[0], row) for row in rows)
        previous = [row[0] for row in rows if row[9] == INDEX]
        if previous and previous[0] >= offset:
            yield f"index: chain does not go back at {offset}"
            return
        offset = previous[0] if previous else None
    last = max((c.offset for c, _ in chunks), default=0)
    for chunk, payload in chunks:
        row = said.pop(chunk.offset, None)
        if row is None:
            if chunk.offset != last:
                yield f"index: chunk {chunk.seq} is missing"
            continue
        have = (chunk.offset, chunk.stored, chunk.raw, chunk.time_min, chunk.time_max,
                chunk.watermark)
        if row[:6] != have or row[8:] != (chunk.type, chunk.table_id, chunk.stream, chunk.epoch,
                                          chunk.rows, chunk.lost):
            yield f"index: row of chunk {chunk.seq} differs from its header"
        if row[6:8] not in ((M64, M64), pid_filter(payload.tasks)):
            yield f"index: pid filter of chunk {chunk.seq} is wrong"
    if said:
        yield f"index: {len(said)} rows name no chunk"


def check(data):
    """Yields what is wrong with a complete file, a sentence each."""
    chunks = read_file(data)
    tables = read_schema(chunks)
    watermarks, end = {}, 0
    for n, (chunk, payload) in enumerate(chunks):
        where = f"chunk {chunk.seq} at {chunk.offset}"
        times = payload.column(1, chunk.rows)
        if chunk.seq != n or (n and chunk.offset != end):
            yield f"{where}: something is missing before it"
        if data[chunk.offset + chunk.header_len + chunk.stored : chunk.next].strip(b"\0"):
            yield f"{where}: padding is not zero"
        if times != sorted(times):
            yield f"{where}: rows are not in order of time"
        if times and (chunk.time_min, chunk.time_max) != (times[0], times[-1]):
            yield f"{where}: time range differs from its rows"
        meta = tables[chunk.table_id].table_class == META if chunk.table_id in tables else True
        host = chunk.host if has_hosts(data) else 0
        watermark = watermarks.get(host, 0)
        if not meta and times and times[0] < watermark:
            yield f"{where}: older than the watermark {watermark}"
        watermarks[host], end = max(watermark, chunk.watermark), chunk.next
    foot = data[-FOOTER_LEN:]
    if end != len(data) - FOOTER_LEN or not is_footer(data, end, read_header(data)[1]):
        yield "no footer"
        return
    index, n, rows, lost = struct.unpack_from("<QQQQ", foot, 8)
    events = [c for c, _ in chunks
              if c.table_id in tables and tables[c.table_id].table_class == EVENT]
    have = (len(chunks), sum(c.rows for c in events), sum(c.lost for c in events))
    if (n, rows, lost) != have:
        yield f"footer says chunks, rows, lost = {n}, {rows}, {lost}; the file has {have}"
    yield from check_index(chunks, index)


def main(argv):
    checking = argv[1:2] == ["--check"]
    if len(argv) != 2 + checking:
        print(__doc__, file=sys.stderr)
        return 2
    with open(argv[-1], "rb") as f:
        data = f.read()
    try:
        if checking:
            found = list(check(data))
            for what in found:
                print(f"{argv[-1]}: {what}")
            return 1 if found else 0
        dump(data, sys.stdout)
    except Corrupt as e:
        print(f"{argv[-1]}: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.exit(main(sys.argv))
