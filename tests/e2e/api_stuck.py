#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A part of the server that stands still: who waits for it waits, for a bounded time; nobody else notices."""
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from garthtest import Server, proc_children, run

S = Server()


def in_thread(fn):
    box = {}

    def go():
        try:
            box["value"] = fn()
        except Exception as e:
            box["error"] = e

    t = threading.Thread(target=go)
    t.start()
    return t, box


def args(pid):
    try:
        return open("/proc/%d/cmdline" % pid).read().split("\0")
    except OSError:
        return []


def server_of(ws):
    return [p for p in proc_children(S.up.pid) if args(p)[:3] and args(p)[0].endswith("garth-fs") and ws in args(p)][0]


def quick(what, limit=3.0):
    start = time.time()
    what()
    took = time.time() - start
    assert took < limit, "it took %.1f s" % took


def test_setup():
    for ws in ("one", "two"):
        S.workspace(ws, ("a",))
        S.put(ws, "input/x", b"x")


def test_a_stopped_file_server_stalls_its_own_workspace_alone():
    pid = server_of("one")
    os.kill(pid, signal.SIGSTOP)
    try:
        t1, b1 = in_thread(lambda: S.http("GET", "/v1/workspaces/one/files/input/x"))
        t2, b2 = in_thread(lambda: S.step("one", "a", argv=["echo", "late"]))
        t3, b3 = in_thread(lambda: S.http("PUT", "/v1/workspaces/one/files/input/y", b"y"))
        time.sleep(0.5)
        quick(lambda: S.http("GET", "/healthz"))
        quick(lambda: S.put("two", "input/y", b"y"))
        quick(lambda: S.step("two", "a", argv=["true"]))
        quick(lambda: S.get("two", "input/x"))
        quick(lambda: S.json("GET", "/v1/workspaces/one/artifacts"))  # the record can be read all the same
    finally:
        os.kill(pid, signal.SIGCONT)
    for t in (t1, t2, t3):
        t.join(40)
    assert b1["value"][0] == 200 and b1["value"][2] == b"x", b1
    assert b2["value"]["stdout"] == "late\n", b2
    assert b3["value"][0] == 201, b3


def test_a_step_that_hangs_on_a_stopped_file_server_ends_by_its_time():
    pid = server_of("one")
    t, b = in_thread(lambda: S.step("one", "a", code="import time, os\ntime.sleep(1)\nwhile True:\n    os.listdir('/workspace/output')\n    open('/workspace/output/f', 'w').write('x')", timeout_s=3))
    time.sleep(0.8)
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(4)
        quick(lambda: S.http("GET", "/healthz"))
        quick(lambda: S.step("two", "a", argv=["true"]))
    finally:
        os.kill(pid, signal.SIGCONT)
    t.join(40)
    assert b["value"]["reason"] == "timeout", b
    assert S.step("one", "a", argv=["echo", "fine"])["stdout"] == "fine\n"


def test_a_stopped_garthd_stalls_what_needs_it_alone():
    S.step("two", "a", argv=["true"])
    pid = S.pids("garthd")[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        t, b = in_thread(lambda: S.step("two", "a", argv=["echo", "late"]))
        quick(lambda: S.http("GET", "/healthz"))
        quick(lambda: S.get("two", "input/x"))
        quick(lambda: S.json("GET", "/v1/workspaces/two/steps"))
    finally:
        os.kill(pid, signal.SIGCONT)
    t.join(40)
    assert b["value"]["stdout"] == "late\n", b


def test_a_stopped_init_is_no_way_to_live_longer():
    """the program stops garth-init's children, not init itself, but what a guest's silence means is the same: the sandbox goes"""
    j = S.step("two", "a", code="import os, signal, time\nfor p in os.listdir('/proc'):\n    if p.isdigit() and int(p) != os.getpid():\n        try:\n            os.kill(int(p), signal.SIGSTOP)\n        except OSError:\n            pass\ntime.sleep(30)", timeout_s=1)
    assert j["reason"] == "timeout" and j["wall_ms"] < 8000, (j["reason"], j["wall_ms"])


def test_the_records_verify():
    for ws in ("one", "two"):
        assert S.verify(ws)["ok"]


run(*[f for n, f in list(globals().items()) if n.startswith("test_")])
