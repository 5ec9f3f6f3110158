#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 600
"""kill -9 of each program at each stage of a step: what was acknowledged is there, what was in doubt is named, and it comes back by itself."""
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from garthtest import Server, run, sha256

PROGRAMS = ("garth-fs", "garth-keeper", "garth-api", "garthd")
# stage -> seconds after the step was asked for; the program marks its own stages by what it writes
STAGES = ("begin", "writing", "done")
CODE = """
import os, time
open("/workspace/output/early-%(n)d", "w").write("early %(n)d")
print("begin", flush=True)
f = open("/workspace/output/open-%(n)d", "w")
for i in range(%(loops)d):
    f.write("line %%d\\n" %% i); f.flush(); time.sleep(0.02)
f.close()
"""
server = None
acknowledged = {}  # path -> sha256
counter = [0]


def kill(pids):
    for p in pids:
        try:
            os.kill(p, signal.SIGKILL)
        except ProcessLookupError:
            pass  # one that lived by the other has gone with it


def alive_within(seconds):
    """a whole step works again; how long it took"""
    start = time.time()
    last = None
    while time.time() - start < seconds:
        try:
            a = server.step("w", "a", argv=["cat", "/workspace/input/data.txt"], timeout=10)
            if a["reason"] == "exited" and a["stdout"] == "given\n":
                return time.time() - start
            last = a
        except Exception as e:
            last = e
        time.sleep(0.2)
    raise AssertionError("not usable after %d s: %r" % (seconds, last))


def background_step(n, loops, answer):
    try:
        answer["step"] = server.step("w", "a", CODE % {"n": n, "loops": loops}, timeout=60)
    except Exception as e:
        answer["error"] = e


def once(program, stage):
    counter[0] += 1
    n = counter[0]
    ok = server.step("w", "b", "open('/workspace/output/ack-%d','w').write('kept %d')" % (n, n))
    assert ok["reason"] == "exited" and len(ok["artifacts"]) == 1, ok
    acknowledged["output/ack-%d" % n] = sha256(b"kept %d" % n)
    answer = {}
    t = threading.Thread(target=background_step, args=(n, 4 if stage == "done" else 100, answer))
    t.start()
    time.sleep({"begin": 0.03, "writing": 0.6, "done": 0.45}[stage])
    pids = server.pids(program)
    assert pids, "no %s runs" % program
    killed = time.time()
    kill(pids)
    t.join(60)
    assert not t.is_alive(), "the client hangs after kill -9 of %s" % program
    back = alive_within(15)
    print("# %s at %s: usable after %.1f s" % (program, stage, time.time() - killed), flush=True)
    if "step" in answer:
        s = answer["step"]
        assert s["reason"] in ("lost", "exited"), s
        if s["reason"] == "exited" and s["exit_code"] == 0:
            for a in s["artifacts"]:
                if a["sha256"]:
                    acknowledged[a["path"]] = a["sha256"]
        elif s["reason"] == "exited":
            raise AssertionError("a step that a crash broke is told as the program's fault: %r" % s)
    check_record(n)
    return back


def check_record(n):
    for _ in range(50):  # a question that was given up while it came back may still be ending
        open_steps = [s for s in server.items("/v1/workspaces/w/steps?limit=500") if s["state"] != "ended"]
        if not open_steps:
            break
        time.sleep(0.1)
    assert not open_steps, open_steps[:2]
    rows = {}
    for r in server.items("/v1/workspaces/w/artifacts?limit=500"):
        rows.setdefault(r["path"], []).append(r)
    for path, sha in acknowledged.items():
        assert path in rows, "%s was acknowledged and is not in the record" % path
        assert rows[path][-1]["sha256"] == sha or any(r["sha256"] == sha for r in rows[path]), rows[path]
        got = server.get("w", path)
        assert sha256(got) == sha, "%s: other bytes" % path
    # what the broken step had written before is named: as a version of its own, sealed, open or in doubt
    names = [s for s in server.items("/v1/workspaces/w/steps?limit=500") if s["reason"] == "lost"]
    for s in names:
        assert s["exit_code"] in (None, -1), s
    v = server.verify("w")
    assert v["ok"], v


def make(program):
    def test():
        for stage in STAGES:
            once(program, stage)
    test.__name__ = "test_kill_%s_at_each_stage_loses_nothing" % program.replace("-", "_")
    return test


def test_setup():
    global server
    server = Server()
    server.workspace(agents=("a", "b"))
    server.put("w", "input/data.txt", b"given\n")


def test_a_file_left_by_a_broken_step_is_named():
    rows = server.items("/v1/workspaces/w/artifacts?limit=500")
    early = [r for r in rows if r["path"].startswith("output/early-")]
    assert early, "nothing of the broken steps is in the record"
    lost = {s["step"] for s in server.items("/v1/workspaces/w/steps?limit=500") if s["reason"] == "lost"}
    assert lost, "no step ended lost"
    listing = server.json("GET", "/v1/workspaces/w/files/output")["items"]
    known = {r["path"] for r in rows}
    missing = [e["name"] for e in listing if "output/" + e["name"] not in known]
    assert not missing, "files that the record does not name: %r" % missing


def test_kill_everything_at_once_then_start_again():
    server.step("w", "b", "open('/workspace/output/last','w').write('x')")
    acknowledged["output/last"] = sha256(b"x")
    kill([p for name in PROGRAMS for p in server.pids(name)])
    alive_within(20)
    check_record(0)
    server.up.kill()
    server.up.wait()
    server.start()
    alive_within(15)
    check_record(0)


def test_nothing_is_left_after_stop():
    assert server.stop() == 0
    assert not server.mounts(), server.mounts()


run(test_setup, *[make(p) for p in PROGRAMS], test_a_file_left_by_a_broken_step_is_named,
    test_kill_everything_at_once_then_start_again, test_nothing_is_left_after_stop)
