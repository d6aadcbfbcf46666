"""Prints the raw values of a log in an SQLite database, a row per line, written from the description of PDH's tables alone.

Usage: python3 sql_rows.py FILE LOG
"""

import datetime
import sqlite3
import sys


def number(low, high):
    """The signed 64-bit number of two 32-bit halves."""
    value = (high & 0xFFFFFFFF) << 32 | low & 0xFFFFFFFF
    return value - (1 << 64) if value >= 1 << 63 else value


def milliseconds(text):
    """Milliseconds since 1601."""
    time = datetime.datetime.strptime(text[:19], "%Y-%m-%d %H:%M:%S")
    since = time - datetime.datetime(1601, 1, 1)
    return (since.days * 86400 + since.seconds) * 1000 + int(text[20:])


def name(text):
    """A name in quotes as Rust prints it; the fixture has no characters to escape."""
    return '"' + text + '"'


database = sqlite3.connect(sys.argv[1])
rows = database.execute(
    """SELECT d.CounterDateTime, c.MachineName, c.ObjectName, c.CounterName, c.CounterType, c.DefaultScale, c.InstanceName,
    c.InstanceIndex, c.ParentName, c.TimeBaseA, c.TimeBaseB, d.FirstValueA, d.FirstValueB, d.SecondValueA, d.SecondValueB,
    d.MultiCount FROM CounterData d JOIN CounterDetails c USING (CounterID) JOIN DisplayToID l USING (GUID)
    WHERE l.DisplayString = ?""",
    [sys.argv[2]],
)
for (time, machine, counter_set, counter, kind, scale, instance, index, parent, base_low, base_high, first_low, first_high,
     second_low, second_high, multi) in rows:
    if instance is None:
        shown = ""
    else:
        shown = "(%s/%s#%d)" % ("None" if parent is None else "Some(%s)" % name(parent), name(instance), index)
    print(
        "%d %s\\%s%s\\%s 0x%x %d 10^%d=%d/%dx%d"
        % (milliseconds(time), machine, counter_set, shown, counter, kind & 0xFFFFFFFF, number(base_low, base_high), scale,
           number(first_low, first_high), number(second_low, second_high), multi & 0xFFFFFFFF)
    )
