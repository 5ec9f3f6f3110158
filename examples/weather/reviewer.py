# SPDX-License-Identifier: MIT
"""The reviewer reads every table in output/ again, checks it against itself and writes output/report.md."""
import csv
import hashlib
import json
import math
from pathlib import Path

ROOT = Path("/workspace")
DAYS = 1461  # 2012 to 2015, one of them a leap year


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def faults(header, rows):
    """What is wrong with a table, one sentence each."""
    if not rows:
        yield "no rows"
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            yield "line %d has %d fields, the header %d" % (number, len(row), len(header))
        elif any(cell.strip() == "" for cell in row):
            yield "line %d has an empty field" % number
        elif not all(is_number(cell) for name, cell in zip(header, row) if name != "weather"):
            yield "line %d holds a text where a number belongs" % number
    if "days" in header and all(len(row) == len(header) for row in rows):
        total = sum(int(float(row[header.index("days")])) for row in rows)
        if total != DAYS:
            yield "the days add up to %d, not %d" % (total, DAYS)


def review(path):
    data = path.read_bytes()
    header, *rows = list(csv.reader(data.decode("utf-8").splitlines()))
    return {
        "path": str(path.relative_to(ROOT)),
        "rows": len(rows),
        "sha256": hashlib.sha256(data).hexdigest(),
        "faults": list(faults(header, rows)),
    }


def rainiest():
    with open(ROOT / "output" / "tables" / "monthly.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    wet = max(rows, key=lambda row: float(row["precipitation_sum"]))
    warm = max(rows, key=lambda row: float(row["temp_max_mean"]))
    return wet["month"], warm["month"], warm["temp_max_mean"]


def report(plan, tables, charts):
    wet, warm, degrees = rainiest()
    yield "# Seattle's weather, 2012 to 2015"
    yield ""
    yield "From `%s`. Month %s is the wettest, month %s the warmest (mean daily maximum %s °C)." % (
        plan["dataset"], wet, warm, degrees)
    yield ""
    yield "| table | rows | sha256 | review |"
    yield "|---|---|---|---|"
    for t in tables:
        yield "| %s | %d | `%s` | %s |" % (t["path"], t["rows"], t["sha256"][:16], "; ".join(t["faults"]) or "good")
    yield ""
    yield from ("![%s](%s)" % (c.stem, c.relative_to(ROOT / "output")) for c in charts)


def main():
    plan = json.loads((ROOT / "agents" / "planner" / "tasks.json").read_text())
    tables = [review(path) for path in sorted((ROOT / "output").rglob("*.csv"))]
    charts = sorted((ROOT / "output").rglob("*.png"))
    (ROOT / "output" / "report.md").write_text("\n".join(report(plan, tables, charts)) + "\n", encoding="utf-8")
    bad = [t["path"] for t in tables if t["faults"]]
    missing = [t["output"] for t in plan["tasks"] if not (ROOT / t["output"]).is_file()]
    print("%d tables and %d charts reviewed" % (len(tables), len(charts)))
    if bad or missing:
        raise SystemExit("not good: %s; missing: %s" % (bad, missing))


if __name__ == "__main__":
    main()
