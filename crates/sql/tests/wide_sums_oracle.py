#!/usr/bin/env python3
"""Prints the average of an archive with one counter, as DuckDB and ClickHouse (chdb) compute it with the SQL of docs/archive.md.

usage: wide_sums_oracle.py ARCHIVE DOCUMENT

Prints a line `ENGINE AVERAGE` for each engine that is installed.
"""
import pathlib
import re
import sys


def query_of(document: str, heading: str, archive: str) -> str:
    """The first SQL of the page after a heading."""
    section = document[document.index(heading):]
    query = re.search(r"```sql\n(.*?)```", section, re.DOTALL).group(1)
    assert "ARCHIVE" in query
    return query.replace("ARCHIVE", archive)


def main() -> None:
    archive, document = sys.argv[1], pathlib.Path(sys.argv[2]).read_text()
    import duckdb

    rows = duckdb.sql(query_of(document, "\nDuckDB, whose sums", archive)).fetchall()
    assert len(rows) == 1, rows
    print("duckdb", repr(rows[0][5]))
    try:
        import chdb
    except ImportError:
        return
    text = str(chdb.query(query_of(document, "\nClickHouse:", archive), "TabSeparated"))
    lines = text.strip().splitlines()
    assert len(lines) == 1, lines
    print("clickhouse", lines[0].split("\t")[5])


main()
