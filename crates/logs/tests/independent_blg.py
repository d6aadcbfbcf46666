"""Decodes a BLG and prints each raw value as a line of JSON.

Written from the description of the format alone, to check this crate's writer and reader independently. Trusts its
input. Usage: python3 independent_blg.py FILE
"""

import json
import struct
import sys

PDH = bytes.fromhex("b33b3f933e940d499ced3cbb14c14479")
NONE = 0xFFFFFFFF
BASES = {0x40030401, 0x40030402, 0x40030403, 0x40030500, 0x42030500}
WITH_PARENTS = {"Thread"}


def u16(data, at):
    return struct.unpack_from("<H", data, at)[0]


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def i32(data, at):
    return struct.unpack_from("<i", data, at)[0]


def i64(data, at):
    return struct.unpack_from("<q", data, at)[0]


def text(data, at):
    end = at
    while data[end : end + 2] != b"\0\0":
        end += 2
    return data[at:end].decode("utf-16-le"), end + 2


def events(data):
    """Type, time and payload of each event, with parts joined; events with missing parts are dropped."""
    size = u32(data, 0)
    joined = b""
    before = (0, 0)
    starts = list(range(size, len(data), size))
    if u32(data, 0x48 + 0x20 + 0x20) & 2:
        starts.sort(key=lambda start: i64(data, start + 0x18))
    for start in starts:
        used = u32(data, start + 0x30)
        at = 0x48
        while at < used:
            event = data[start + at : start + used]
            length = u16(event, 0)
            assert event[2] in (0x0A, 0x14) and event[3] == 0xC0, hex(start + at)
            if event[0x18:0x28] == PDH:
                part, parts = u32(event, 0x40), u32(event, 0x44)
                joined = (joined if part > 1 else b"") + event[0x48:length]
                is_next = part == 1 or before == (part - 1, parts)
                before = (part if is_next else 0, parts)
                if part == parts and is_next:
                    yield event[4], i64(event, 0x10), joined
            at += (length + 7) // 8 * 8
        assert data[start + used : start + size] == b"\xff" * (size - used), "filler"


def counter_list(payload):
    assert struct.unpack_from("<IHH", payload) == (0x6FF, 8, 2)
    at = 8
    entries = []
    while at < len(payload):
        entry = payload[at : at + u32(payload, at)]

        def name(field):
            offset = u32(entry, field)
            return None if offset == NONE else text(entry, 0x34 + offset)[0]

        entries.append(
            {
                "flags": u32(entry, 4),
                "type": u32(entry, 0x0C),
                "time_base": i64(entry, 0x10),
                "machine": name(0x1C),
                "object": name(0x20),
                "instance": name(0x24),
                "parent": name(0x28),
                "index": u32(entry, 0x2C),
                "counter": name(0x30),
            }
        )
        at += len(entry)
    return entries


def label(parent, name, index):
    return (f"{parent}/" if parent else "") + name + (f"#{index}" if index else "")


class Numbers:
    """Numbers equal names in order; a name can include its index."""

    def __init__(self):
        self.seen = {}
        self.given = set()

    def label(self, parent, name):
        full = label(parent, name, 0)
        index = self.seen.get(full, 0)
        while label(parent, name, index) in self.given:
            index += 1
        self.seen[full] = index
        result = label(parent, name, index)
        self.given.add(result)
        return result


def single(record):
    yield None, None, i64(record, 0x18), i64(record, 0x20), u32(record, 8)


def multi(record, entry):
    inner = record[8:]
    assert u32(inner, 0) == len(inner)
    numbers = Numbers()
    for item in range(u32(record, 0x0C)):
        at = 0x20 + 24 * item
        name, _ = text(inner, u32(record, at))
        yield numbers.label(None, name), None, i64(record, at + 8), i64(record, at + 16), u32(record, 0x10)


def instances(obj):
    """Definition, name and counter block of each instance."""
    at = u32(obj, 4)
    for _ in range(max(i32(obj, 0x28), 0)):
        definition = obj[at : at + u32(obj, at)]
        offset, length = u32(definition, 0x10), u32(definition, 0x14)
        name = definition[offset : offset + length].decode("utf-16-le").split("\0")[0]
        at += len(definition)
        block = obj[at : at + u32(obj, at)]
        yield definition, name, block
        at += len(block)


def block(record, entry, names):
    data = record[8:]
    assert data[:16] == b"P\0E\0R\0F\0\1\0\0\0\1\0\0\0" and u32(data, 0x14) == len(data)
    objects = []
    at = u32(data, 0x18)
    for _ in range(u32(data, 0x1C)):
        objects.append(data[at : at + u32(data, at)])
        at += u32(data, at)
    assert at == len(data)
    if not objects:
        return
    wanted = [obj for obj in objects if u32(obj, 0x0C) == u32(data, 0x20)]
    obj = wanted[0]
    definitions = [obj[0x40 + 0x28 * n : 0x68 + 0x28 * n] for n in range(u32(obj, 0x20))]
    numbers = Numbers()
    rows = [(None, obj[u32(obj, 4) :])]
    if i32(obj, 0x28) >= 0:
        rows = []
        for definition, name, values in instances(obj):
            parent = None
            if u32(definition, 4):
                others = [other for other in objects if u32(other, 0x0C) == u32(definition, 4)]
                parent = list(instances(others[0]))[u32(definition, 8)][1] if others else None
            rows.append((numbers.label(parent, name), values))

    def value(values, definition):
        at = u32(definition, 0x24)
        return u32(values, at) if u32(definition, 0x20) == 4 else i64(values, at)

    for instance, values in rows:
        for number, definition in enumerate(definitions):
            kind = u32(definition, 0x1C)
            if kind in BASES:
                continue
            name = names[entry["machine"].lower(), u32(definition, 4)]
            first = value(values, definition)
            if kind in (0x30020400, 0x40020500, 0x20020400, 0x20020500, 0x20C20400, 0x20470500, 0x20570500, 0x20670500):
                base = definitions[number + 1]
                assert u32(base, 0x1C) in BASES
                second = value(values, base)
            elif kind & 0xC00 != 0x400 or kind in (0x00400400, 0x00400500):
                second = 0
            else:
                second = [i64(data, 0x38), i64(data, 0x48), i64(obj, 0x30)][kind >> 20 & 3]
            yield instance, name, first, second, 0


def main(path):
    with open(path, "rb") as file:
        data = file.read()
    out = []
    entries = []
    names = {}
    for kind, time, payload in events(data):
        if kind == 0x24:
            machine, at = text(payload, 0)
            while at < len(payload):
                index, at = text(payload, at)
                name, at = text(payload, at)
                names[machine.lower(), int(index)] = name
        elif kind == 0x20:
            entries = counter_list(payload)
        elif kind == 0x22:
            assert payload[:4] == b"BL\3\0" and u32(payload, 4) == len(payload)
            at = 8
            for entry in entries:
                record = payload[at : at + u32(payload, at + 4)]
                at += len(record)
                assert record[:3] == b"BL\3" and len(record) % 8 == 0
                expected = 5 if entry["flags"] & 0x10 else 2 if entry["flags"] & 1 else 1
                assert record[3] == expected
                if expected == 1:
                    values = single(record)
                elif expected == 2:
                    values = multi(record, entry)
                else:
                    values = block(record, entry, names)
                for instance, counter, first, second, status in values:
                    if expected == 1 and entry["instance"] is not None:
                        instance = label(entry["parent"], entry["instance"], entry["index"])
                    set_name = entry["object"] + ("" if instance is None else f"({instance})")
                    full = f"{entry['machine']}\\{set_name}\\{counter or entry['counter']}"
                    line = {"time": time, "path": full, "first": first, "second": second, "status": status}
                    out.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False))
            assert at == len(payload)
    sys.stdout.reconfigure(encoding="utf-8")
    print("\n".join(out))


if __name__ == "__main__":
    main(sys.argv[1])
