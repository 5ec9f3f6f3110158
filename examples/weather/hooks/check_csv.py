# SPDX-License-Identifier: MIT
"""
on_output hook: is each table a table? stdin holds {"hook", "workspace", "step", "artifacts": [...], "violations": [...]}.
Exit status 0 lets the files pass; anything else holds them back, with the line on stdout as the reason.
"""
import csv
import json
import sys
from pathlib import Path

ROOT = Path("/workspace")
SIZE_MAX = 16 << 20  # bytes; a larger table is for somebody else to check


def fault(path):
    """What is wrong with the table, or None."""
    if path.stat().st_size > SIZE_MAX:
        return "larger than %d bytes" % SIZE_MAX
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines(), strict=True))
    except UnicodeDecodeError:
        return "not UTF-8"
    except csv.Error as e:
        return "not CSV: %s" % e
    if len(rows) < 2:
        return "no rows below a header"
    header = rows[0]
    if len(set(header)) != len(header) or "" in header:
        return "a column's name is empty or stands twice"
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            return "line %d has %d fields, the header has %d" % (number, len(row), len(header))
        if any(cell.strip().lower() in ("", "nan", "null") for cell in row):
            return "line %d has an empty field" % number
    return None


def main():
    asked = json.load(sys.stdin)
    for artifact in asked.get("artifacts", []):
        path = artifact.get("path") or ""
        if not path.endswith(".csv"):
            continue
        why = fault(ROOT / path)
        if why:
            print("%s: %s" % (path, why))
            sys.exit(1)


if __name__ == "__main__":
    main()
