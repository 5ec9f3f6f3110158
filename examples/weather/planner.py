# SPDX-License-Identifier: MIT
"""The planner looks at what is given and writes down what is to be done: agents/planner/tasks.json."""
import csv
import json
from pathlib import Path

ROOT = Path("/workspace")
NEEDED = ["date", "precipitation", "temp_max", "temp_min", "wind", "weather"]

TASKS = [
    {"kind": "table", "by": "month", "output": "output/tables/monthly.csv"},
    {"kind": "table", "by": "year", "output": "output/tables/yearly.csv"},
    {"kind": "days", "output": "output/tables/weather_days.csv"},
    {"kind": "chart", "of": "temperature", "output": "output/charts/temperature.png"},
    {"kind": "chart", "of": "precipitation", "output": "output/charts/precipitation.png"},
]


def datasets():
    for path in sorted((ROOT / "input").glob("*.csv")):
        with open(path, newline="") as f:
            header = next(csv.reader(f))
        if all(column in header for column in NEEDED):
            yield str(path.relative_to(ROOT))


def main():
    found = list(datasets())
    if len(found) != 1:
        raise SystemExit("one table with the columns %s was expected in input/, not %s" % (", ".join(NEEDED), found))
    area = ROOT / "agents" / "planner"
    (area / "drafts").mkdir(exist_ok=True)
    (area / "drafts" / "notes.txt").write_text("months first, then years\n")
    plan = {"dataset": found[0], "columns": NEEDED, "tasks": TASKS}
    (area / "tasks.json").write_text(json.dumps(plan, indent=2) + "\n")
    print("planned %d tasks on %s" % (len(TASKS), found[0]))


if __name__ == "__main__":
    main()
