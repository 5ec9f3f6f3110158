# SPDX-License-Identifier: MIT
"""The analyzer does what the planner wrote down: cleans the data, computes tables, draws charts."""
import json
import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("MPLCONFIGDIR", "/tmp/matplotlib")

import matplotlib.pyplot as plt  # noqa: E402 - after its settings
import pandas as pd  # noqa: E402

ROOT = Path("/workspace")
CLEAN = ROOT / "task" / "clean.csv"  # scratch: gone with the next step


def clean(path, columns):
    """Rows that can be true: each day once, nothing missing, no rain below nothing, no minimum above the maximum."""
    raw = pd.read_csv(path, usecols=columns, parse_dates=["date"])
    good = raw.dropna().drop_duplicates("date").sort_values("date")
    good = good[(good.precipitation >= 0) & (good.temp_min <= good.temp_max) & (good.wind >= 0)]
    good.to_csv(CLEAN, index=False)
    print("%d rows read, %d kept" % (len(raw), len(good)))
    return good


def table(data, by):
    key = data.date.dt.month if by == "month" else data.date.dt.year
    out = data.groupby(key.rename(by)).agg(
        days=("date", "size"),
        temp_max_mean=("temp_max", "mean"),
        temp_min_mean=("temp_min", "mean"),
        precipitation_sum=("precipitation", "sum"),
        rainy_days=("precipitation", lambda p: int((p > 0).sum())),
        wind_max=("wind", "max"),
    )
    return out.round(2).reset_index()


def days(data):
    out = data.groupby([data.date.dt.year.rename("year"), "weather"]).size().rename("days")
    return out.reset_index()


def chart_temperature(data, axes):
    months = data.set_index("date").resample("MS")[["temp_max", "temp_min"]].mean()
    axes.plot(months.index, months.temp_max, color="#b5402f", label="mean daily maximum")
    axes.plot(months.index, months.temp_min, color="#2f6db5", label="mean daily minimum")
    axes.set_ylabel("°C")
    axes.set_title("Seattle: temperature by month")
    axes.legend(frameon=False, loc="upper left")


def chart_precipitation(data, axes):
    months = data.groupby([data.date.dt.year, data.date.dt.month]).precipitation.sum().groupby(level=1).mean()
    axes.bar(months.index, months.values, color="#2f6db5")
    axes.set_xticks(range(1, 13))
    axes.set_xlabel("month")
    axes.set_ylabel("mm")
    axes.set_title("Seattle: mean precipitation in a month")


def draw(data, of, path):
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    {"temperature": chart_temperature, "precipitation": chart_precipitation}[of](data, axes)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    plan = json.loads((ROOT / "agents" / "planner" / "tasks.json").read_text())
    data = clean(ROOT / plan["dataset"], plan["columns"])
    for task in plan["tasks"]:
        path = ROOT / task["output"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if task["kind"] == "table":
            table(data, task["by"]).to_csv(path, index=False)
        elif task["kind"] == "days":
            days(data).to_csv(path, index=False)
        else:
            draw(data, task["of"], path)
        print("wrote", task["output"])


if __name__ == "__main__":
    main()
