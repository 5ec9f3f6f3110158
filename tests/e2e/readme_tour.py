#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tour of the README, typed as it stands there: what it prints is what the README says, but for ids, hashes of ids, times and counts."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from garthtest import BIN, Server, TMP, run

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
MARK = "-- end of a command of the tour --"


def typed():
    """(command, what the README says it prints), in order"""
    out = []
    for block in re.findall(r"^```console\n(.*?)^```", open(README).read(), re.S | re.M):
        for line in block.splitlines():
            if line.startswith("$ "):
                out.append([line[2:], []])
            elif line.startswith("> ") or line == ">":
                out[-1][0] += "\n" + line[2:]
            else:
                out[-1][1].append(line)
    return out


def masked(lines):
    """what differs from run to run becomes one letter"""
    text = "\n".join(l.rstrip() for l in lines)
    text = re.sub(r"\bs_[0-9a-z]{13}\b", "s_N", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"head [0-9a-f]{64}", "head N", text)
    return re.sub(r"holds: \d+ events, \d+ rows", "holds: N events, N rows", text)


def test_the_tour_prints_what_the_readme_says():
    server = Server()
    steps = typed()
    assert len(steps) > 10, len(steps)
    env = dict(os.environ, GARTH_URL=server.url, GARTH_API_KEY=server.key, PATH=BIN + ":" + os.environ["PATH"])
    script = "".join("%s\nstatus=$?; echo '%s'; (exit $status)\n" % (c, MARK) for c, _ in steps)
    with tempfile.TemporaryDirectory(dir=TMP) as d:
        r = subprocess.run(["bash"], input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=d, timeout=100)
    got = r.stdout.decode().split(MARK + "\n")
    assert len(got) == len(steps) + 1, got[-1]
    for (command, want), text in zip(steps, got):
        lines = text.splitlines()
        assert masked(lines) == masked(want), "%s\nprinted\n%s\nnot\n%s" % (command, "\n".join(lines), "\n".join(want))
    assert server.stop() == 0


run(test_the_tour_prints_what_the_readme_says)
