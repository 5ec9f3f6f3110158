#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 600
"""4 agents x 50 steps at once in one workspace: nobody sees another's task/, each output has one right step, violations are counted right."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from garthtest import Server, run, sha256

AGENTS, STEPS = ("a", "b", "c", "d"), int(os.environ.get("GARTH_TEST_STEPS", "50"))  # fewer on a slow machine
CODE = """
import os, sys
n = %d; me = os.environ["GARTH_AGENT"]; step = os.environ["GARTH_STEP"]
left = os.listdir("/workspace/task")
assert left == [], "task/ holds %%r" %% left
open("/workspace/task/mine", "w").write(step)
for i in range(n %% 5):
    try:
        open("/workspace/input/x", "w")
        sys.exit("input/ was writable")
    except OSError as e:
        assert e.errno == 30, e
try:
    open("/workspace/agents/%%s/x" %% ("b" if me == "a" else "a"), "w")
    sys.exit("a foreign area was writable")
except PermissionError:
    pass
path = "/workspace/output/%%s-%%d.txt" %% (me, n)
open(path, "w").write("%%s %%s %%d\\n" %% (me, step, n))
assert os.listdir("/workspace/task") == ["mine"], os.listdir("/workspace/task")
assert open("/workspace/task/mine").read() == step
print(step)
"""

server = None
answers = {}
errors = []


def agent(name):
    for n in range(STEPS):
        try:
            answers[(name, n)] = server.step("w", name, CODE % n, timeout=300)
        except Exception as e:
            errors.append("%s %d: %r" % (name, n, e))


def test_four_agents_fifty_steps_all_end_well():
    global server
    server = Server()
    server.workspace(agents=AGENTS)
    threads = [threading.Thread(target=agent, args=(a,)) for a in AGENTS]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors, errors[:3]
    bad = [(k, v["reason"], v["exit_code"], v["stderr"]) for k, v in answers.items() if v["reason"] != "exited" or v["exit_code"] != 0]
    assert not bad, (len(bad), bad[:2])
    assert len(answers) == len(AGENTS) * STEPS


def test_every_output_has_exactly_one_right_step():
    rows = [r for r in server.items("/v1/workspaces/w/artifacts?limit=500") if r["path"].startswith("output/")]
    by_path = {}
    for r in rows:
        by_path.setdefault(r["path"], []).append(r)
    assert len(by_path) == len(AGENTS) * STEPS, len(by_path)
    for (name, n), a in answers.items():
        path = "output/%s-%d.txt" % (name, n)
        text = ("%s %s %d\n" % (name, a["step"], n)).encode()
        assert len(by_path[path]) == 1, by_path[path]
        r = by_path[path][0]
        assert (r["step"], r["agent"], r["sha256"], r["state"]) == (a["step"], name, sha256(text), "sealed"), r
        assert [x["path"] for x in a["artifacts"]] == [path], a["artifacts"]
        assert server.get("w", path) == text


def test_violations_are_as_many_as_attempts():
    rows = server.items("/v1/workspaces/w/violations?limit=500")
    want = sum(n % 5 for n in range(STEPS)) * len(AGENTS)
    into_input = sum(r["count"] for r in rows if r["rule"] == "input.readonly")
    foreign = sum(r["count"] for r in rows if r["rule"] == "area.foreign")
    assert (into_input, foreign) == (want, len(AGENTS) * STEPS), (into_input, want, foreign)
    for (name, n), a in answers.items():
        assert sum(v["count"] for v in a["violations"]) == n % 5 + 1, a["violations"]
        assert all(v["agent"] == name and v["step"] == a["step"] for v in a["violations"])


def test_the_record_verifies_and_nothing_is_left():
    v = server.verify("w")
    assert v["ok"], v
    assert server.stop() == 0
    assert not server.mounts(), server.mounts()


run(test_four_agents_fifty_steps_all_end_well, test_every_output_has_exactly_one_right_step,
    test_violations_are_as_many_as_attempts, test_the_record_verifies_and_nothing_is_left)
