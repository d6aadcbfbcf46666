"""Finds the bits of a BLG whose flip contradicts the rest of the log.

Written from the description of the format alone (docs/blg.md), as a second opinion on what 'tacho check' reports.
Comments that are only numbers name sections of this description.
Input: an undamaged log. Output: a line per contradiction of the log itself (none if it is undamaged), then "flips", then
a line per bit whose flip is a contradiction: "BYTE BIT REASON". Every STEP-th bit of the file is tried.

Usage: python3 detectable_flips.py FILE STEP
"""

import struct
import sys

PDH = bytes.fromhex("b33b3f933e940d499ced3cbb14c14479")
NONE = 0xFFFFFFFF
MS = 10_000
MINUTE = 600_000_000
DAY = 24 * 60 * MINUTE
OWN = 0x424C0001
MAX_DRIFT = 11_000

# winperf.h, and PERF_DOUBLE_RAW of pdh.h
TYPES = {
    0x00000000, 0x00000100, 0x00010000, 0x00010100, 0x00012000, 0x00400400, 0x00400500, 0x00410400, 0x00450400, 0x00450500,
    0x00550500, 0x00650500, 0x00000B00, 0x40000200, 0x10410400, 0x10410500, 0x20020400, 0x20020500, 0x20410500,
    0x20470500, 0x20510500, 0x20570500, 0x20610500, 0x20670500, 0x20C20400, 0x21410500, 0x21510500,
    0x22410500, 0x22510500, 0x23410500, 0x23510500, 0x30020400, 0x30240500, 0x40020500, 0x40030401, 0x40030402,
    0x40030403, 0x40030500, 0x42030500, 0x80000000,
}


class Wrong(Exception):
    """Damage that makes the rest unreadable."""


def u16(data, at):
    return struct.unpack_from("<H", data, at)[0]


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def i32(data, at):
    return struct.unpack_from("<i", data, at)[0]


def i64(data, at):
    return struct.unpack_from("<q", data, at)[0]


def expect(condition, reason):
    if not condition:
        raise Wrong(reason)


def end_of_text(data, at, limit):
    """The offset after the NUL that ends a string; limit if there is no NUL."""
    while at + 2 <= limit:
        if data[at] == 0 and data[at + 1] == 0:
            return at + 2
        at += 2
    return limit


def is_system_time(kind):
    """Whether the second number is UTC: in 100 ns types that are not precision timers."""
    return kind & 0xC00 == 0x400 and kind & 0x300000 == 0x100000 and kind & 0x70000 != 0x70000


class Checker:
    """Reads a log once and collects the violated rules."""

    def __init__(self, data):
        self.data = data
        self.found = []
        self.agree = {}
        self.differ = []

    def report(self, reason):
        self.found.append(reason)

    def run(self):
        try:
            self.read()
        except (Wrong, struct.error, IndexError, UnicodeDecodeError) as error:
            self.report(str(error))
        for entry in {entry for entry, _ in self.differ}:
            times = sum(1 for other, _ in self.differ if other == entry)
            if self.agree.get(entry, 0) > times:
                self.report("record time")
        return self.found

    # 2, 3

    def read(self):
        data = self.data
        size = u32(data, 0)
        expect(size >= 1024 and size <= len(data) and size % 512 == 0, "buffer size")
        expect(data[0x4A] in (1, 2) and data[0x4B] == 0xC0, "no BLG")
        header = 0x48 + 0x20
        expect(0x20 <= u16(data, 0x4C) <= size - 0x48, "size of the header event")
        pointer = u32(data, header + 0x2C)
        expect(pointer in (4, 8), "pointer size")
        zone = header + 0x38 + 2 * pointer
        self.check_zone(zone)
        self.zone = zone
        names = zone + 0xAC + 4 + 0x20
        end = end_of_text(data, names, size)
        self.log_guid = None
        try:
            self.log_guid = guid(data[names : end - 2].decode("utf-16-le"))
        except (ValueError, UnicodeDecodeError):
            pass
        self.check_end(size, header)
        self.entries = []
        self.previous = None
        self.listed = None
        self.ranges = {}
        self.parts = b""
        self.part = (0, 0)
        for start in range(size, len(data), size):
            self.read_buffer(start, size)
        expect(self.part[0] == 0, "missing part")

    def check_zone(self, zone):
        bias, standard, daylight = (i32(self.data, zone + at) for at in (0, 0x54, 0xA8))
        for minutes in (bias, standard, daylight, bias + standard, bias + daylight):
            if abs(minutes) > 14 * 60:
                self.report("zone")

    def check_end(self, size, header):
        data = self.data
        claimed = u32(data, header + 0x24) * size
        if len(data) < claimed:
            self.report("shorter than BuffersWritten")
        if len(data) == claimed and u32(data, header + 0x20) & 3 == 1:
            last = len(data) - size
            if not u16(data, last + 0x34) & 1:
                self.report("flag of the last buffer")
            if abs(i64(data, header + 0x10) - i64(data, last + 0x10)) > MINUTE:
                self.report("EndTime")

    def bias(self, local):
        """The bias in force. The zones of these tests have no daylight saving time. StandardBias counts only if StandardDate is set."""
        has_date = u16(self.data, self.zone + 0x44 + 2) != 0
        return (i32(self.data, self.zone) + (i32(self.data, self.zone + 0x54) if has_date else 0)) * MINUTE

    # 2.1, 4

    def read_buffer(self, start, size):
        data = self.data
        expect(u32(data, start) == size, "size of a buffer")
        used = u32(data, start + 0x30)
        expect(0x48 <= used <= size, "fill")
        if data[start + used : start + size] != b"\xff" * (size - used):
            self.report("bytes after the fill")
        at = 0x48
        while at < used:
            if data[start + at : start + used] == b"\xff" * (used - at):
                # A length that includes padding hides nothing.
                break
            event = start + at
            length = u16(data, event)
            expect(data[event + 2] in (0x0A, 0x14) and data[event + 3] == 0xC0, "event header")
            ours = data[event + 0x18 : event + 0x28] == PDH
            expect((0x48 if ours else 0x30) <= length <= used - at, "size of an event")
            if not ours and data[event + 0x30 : event + 0x40] == self.log_guid:
                self.report("class GUID")
                ours = True
            if ours:
                self.read_event(event, length)
            at += (length + 7) // 8 * 8

    def read_event(self, event, length):
        data = self.data
        part, parts = u32(data, event + 0x40), u32(data, event + 0x44)
        if part == 1:
            expect(self.part[0] == 0, "missing part")
            self.parts = b""
        else:
            expect(self.part == (part - 1, parts) and self.part_of(event) == self.first, "missing part")
        expect(1 <= part <= parts, "part")
        self.first = self.part_of(event)
        self.parts += data[event + 0x48 : event + length]
        self.part = (part % parts, parts)
        if part < parts:
            return
        kind, time = data[event + 4], i64(data, event + 0x10)
        if kind == 0x20:
            self.read_list(self.parts)
            self.listed = time
        elif kind == 0x22:
            self.read_sample(event, time, self.parts)
        elif kind == 0x23:
            if self.parts[0x1C:0x20] != b"\xff\x05\0\0":
                self.report("catalogue")
            if self.previous is not None and time < self.previous[1]:
                self.report("time of the catalogue")
        elif kind == 0x24:
            self.listed = time
        else:
            self.report("type of an event")

    def part_of(self, event):
        return self.data[event + 4], self.data[event + 0x10 : event + 0x18]

    # 5

    def read_list(self, payload):
        expect(u32(payload, 0) == 0x6FF, "signature of the counter list")
        at = 8
        entries = []
        while at < len(payload):
            size = u32(payload, at)
            expect(0x34 <= size <= len(payload) - at, "size of an entry")
            entry = payload[at : at + size]
            flags, kind = u32(entry, 4), u32(entry, 0x0C)
            if not flags & 0x10 and kind not in TYPES:
                self.report("type word")
            self.check_strings(entry)
            entries.append((5 if flags & 0x10 else 2 if flags & 1 else 1, kind))
            at += size
        expect(entries, "counter list")
        self.entries = entries

    def check_strings(self, entry):
        places = []
        for field in (0x1C, 0x20, 0x24, 0x28, 0x30):
            offset = u32(entry, field)
            if offset != NONE:
                if 0x34 + offset >= len(entry):
                    self.report("name outside its entry")
                    return
                places.append((offset, end_of_text(entry, 0x34 + offset, len(entry)) - 0x34))
        places.sort()
        at = 4 if places and places[0][0] == 4 else 0
        for start, end in places:
            if start != at:
                self.report("names of an entry")
                return
            at = end
        rest = entry[0x34 + at :]
        if len(rest) > 15 or any(rest):
            self.report("bytes after the names of an entry")

    # 7, 8

    def read_sample(self, event, time, payload):
        expect(self.entries, "sample before the counter list")
        expect(payload[:4] == b"BL\3\0" and u32(payload, 4) == len(payload), "envelope")
        if self.listed is not None and self.listed > time:
            self.report("time of the counter list")
        self.listed = None
        mark = u32(self.data, event + 0x28) if self.data[event + 2] == 0x14 else 0
        marks = mark & 0xFFFF if mark >> 16 == 0x424C else 0
        utc = time + self.bias(time)
        if self.previous is not None:
            same = utc == self.previous[0] and (marks & 5 or self.previous[2])
            if utc <= self.previous[0] and not same and not marks & 8:
                self.report("order of samples")
        self.previous = (utc, time, marks & 1)
        records = []
        at = 8
        for kind, counter_type in self.entries:
            expect(payload[at : at + 3] == b"BL\3", "tag of a record")
            size = u32(payload, at + 4)
            expect(8 <= size <= len(payload) - at, "size of a record")
            expect(payload[at + 3] == kind, "kind of a record")
            record = payload[at : at + size]
            if kind == 1:
                records.append(single(record, counter_type))
            elif kind == 2:
                records.append(self.multi(record, counter_type))
            else:
                records.append(self.block(record, time))
            at += size
        if at != len(payload):
            self.report("bytes after the records")
        self.check_times(event, time, marks, records)

    def multi(self, record, counter_type):
        count = u32(record, 0x0C)
        first = 0x20 + 24 * count
        expect(first <= len(record), "instances of a multi record")
        at = first
        for item in range(count):
            offset = u32(record, 0x20 + 24 * item) + 8
            expect(first <= offset <= len(record), "name outside a multi record")
            if offset != at:
                self.report("names of a multi record")
            at = end_of_text(record, offset, len(record))
        if any(record[at:]):
            self.report("bytes after the names of a multi record")
        seconds = []
        if is_system_time(counter_type) and u32(record, 0x10) >> 31 == 0:
            seconds = [i64(record, 0x20 + 24 * item + 0x10) for item in range(count)]
        return (None if u32(record, 0x10) == 0x800007D3 else i64(record, 0x18)), seconds

    def block(self, record, time):
        data = record[8:]
        expect(data[:12] == b"P\0E\0R\0F\0\1\0\0\0", "signature of a block")
        total = u32(data, 0x14)
        expect(total <= len(data), "length of a block")
        at = u32(data, 0x18)
        for _ in range(u32(data, 0x1C)):
            length = u32(data, at)
            expect(0x40 <= length <= total - at, "length of an object")
            definitions = u32(data, at + 4)
            for number in range(u32(data, at + 0x20)):
                definition = at + u32(data, at + 8) + 0x28 * number
                expect(definition + 0x28 <= at + definitions and u32(data, definition) == 0x28, "definitions")
                if u32(data, definition + 0x1C) not in TYPES:
                    self.report("type word")
            instance = at + definitions
            for _ in range(max(i32(data, at + 0x28), 0)):
                size = u32(data, instance)
                expect(0x18 <= size <= at + length - instance, "length of an instance")
                name, name_bytes = u32(data, instance + 0x10), u32(data, instance + 0x14)
                expect(name + name_bytes <= size, "name of an instance")
                instance += size
                size = u32(data, instance)
                expect(4 <= size <= at + length - instance, "length of a counter block")
                instance += size
            at += length
        civil = struct.unpack_from("<8H", data, 0x24)
        local = time if civil == system_time(time) else -1 if any(civil) else None
        return local, [i64(data, 0x48)] if i64(data, 0x48) else []

    def check_times(self, event, time, marks, records):
        for entry, (local, _) in enumerate(records):
            if local is None or local == 0:
                continue
            if local == time:
                self.agree[entry] = self.agree.get(entry, 0) + 1
            else:
                self.differ.append((entry, time))
                if local != -1 and abs(local - time) > DAY:
                    self.report("record time by a day")
        thread, process = u32(self.data, event + 8), u32(self.data, event + 0x0C)
        if process == OWN:
            if marks & 0xE:
                self.ranges = {}
                return
            for entry, (local, seconds) in enumerate(records):
                for second in seconds:
                    self.check_distance(entry, second - (time if local in (None, 0, -1) else local))
        elif thread or process:
            for local, seconds in records:
                utc = (time if local in (None, 0, -1) else local) + self.bias(time)
                if any(abs(second - utc) > MS for second in seconds):
                    self.report("SecondValue")

    def check_distance(self, entry, distance):
        low, high = self.ranges.get(entry, (distance, distance))
        low, high = min(low, distance), max(high, distance)
        if high - low > MAX_DRIFT:
            self.report("distance of SecondValue")
        else:
            self.ranges[entry] = low, high


def guid(text):
    """The bytes of a GUID from its text."""
    first, second, third, rest = bytes.fromhex(text.replace("-", "")[:8]), text[9:13], text[14:18], text[19:]
    result = first[::-1] + bytes.fromhex(second)[::-1] + bytes.fromhex(third)[::-1]
    result += bytes.fromhex(rest.replace("-", ""))
    if len(result) != 16:
        raise ValueError(text)
    return result


def single(record, counter_type):
    expect(len(record) >= 0x30, "size of a single record")
    status = u32(record, 8)
    good = is_system_time(counter_type) and status >> 31 == 0
    local = None if status == 0x800007D3 else i64(record, 0x0C)
    return local, [i64(record, 0x20)] if good else []


def system_time(local):
    """Converts a FILETIME to SYSTEMTIME."""
    milliseconds = local // MS
    days, rest = divmod(milliseconds, 86_400_000)
    # Days since 0000-03-01 of the Gregorian calendar; 1601-01-01 is day 584694.
    shifted = days + 584_694
    era, day = divmod(shifted, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    civil_day = day - (153 * month + 2) // 5 + 1
    civil_month = month + 3 if month < 10 else month - 9
    civil_year = year + 400 * era + (1 if civil_month <= 2 else 0)
    hour, rest = divmod(rest, 3_600_000)
    minute, rest = divmod(rest, 60_000)
    second, millisecond = divmod(rest, 1000)
    return civil_year, civil_month, (days + 1) % 7, civil_day, hour, minute, second, millisecond


def main(path, step):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    out = Checker(bytes(data)).run()
    out.append("flips")
    for number in range(0, 8 * len(data), step):
        at, bit = divmod(number, 8)
        data[at] ^= 1 << bit
        found = Checker(bytes(data)).run()
        if found:
            out.append(f"{at} {bit} {found[0]}")
        data[at] ^= 1 << bit
    print("\n".join(out))


main(sys.argv[1], int(sys.argv[2]))
