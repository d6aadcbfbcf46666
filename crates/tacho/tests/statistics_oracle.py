"""Computes the statistics of logs independently, and compares them with the output of `tacho stats -f json`.

Raw values come from independent_blg.py. The formulas are written from the definitions of the counter types, not from the
Rust code. Several logs must be of one machine: their samples are sorted by time, as if they were in one log.

Usage: python3 statistics_oracle.py STATS.json FILE...

Prints the number of equal values; exits with status 1 if one differs.
"""

import importlib.util
import json
import math
import pathlib
import struct
import sys
from fractions import Fraction

# Creates no __pycache__ folder.
sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("independent_blg", HERE.parents[1] / "logs/tests/independent_blg.py")
blg = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(blg)

NO_INSTANCE = 0x800007D1
NOT_VALIDATED = 0x800007D3
PER_SECOND = 10_000_000

# The kind of formula of each counter type.
COUNT, RATE, RATIO, PERCENT, INVERSE, MULTI, MULTI_INVERSE, FRACTION, AVERAGE, ELAPSED, DELTA = range(11)
FORMULAS = {
    0x00000000: COUNT, 0x00000100: COUNT, 0x00010000: COUNT, 0x00010100: COUNT,
    0x00400400: DELTA, 0x00400500: DELTA,
    0x00410400: RATE, 0x10410400: RATE, 0x10410500: RATE,
    0x00450400: RATIO, 0x00450500: RATIO, 0x00550500: RATIO, 0x00650500: RATIO, 0x40020500: RATIO,
    0x20410500: PERCENT, 0x20470500: PERCENT, 0x20510500: PERCENT, 0x20570500: PERCENT, 0x20610500: PERCENT,
    0x20670500: PERCENT, 0x20C20400: PERCENT,
    0x21410500: INVERSE, 0x21510500: INVERSE,
    0x22410500: MULTI, 0x22510500: MULTI, 0x23410500: MULTI_INVERSE, 0x23510500: MULTI_INVERSE,
    0x20020400: FRACTION, 0x20020500: FRACTION,
    0x30020400: AVERAGE, 0x30240500: ELAPSED,
}
ONE_SAMPLE = {COUNT, FRACTION, ELAPSED}


def evaluate(formula, n, d, base, multi):
    """The formula over differences (or sums of them); 0 where the denominator is 0."""
    n, d, base = float(n), float(d), float(base)
    if formula == DELTA:
        return n
    if d == 0:
        return 0.0
    if formula == RATE:
        return n / (d / base)
    if formula == RATIO:
        return n / d
    if formula == PERCENT:
        return n / d * 100.0
    if formula == INVERSE:
        return max((1.0 - n / d) * 100.0, 0.0)
    if formula == MULTI:
        return n / d / multi * 100.0 if multi else 0.0
    if formula == MULTI_INVERSE:
        return max((multi - n / d) * 100.0, 0.0)
    return n / base / d


class Counter:
    """The values of one counter of one instance."""

    def __init__(self, kind, base):
        self.formula = FORMULAS[kind]
        self.base = base
        self.previous = None
        self.identity = None
        self.numerator = self.denominator = self.values = self.errors = 0
        self.exact_sum = Fraction(0)
        self.measured = []
        self.last = None
        self.multi = 1

    def absent(self):
        self.previous = None

    def add(self, time, first, second, multi, status):
        if status == NO_INSTANCE:
            return self.absent()
        raw = (first, second, status)
        previous, self.previous = self.previous, raw
        if self.formula in ONE_SAMPLE:
            return self.add_single(time, raw)
        if previous is None:
            return None
        n, d = first - previous[0], second - previous[1]
        needs_second = self.formula != DELTA
        needs_base = self.formula in (RATE, AVERAGE)
        if status > 1 or previous[2] > 1 or n < 0 or (needs_second and d < 0) or (needs_base and self.base <= 0):
            self.errors += 1
            return None
        self.multi = multi
        self.numerator += n
        self.denominator += d if needs_second else 0
        shown = evaluate(self.formula, n, d, self.base, multi)
        # If only the numerator changes, the value is 0, and the interval counts as inactive.
        return self.add_value(time, shown, not needs_second or d != 0 or n == 0)

    def add_single(self, time, raw):
        first, second, status = raw
        bad = status > 1 or (self.formula == FRACTION and second < 0) or (self.formula == ELAPSED and first > second)
        if bad:
            self.errors += 1
            return
        if self.formula == COUNT:
            shown = float(first)
            self.numerator += first
        elif self.formula == FRACTION:
            shown = float(first) / float(second) * 100.0 if second else 0.0
            self.exact_sum += Fraction(shown)
        else:
            shown = 0.0 if first == 0 else float(second - first) / float(self.base)
        self.add_value(time, shown, True)

    def add_value(self, time, shown, is_measured):
        self.values += 1
        if self.last is None or (time, shown) > self.last:
            self.last = (time, shown)
        if is_measured:
            self.measured.append(shown)

    def average(self):
        if not self.values:
            return None
        if self.formula == ELAPSED:
            return self.last[1]
        if self.formula == FRACTION:
            return float(self.exact_sum / self.values)
        if self.formula in (COUNT, DELTA):
            return float(self.numerator) / float(self.values)
        return evaluate(self.formula, self.numerator, self.denominator, self.base, self.multi)

    def quantile(self, share):
        ranked = sorted(self.measured)
        if not ranked:
            return None
        return ranked[max(math.ceil(share * len(ranked)), 1) - 1]

    def quantile_tolerance(self):
        """Exact for up to 128 values that are not 0, otherwise within 1/128 (values have 7 binary digits)."""
        count = sum(1 for value in self.measured if value)
        return 0.0 if count <= 128 else 1 / 128

    def results(self):
        """Name, value, and relative tolerance of each statistic."""
        yield "values", self.values, 0.0
        yield "errors", self.errors, 0.0
        yield "last", self.last and self.last[1], 0.0
        # The mean of fractions is not computed from integers.
        yield "average", self.average(), 1e-14 if self.formula == FRACTION else 0.0
        yield "minimum", min(self.measured, default=None), 0.0
        yield "maximum", max(self.measured, default=None), 0.0
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
            yield name, self.quantile(share), self.quantile_tolerance()


def block_types(record, names, machine):
    """Type and time base of each counter of a block, by name."""
    data = record[8:]
    at = blg.u32(data, 0x18)
    types = {}
    for _ in range(blg.u32(data, 0x1C)):
        obj = data[at : at + blg.u32(data, at)]
        at += len(obj)
        if blg.u32(obj, 0x0C) != blg.u32(data, 0x20):
            continue
        for number in range(blg.u32(obj, 0x20)):
            definition = obj[0x40 + 0x28 * number : 0x68 + 0x28 * number]
            kind = blg.u32(definition, 0x1C)
            bases = [blg.i64(data, 0x40), PER_SECOND, blg.i64(obj, 0x38)]
            clock = kind >> 20 & 3
            types[names[machine.lower(), blg.u32(definition, 4)]] = (kind, bases[clock] if clock < 3 else bases[0])
    return types


def values_of(record, entry, names):
    """Instance, counter, type, time base, first, second, multiplier and status of each value of a record."""
    kind, base = entry["type"], entry["time_base"]
    if record[3] == 1:
        instance = None
        if entry["instance"] is not None:
            instance = blg.label(entry["parent"], entry["instance"], entry["index"])
        (_, _, first, second, status), = blg.single(record)
        yield instance, entry["counter"], kind, base, first, second, blg.u32(record, 0x28), status
    elif record[3] == 2:
        for number, (instance, _, first, second, status) in enumerate(blg.multi(record, entry)):
            multi = blg.u32(record, 0x20 + 24 * number + 4)
            yield instance, entry["counter"], kind, base, first, second, multi, status
    else:
        types = block_types(record, names, entry["machine"])
        for instance, counter, first, second, status in blg.block(record, entry, names):
            kind, base = types[counter]
            yield instance, counter, kind, base, first, second, 1, status


def samples(path):
    """The time of each sample of a log, with the entry and the values of each record."""
    data = pathlib.Path(path).read_bytes()
    entries, names = [], {}
    for kind, time, payload in blg.events(data):
        if kind == 0x24:
            machine, at = blg.text(payload, 0)
            while at < len(payload):
                index, at = blg.text(payload, at)
                name, at = blg.text(payload, at)
                names[machine.lower(), int(index)] = name
        elif kind == 0x20:
            entries = blg.counter_list(payload)
        elif kind == 0x22:
            at, records = 8, []
            for entry in entries:
                record = payload[at : at + blg.u32(payload, at + 4)]
                at += len(record)
                records.append((entry, list(values_of(record, entry, names))))
            yield time, records


def statistics(paths):
    """The statistics by counter path."""
    counters = {}
    for time, records in sorted((sample for path in paths for sample in samples(path)), key=lambda sample: sample[0]):
        identities = {}
        for entry, values in records:
            for instance, counter, _, _, first, _, _, status in values:
                if counter.lower() == "id process" and status <= 1:
                    identities[entry["machine"], entry["object"], instance] = first
        seen = set()
        for entry, values in records:
            for instance, counter, kind, base, first, second, multi, status in values:
                shown = "" if instance is None else f"({instance})"
                path = f"{entry['machine']}\\{entry['object']}{shown}\\{counter}"
                seen.add(path)
                if status == NOT_VALIDATED:
                    continue
                state = counters.setdefault(path, Counter(kind, base))
                identity = identities.get((entry["machine"], entry["object"], instance))
                if None not in (identity, state.identity) and identity != state.identity:
                    state.absent()
                state.identity = identity
                state.add(time, first, second, multi, status)
        for path in counters.keys() - seen:
            counters[path].absent()
    return counters


def is_equal(found, expected, tolerance):
    if found is None or expected is None:
        return found is None and expected is None
    return abs(found - expected) <= abs(expected) * tolerance


def main(stats, paths):
    with open(stats, encoding="utf-8") as file:
        rows = {row["path"]: row for row in json.load(file)}
    expected = statistics(paths)
    problems = []
    if rows.keys() != expected.keys():
        problems.append(f"paths differ: {sorted(rows.keys() ^ expected.keys())}")
    count = 0
    for path in rows.keys() & expected.keys():
        results = list(expected[path].results())
        figures = {name: value for name, value, _ in results}
        for name, value, tolerance in results:
            if name == "average" and path.endswith("\\ID Process") and figures["minimum"] != figures["maximum"]:
                # Ids of several processes have no average.
                value = None
            count += 1
            if not is_equal(rows[path][name], value, tolerance):
                problems.append(f"{path}: {name} is {rows[path][name]!r}, expected {value!r}")
    if problems:
        sys.exit("\n".join(problems[:20]))
    print(count)


main(sys.argv[1], sys.argv[2:])
