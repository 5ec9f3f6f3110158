#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""layers.py - who may include whom (docs/ARCHITECTURE.md): folders, outside headers, no cycles.

Not here: whether a header compiles alone (make headers), sizes (scripts/shape.sh).
"""
import pathlib
import re
import sys

MAY = {
    "core": set(),
    "policy": {"core"},
    "index": {"core"},
    "fs": {"core", "policy", "index"},
    "exec": {"core", "policy"},
    "net": {"core", "policy"},
    "guest": {"core"},
    "api": {"core", "policy", "index"},
    "cli": {"core", "policy", "index"},
}
# Headers of libraries, and the folders that may include them.
OUTSIDE = {
    r"sqlite3\.h": {"index"},
    r"jansson\.h": {"api", "cli"},
    r"curl/curl\.h": {"cli"},
    r"libfyaml\.h": {"policy", "cli"},
    r"openssl/.*": {"core", "api"},  # api: keys and signed links, random and constant time
    r"seccomp\.h": {"exec"},
    r"microhttpd\.h": {"api"},
    r"fuse.*\.h": {"fs"},
    r"pthread\.h|threads\.h": {"fs", "index"},  # the index thread lives in garth-fs
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def includes(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(2)) + 1, match.group(1), match.group(2)


def check_file(path, files, faults):
    """Rules for one file; gives back the project's files that it includes."""
    folder = path.parts[0]
    found = []
    for line, kind, name in includes(path):
        where = f"{path}:{line}"
        if kind == "<":
            for pattern, allowed in OUTSIDE.items():
                if re.fullmatch(pattern, name) and folder not in allowed:
                    faults.append(f"{where}: <{name}> belongs to {', '.join(sorted(allowed))} alone")
            continue
        if "/" not in name or not pathlib.Path(name).is_file() and name.split("/")[0] not in MAY:
            faults.append(f'{where}: "{name}" is not a path from the root')
            continue
        other = name.split("/")[0]
        if other != folder and other not in MAY[folder]:
            faults.append(f"{where}: {folder} may not include {other}")
        if pathlib.Path(name) in files:
            found.append(pathlib.Path(name))
    return found


def cycles(graph, faults):
    state = {}

    def walk(node, trail):
        state[node] = "open"
        for other in graph.get(node, ()):
            if state.get(other) == "open":
                ring = trail[trail.index(other):] + [other]
                faults.append("cycle: " + " -> ".join(map(str, ring)))
            elif other not in state:
                walk(other, trail + [other])
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            walk(node, [node])


def main():
    files = {p for f in MAY for p in sorted(pathlib.Path(f).glob("*.[ch]"))}
    faults = []
    graph = {path: check_file(path, files, faults) for path in sorted(files)}
    cycles(graph, faults)
    for fault in faults:
        print(f"layers: {fault}", file=sys.stderr)
    if faults:
        return 1
    print(f"layers: {len(files)} files hold the rules")
    return 0


if __name__ == "__main__":
    sys.exit(main())
