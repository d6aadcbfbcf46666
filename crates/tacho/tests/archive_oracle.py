#!/usr/bin/env python3
"""Compares an archive, as DuckDB and pyarrow read it, with the output of `tacho stats -f json`.

usage: archive_oracle.py ARCHIVE STATS_JSON DOCUMENT

DOCUMENT is docs/archive.md: its SQL for DuckDB is run as printed there, and that of the averages is compared. Prints the number of compared averages.
"""
import json
import pathlib
import re
import sys

import duckdb
import pyarrow.parquet as pq


def query_of(document: str, archive: str) -> str:
    """The first SQL of the page after the word DuckDB."""
    section = document[document.index("\nDuckDB, whose sums"):]
    query = re.search(r"```sql\n(.*?)```", section, re.DOTALL).group(1)
    assert "ARCHIVE" in query
    return query.replace("ARCHIVE", archive)


def run_other_queries(document: str, archive: str) -> None:
    """Runs the other SQL of the page for DuckDB, which must be valid for the archive."""
    queries = [query for query in re.findall(r"```sql\n(.*?)```", document, re.DOTALL) if "read_parquet(" in query]
    assert len(queries) >= 2, "the page has two queries for DuckDB"
    for query in queries:
        duckdb.sql(query.replace("ARCHIVE", archive)).fetchall()


IDENTIFIERS = {"ID Process", "ID Thread", "Creating Process ID"}


def main() -> None:
    archive, stats_path, document = sys.argv[1:]
    rows = duckdb.sql(query_of(pathlib.Path(document).read_text(), archive)).fetchall()
    run_other_queries(pathlib.Path(document).read_text(), archive)
    found = {tuple(row[:5]): row[5] for row in rows}
    assert len(found) == len(rows), "a counter has two averages"
    stats = json.loads(pathlib.Path(stats_path).read_text())
    compared = 0
    for row in stats:
        instance = row["instance"]
        if instance is not None and row["index"]:
            instance = f"{instance}#{row['index']}"
        key = (row["machine"], row["set"], row["parent"], instance, row["counter"])
        average, expected = found.pop(key, None), row["average"]
        # The query averages ids, too; `stats` does not.
        if expected is None and row["counter"] in IDENTIFIERS:
            continue
        if expected is None:
            assert average is None, f"{key}: {average}, but stats has no average"
            continue
        assert abs(average - expected) <= 1e-12 * abs(expected), f"{key}: {average}, not {expected}"
        compared += 1
    assert not found, f"{len(found)} averages that stats does not have: {list(found)[:3]}"
    values = 0
    for path in sorted(pathlib.Path(archive).glob("machine=*/date=*/*.parquet")):
        # Fails if the checksum of a page is wrong.
        values += pq.ParquetFile(path, page_checksum_verification=True).read().num_rows
    assert values > 0
    print(compared)


main()
