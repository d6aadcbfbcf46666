#!/usr/bin/env python3
"""Prints the hooks of a trace file, one a line. Written from docs/cpi-trace.md alone."""

import struct
import sys


def decimals(words):
    return [f"{words[i]}.{words[i + 1]:04}" for i in range(0, len(words), 2)]


def long(high, low):
    return high << 32 | low


def groups(words, size):
    return [words[i : i + size] for i in range(0, len(words), size)]


def detailed(words):
    shown = [f"instr={long(*words[0:2])}", f"cycles={long(*words[2:4])}", "cpi=" + decimals(words[4:6])[0]]
    if len(words) == 12:
        cpi, busy = decimals(words[8:12])
        shown += [f"cycles_scaled={long(*words[6:8])}", f"cpi_scaled={cpi}", f"busy={busy}"]
    return shown


def summary(words):
    kinds, count, elapsed, rest = words[0], words[1], long(*words[2:4]), words[4:]
    shown = [f"kinds={kinds}", f"cpus={count}", f"elapsed={elapsed}"]
    shown += ["raw=" + ",".join(decimals(rest[: 2 * count])), "sys=" + decimals(rest[2 * count : 2 * count + 2])[0]]
    rest = rest[2 * count + 2 :]
    if kinds & 2:
        pairs = [decimals(group) for group in groups(rest[: 4 * count], 4)]
        shown.append("scaled=" + ",".join(f"{cpi}/{busy}" for cpi, busy in pairs))
        shown.append("sys_scaled=" + "/".join(decimals(rest[4 * count : 4 * count + 4])))
        rest = rest[4 * count + 4 :]
    if kinds & 4:
        shown.append("thread=" + decimals(rest[:2])[0])
        rest = rest[2:]
    assert not rest
    return shown


def hook(record_type, minor, data):
    if record_type == 2:
        (count,) = struct.unpack_from("<Q", data)
        words = struct.unpack_from(f"<{count}Q", data, 8)
        (length,) = struct.unpack_from("<Q", data, 8 + 8 * count)
        text = data[16 + 8 * count :][:length]
        name = {0x0: "start", 0xF: "end"}[minor >> 28]
        return [name, f"elapsed={long(*words)}", "label=" + text.hex()]
    words = struct.unpack(f"<{len(data) // 8}Q", data)
    assert all(word < 1 << 32 for word in words)
    if minor >> 28 == 1:
        return ["summary"] + summary(words)
    if minor >> 28 == 2:
        assert len(words) == 9
        return ["thread", f"tid={words[0]}", f"elapsed={long(*words[1:3])}"] + detailed(words[3:])
    if minor >> 28 == 4:
        size = 12 if words[0] & 2 else 6
        assert len(words) == 4 + size * words[1]
        shown = ["processors", f"kinds={words[0]}", f"elapsed={long(*words[2:4])}"]
        for group in groups(words[4:], size):
            shown += detailed(group)
        return shown
    assert minor >> 28 == 8
    return ["system", f"kinds={words[0]}", f"elapsed={long(*words[1:3])}"] + detailed(words[3:])


def main(path):
    with open(path, "rb") as source:
        content = source.read()
    place = 0
    while place < len(content):
        assert content[place : place + 4] == b"NRM2"
        assert struct.unpack_from("<I", content, place + 4) == (0x04030201,)
        assert content[place + 8] == 0x0A
        size, data = struct.unpack_from("<II", content, place + 12)
        start, stop = struct.unpack_from("<QQ", content, place + 36)
        print(f"section data={data} start={start} stop={stop}")
        place += size
        end = place + data
        while place < end:
            type_and_length, major, minor, time = struct.unpack_from("<HHIQ", content, place)
            length = type_and_length & ~3
            assert major == 0xC0
            shown = hook(type_and_length & 3, minor, content[place + 16 : place + length])
            print(f"{minor & 0xFF} {time}", *shown)
            place += length
        assert place == end


main(sys.argv[1])
