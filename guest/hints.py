# SPDX-License-Identifier: MIT
#
# hints.py - from the exception that ended a program to one line that says how to go on: find(exception).
# Loaded by runner.py after a failure, with at most 200 ms. The row table is ROWS; codes are API (docs/API.md).
# It looks at names of files with scandir, and only where access(2) says it may: asking access is no violation, listing might be one.
# Not here: hints for ends that a program can't see (time-out, memory, quota): the server knows those.
import os
import sys

WS = "/workspace"
TEXT_MAX = 300      # characters, one line
DATA_MAX = 2000     # characters of its repr
NEAR_MAX = 3
WALK_MAX = 5000     # names looked at
CHAIN_MAX = 10
RATIO = 0.6         # difflib: names of files
RATIO_MODULE = 0.7


def load(name):
    """A standard module, not the program's file of that name."""
    path = sys.path
    sys.path = [p for p in path if p and not p.startswith(WS)]
    try:
        __import__(name)
        return sys.modules[name]
    finally:
        sys.path = path


def clean(text, limit):
    text = "".join([c if c.isprintable() else "?" for c in text])
    return text if len(text) <= limit else text[: limit - 3] + "..."


def show(path):
    return clean(os.fsdecode(path), 90)


def agent():
    return os.environ.get("GARTH_AGENT", "") or "<your agent>"


def absolute(path):
    return os.path.normpath(os.path.join(os.getcwd(), os.fsdecode(path)))


def zone(path):
    """("input", "a/b") of /workspace/input/a/b; ("", ...) outside the workspace."""
    if path != WS and not path.startswith(WS + "/"):
        return "", path
    first, _, rest = path[len(WS) + 1 :].partition("/")
    return first, rest


def names_in(folder):
    if not os.access(folder, os.R_OK | os.X_OK):
        return []
    try:
        with os.scandir(folder) as entries:
            return [(e.name, e.is_dir(follow_symlinks=False)) for _, e in zip(range(WALK_MAX), entries)]
    except OSError:
        return []


def walk(roots):
    """Every file and folder below, breadth first, WALK_MAX at most."""
    left, queue = WALK_MAX, list(roots)
    while queue and left > 0:
        folder = queue.pop(0)
        for name, is_dir in names_in(folder):
            left -= 1
            path = os.path.join(folder, name)
            if is_dir:
                queue.append(path)
            yield path
            if left <= 0:
                return


def likeness(want, have):
    return load("difflib").SequenceMatcher(None, want.casefold(), have.casefold()).ratio()


def rank(want, folder, path):
    """How good a guess path is for the name `want` in `folder`: lower is better; None: it is none."""
    parent, name = os.path.split(path)
    here = parent == folder
    if name == want:
        return None if here else (1, 0)
    if name.casefold() == want.casefold():
        return (0 if here else 2, 0)
    if os.path.splitext(name)[0].casefold() == os.path.splitext(want)[0].casefold():
        return (3 if here else 4, 0)
    if abs(len(name) - len(want)) > max(len(want), len(name)) // 2:
        return None
    like = likeness(want, name)
    return (5 if here else 6, -like) if like >= RATIO else None


def near_files(path):
    folder, want = os.path.split(path)
    roots = [os.path.join(WS, z) for z in ("input", "output", "task", os.path.join("agents", agent()))]
    seen, found = set(), []
    for candidate in [os.path.join(folder, n) for n, _ in names_in(folder)] + list(walk(roots)):
        if candidate in seen:
            continue
        seen.add(candidate)
        r = rank(want, folder, candidate)
        if r is not None:
            found.append((r, candidate))
    found.sort()
    return [show(p) for _, p in found[:NEAR_MAX]]


# ---- files and zones: each gives (text, data), or None where the row does not fit after all


def file_parent(e, match):
    folder = clean(match.group(1), 90)
    return "Folder %s is missing: `os.makedirs(%r, exist_ok=True)` first." % (folder, folder), {"parent": folder}


def from_subprocess(e):
    tb = e.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_name == "_execute_child":
            return True
        tb = tb.tb_next
    return False


def file_command(e, match):
    name = e.filename
    if not name or not from_subprocess(e) or "/" in os.fsdecode(name):
        return None
    name = os.fsdecode(name)
    known = sorted({n for d in os.get_exec_path() for n, _ in names_in(d)})
    near = load("difflib").get_close_matches(name, known, NEAR_MAX, RATIO_MODULE)
    text = "Program %s is not installed." % clean(name, 60)
    if near:
        text += " Present: %s." % ", ".join(near)
    return text + " Use a Python library instead.", {"program": clean(name, 60), "near": near}


def file_missing(e, match):
    if e.filename is None:
        return None
    path = absolute(e.filename)
    where, _ = zone(path)
    near = near_files(path)
    data = {"path": show(path), "cwd": show(os.getcwd()), "near": near, "zone": where}
    text = "%s does not exist (cwd %s)." % (show(e.filename), show(os.getcwd()))
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        data["missing_folder"] = show(parent)
        text += " Its folder does not exist either: to write there, `os.makedirs` it first."
    if near:
        text += " Near: %s." % ", ".join(near)
    elif where == "task":
        text += " task/ is emptied before each step: keep files in output/ or agents/%s/." % agent()
    return text + " List with `os.listdir`; do not guess again.", data


def zone_readonly(e, match):
    path = absolute(e.filename2 or e.filename) if e.filename is not None else ""
    where, rest = zone(path)
    if where != "input" and e.filename is not None and zone(absolute(e.filename))[0] == "input":
        where = "input"
    base = os.path.basename(path) or "name"
    data = {"zone": where, "path": show(path), "proposed": show(os.path.join(WS, "output", base))}
    text = "%s is read-only by design." % (where + "/" if where else "This place")
    text += " Copy to task/ (this step only) or agents/%s/ and change it there; write results to output/." % agent()
    return text + " chmod or sudo does not help.", data


def zone_denied(e, match):
    paths = [absolute(p) for p in (e.filename, e.filename2) if p is not None and not isinstance(p, int)]
    data = {"zone": "", "own_area": "agents/%s/" % agent()}
    for path in paths:
        where, rest = zone(path)
        owner = rest.split("/")[0]
        data.update(zone=where, path=show(path))
        if where == "agents" and owner and owner != agent():
            data["owner"] = clean(owner, 63)
            return "agents/%s/ belongs to agent %s; yours is agents/%s/. Write below your own area or output/; what you may not read there, the policy keeps from you." % (
                data["owner"], data["owner"], agent()), data
        if where == "logs":
            return "logs/ is written by garth alone. Use output/ or task/.", data
        if where == "agents":
            return "agents/ itself belongs to nobody; yours is agents/%s/." % agent(), data
    return "This place is not writable, or not readable, for this agent; use output/ or task/.", data


def zone_eperm(e, match):
    return "Not allowed in the sandbox (chown, mount, raw sockets, foreign processes ...). Leave this step out.", {}


def zone_xdev(e, match):
    data = {"from": show(absolute(e.filename))} if e.filename is not None else {}
    if e.filename2 is not None:
        data["to"] = show(absolute(e.filename2))
    return "`os.rename` cannot cross mounts (for example /tmp or task/ to the rest of the workspace): use `shutil.move`.", data


# ---- names and modules

ALIASES = {
    "np": "import numpy as np", "pd": "import pandas as pd", "plt": "import matplotlib.pyplot as plt", "mpl": "import matplotlib as mpl",
    "sns": "import seaborn as sns", "sp": "import scipy as sp", "tf": "import tensorflow as tf", "torch": "import torch",
    "px": "import plotly.express as px", "go": "import plotly.graph_objects as go", "st": "import streamlit as st",
    "nx": "import networkx as nx", "sm": "import statsmodels.api as sm", "sk": "import sklearn as sk",
    "Path": "from pathlib import Path", "timedelta": "from datetime import timedelta", "Counter": "from collections import Counter",
    "defaultdict": "from collections import defaultdict", "Decimal": "from decimal import Decimal", "BytesIO": "from io import BytesIO",
    "StringIO": "from io import StringIO",
}

PACKAGES = {
    "cv2": "opencv-python", "sklearn": "scikit-learn", "PIL": "pillow", "yaml": "PyYAML", "bs4": "beautifulsoup4",
    "dateutil": "python-dateutil", "fitz": "PyMuPDF", "docx": "python-docx", "pptx": "python-pptx", "Crypto": "pycryptodome",
    "dotenv": "python-dotenv", "skimage": "scikit-image", "serial": "pyserial",
}

# what does the same and is there more often; the first that is installed is named
INSTEAD = {
    "seaborn": ("matplotlib",), "plotly": ("matplotlib",), "altair": ("matplotlib",), "bokeh": ("matplotlib",), "polars": ("pandas",),
    "dask": ("pandas",), "modin": ("pandas",), "pyarrow": ("pandas",), "fastparquet": ("pandas",), "duckdb": ("sqlite3",),
    "openpyxl": ("csv",), "xlrd": ("csv",), "yaml": ("json",), "ujson": ("json",), "orjson": ("json",), "simplejson": ("json",),
    "toml": ("tomllib",), "tomli": ("tomllib",), "pytz": ("zoneinfo",), "regex": ("re",), "attr": ("dataclasses",),
    "requests": ("urllib",), "httpx": ("urllib",), "sklearn": ("scipy", "numpy"), "statsmodels": ("scipy", "numpy"),
    "scipy": ("numpy",), "numpy": ("statistics", "math"), "pandas": ("csv", "sqlite3"), "cv2": ("PIL",), "bs4": ("html",),
    "lxml": ("xml",), "imp": ("importlib",), "distutils": ("setuptools", "sysconfig"), "telnetlib": ("socket",), "mock": ("unittest",),
}


def standard_modules():
    names = getattr(sys, "stdlib_module_names", None)  # 3.10
    if names:
        return names
    folder = os.path.dirname(os.__file__)
    return set(sys.builtin_module_names) | {os.path.splitext(n)[0] for n, _ in names_in(folder)}


def installed(module):
    try:
        load("importlib.util")
        return sys.modules["importlib.util"].find_spec(module.split(".")[0]) is not None
    except Exception:
        return False


def name_alias(e, match):
    line = ALIASES.get(match.group(1))
    if not line or not installed(line.split()[1]):
        return None
    return "Add `%s`." % line, {"name": match.group(1), "import": line}


def name_stdlib(e, match):
    name = match.group(1)
    if name not in standard_modules():
        return None
    line = "import %s" % name
    text = "Add `%s`." % line
    if name in ("datetime", "time", "glob", "copy", "pprint"):
        text = "Add `%s` (or `from %s import %s`, where that is meant)." % (line, name, name)
    return text, {"name": name, "import": line}


def modules_near(name):
    pkgutil = load("pkgutil")
    known = {m.name for m in pkgutil.iter_modules()} | set(standard_modules())
    known = sorted(n for n in known if not n.startswith("_"))
    by_case = [n for n in known if n.casefold() == name.casefold()]
    return (by_case + [n for n in load("difflib").get_close_matches(name, known, NEAR_MAX, RATIO_MODULE) if n not in by_case])[:NEAR_MAX]


def mod_subpkg(e, match):
    module = sys.modules.get(match.group(2))
    path = getattr(module, "__file__", None)
    if type(path) is not str:
        return None
    return "%s is a file that hides the package %s. Rename it." % (show(path), clean(match.group(2), 60)), {"file": show(path)}


def mod_missing(e, match):
    name = match.group(1)
    top = name.split(".")[0]
    if top != name and top in sys.modules:
        parent = sys.modules.get(name.rpartition(".")[0]) or sys.modules[top]
        known = sorted(m.name for m in load("pkgutil").iter_modules(getattr(parent, "__path__", [])))
        near = load("difflib").get_close_matches(name.rpartition(".")[2], known, NEAR_MAX, RATIO_MODULE)
        text = "%s is installed, but has no module %s." % (clean(top, 60), clean(name, 80))
        return text + (" Near: %s." % ", ".join(near) if near else ""), {"module": clean(name, 80), "near": near}
    near = [n for n in modules_near(top) if n != top]
    instead = [m for m in INSTEAD.get(top, ()) if installed(m)][:1]
    data = {"module": clean(name, 80), "near": near, "package": PACKAGES.get(top, clean(top, 80)), "instead": instead}
    text = "%s is not installed, and steps have no network to install it: do not retry." % clean(top, 60)
    if near:
        text += " Installed and near: %s." % ", ".join(near)
    if instead:
        text += " For this purpose: %s." % instead[0]
    return text, data


# (code, classes, errno or None, pattern, function). First hit wins; a function that gives None passes on to the next row.
ROWS = (
    ("file.parent", ("FileNotFoundError", "OSError"), None, r"Cannot save file into a non-existent directory: '(.*)'", file_parent),
    ("file.command", ("FileNotFoundError",), 2, r"No such file or directory", file_command),
    ("file.missing", ("FileNotFoundError", "OSError"), 2, r"No such file or directory", file_missing),
    ("zone.readonly", ("OSError",), 30, r"Read-only file system", zone_readonly),
    ("zone.denied", ("PermissionError",), 13, r"Permission denied", zone_denied),
    ("zone.eperm", ("PermissionError",), 1, r"Operation not permitted", zone_eperm),
    ("zone.xdev", ("OSError",), 18, r"Invalid cross-device link", zone_xdev),
    ("mod.subpkg", ("ModuleNotFoundError",), None, r"No module named '([^']*)'; '([^']*)' is not a package", mod_subpkg),
    ("mod.missing", ("ModuleNotFoundError",), None, r"No module named '([^']*)'", mod_missing),
    ("name.alias", ("NameError",), None, r"^name '([A-Za-z_]+)' is not defined", name_alias),
    ("name.stdlib", ("NameError",), None, r"^name '([a-z_0-9]+)' is not defined", name_stdlib),
)


def chain(e):
    """The exception and its causes, innermost first."""
    out = []
    while e is not None and len(out) < CHAIN_MAX and e not in out:
        out.append(e)
        e = e.__cause__ if e.__cause__ is not None or e.__suppress_context__ else e.__context__
    return out[::-1]


def bounded(code, text, data):
    if len(repr(data)) > DATA_MAX:
        data = {}
    return {"code": code, "text": clean(text, TEXT_MAX), "data": data}


def find(e):
    """{code, text, data} or None."""
    search = load("re").search
    for exc in chain(e):
        classes = [c.__name__ for c in type(exc).__mro__]
        message = str(exc)
        if type(message) is not str:
            continue
        message = message[:2000]
        for code, wanted, number, pattern, make in ROWS:
            if not any(c in classes for c in wanted):
                continue
            if number is not None and getattr(exc, "errno", None) != number:
                continue
            match = search(pattern, message)
            made = make(exc, match) if match else None
            if made:
                return bounded(code, *made)
    return None
