#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 180
"""Hostile steps against the record: bytes of a version that is kept, who is booked, what counts. Not here: walls of the sandbox (tests/exec)."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from garthtest import Server, run

server = None


def step(ws, agent, code, **kw):
    r = server.step(ws, agent, code, **kw)
    assert r["reason"] == "exited" and r["exit_code"] == 0, (r["reason"], r["exit_code"], r["stderr"])
    return r


def check_verifies(ws):
    v = server.verify(ws)
    assert v["ok"], v


def test_kept_version_survives_path_descriptors():
    """A sealed file's inode is its object: a descriptor by path (O_PATH) that outlives the name must not lead to it."""
    global server
    server = Server()
    server.workspace("w")
    for name in ("unlinked", "replaced", "cut", "hidden"):
        step("w", "a", "open('/workspace/output/%s', 'w').write('good')" % name)
    step("w", "a", """
import os
os.chdir("/workspace/output")
def by_path(name):
    return "/proc/self/fd/%d" % os.open(name, os.O_PATH)
p = by_path("unlinked"); os.unlink("unlinked")
with open(p, "r+") as f: f.write("EVIL")
p = by_path("replaced"); open("new", "w").write("new"); os.rename("new", "replaced")
with open(p, "a") as f: f.write("EVIL")
p = by_path("cut"); os.unlink("cut"); os.truncate(p, 1)
p = by_path("hidden"); os.unlink("hidden"); os.chmod(p, 0)
""")
    for name in ("unlinked", "replaced", "cut", "hidden"):
        assert server.get("w", "output/%s?version=1" % name) == b"good", name
    check_verifies("w")


def test_nothing_moves_between_recorded_and_not():
    """From an open root a file with an unseen writer could come into output/, be sealed, and be written on."""
    server.workspace("shared", policy="version: 1\nroot: shared\n")
    step("shared", "a", """
import errno, os
os.chdir("/workspace")
os.mkdir("d"); open("d/f", "w").close(); open("x", "w").write("root"); open("output/y", "w").write("kept")
def exdev(fn, *a):
    try:
        fn(*a)
    except OSError as e:
        assert e.errno == errno.EXDEV, (fn, a, e)
    else:
        raise SystemExit("%s%r went through" % (fn.__name__, a))
for fn in (os.rename, os.link):
    exdev(fn, "x", "output/x")
    exdev(fn, "output/y", "y")
exdev(os.rename, "d", "output/d")
f = os.open(".", os.O_TMPFILE | os.O_RDWR)
exdev(lambda: os.link("/proc/self/fd/%d" % f, "output/t", follow_symlinks=True))
os.rename("x", "x2"); os.link("x2", "x3"); os.rename("output/y", "output/y2")
""")
    check_verifies("shared")


def test_link_cannot_take_a_file_from_its_owner():
    """A name in one's own area for a foreign file would refuse the owner, and book it as the owner's violation."""
    step("w", "b", "open('/workspace/output/b', 'w').write('1')")
    step("w", "a", """
import errno, os
try:
    os.link("/workspace/output/b", "/workspace/agents/a/b")
except OSError as e:
    assert e.errno == errno.EPERM, e
else:
    raise SystemExit("linked")
os.link("/workspace/output/b", "/workspace/output/b2")
""")
    r = step("w", "b", "open('/workspace/output/b', 'w').write('2')")
    assert r["violations"] == [], r["violations"]


def test_names_of_a_file_are_bounded_and_count():
    step("w", "a", """
import errno, os
os.mkdir("/workspace/output/l"); os.chdir("/workspace/output/l")
open("f", "w").close()
def used():
    v = os.statvfs("."); return v.f_files - v.f_ffree
was = used()
for i in range(100): os.link("f", "n%d" % i)
assert used() == was + 100, (was, used())
for i in range(100): os.unlink("n%d" % i)
assert used() == was, (was, used())
try:
    for i in range(1000): os.link("f", "n%d" % i)
except OSError as e:
    assert e.errno == errno.EMLINK, e
else:
    raise SystemExit("a thousand names")
""")
    check_verifies("w")


def test_removed_files_that_are_held_count():
    """O_PATH keeps the inode and its blocks: what lies on the disk counts."""
    step("w", "a", """
import os, time
os.chdir("/workspace/output")
def used():
    v = os.statvfs("."); return (v.f_blocks - v.f_bfree) * v.f_frsize
was = used()
held = []
for i in range(20):
    with open("h", "wb") as f: f.write(bytes(100000))
    held.append(os.open("h", os.O_PATH)); os.unlink("h")
assert used() >= was + 20 * 100000, (was, used())
for f in held: os.close(f)
for i in range(200):
    if used() < was + 100000: break
    time.sleep(0.01)
else:
    raise SystemExit("%d bytes stay charged" % (used() - was))
""")


WAIT = """
import os, time
def wait_for(path):
    end = time.monotonic() + 20
    while not os.path.exists(path):
        assert time.monotonic() < end, path
        time.sleep(0.02)
os.chdir("/workspace/output")
"""


def at_once(first, second):
    """both steps' answers; they wait for each other by files"""
    out, errors = {}, []

    def go(agent, code):
        try:
            out[agent] = step("w", agent, WAIT + code)
        except Exception as e:
            errors.append(e)
    threads = [threading.Thread(target=go, args=x) for x in (("a", first), ("b", second))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors
    return out["a"], out["b"]


def authors(path):
    """of each version, as soon as the newest is sealed: it is when the last writer has closed it"""
    end = time.monotonic() + 20
    while True:
        rows = sorted(server.items("/v1/workspaces/w/artifacts?path=" + path), key=lambda v: v["version"])
        if rows[-1]["state"] == "sealed" or time.monotonic() > end:
            return [(v["agent"], v["state"], v["size"]) for v in rows]
        time.sleep(0.1)


def test_author_is_who_wrote_not_who_opened():
    """b opens a's file for writing and writes nothing, before and after a writes."""
    first = """
f = os.open("f1", os.O_RDWR | os.O_CREAT, 0o664); os.write(f, b"12")
open("f1.open", "w").close(); wait_for("f1.seen")
os.write(f, b"34"); os.close(f)
open("f1.done", "w").close()
"""
    second = """
wait_for("f1.open"); open("f1", "a").close(); f = open("f1", "a")
open("f1.seen", "w").close(); wait_for("f1.done")
f.close()
"""
    at_once(first, second)
    assert server.get("w", "output/f1") == b"1234"
    assert authors("output/f1") == [("a", "sealed", 4)], authors("output/f1")


def test_two_authors_of_one_file_are_both_named():
    first = """
f = os.open("f2", os.O_RDWR | os.O_CREAT, 0o664); os.write(f, b"aa")
open("f2.open", "w").close(); wait_for("f2.done"); os.close(f)
"""
    second = """
wait_for("f2.open")
with open("f2", "a") as f: f.write("bb")
open("f2.done", "w").close()
"""
    at_once(first, second)
    assert server.get("w", "output/f2") == b"aabb"
    rows = authors("output/f2")
    assert [v[:2] for v in rows] == [("a", "open"), ("b", "sealed")] and rows[1][2] == 4, rows
    check_verifies("w")


def test_one_agents_open_files_leave_room_for_others():
    hog = """
import os, time
os.chdir("/workspace/output")
open("f", "w").close()
kids = []
for k in range(40):
    pid = os.fork()
    if pid == 0:
        fds = []
        try:
            for i in range(1000): fds.append(os.open("f" if i % 2 else ".", os.O_RDONLY))
        except OSError:
            pass
        time.sleep(60)
        os._exit(0)
    kids.append(pid)
time.sleep(3)
try:
    os.mkdir("full")
    time.sleep(60)
finally:
    for pid in kids: os.kill(pid, 9)
"""
    started = server.json("POST", "/v1/workspaces/w/steps", {"agent": "a", "code": hog, "language": "python", "timeout_s": 60}, want=202,
                          headers={"Prefer": "respond-async"})
    try:
        end = time.monotonic() + 30
        while "full" not in [e["name"] for e in server.json("GET", "/v1/workspaces/w/files/output")["items"]]:
            assert time.monotonic() < end, "the files are not open"
            time.sleep(0.2)
        step("w", "b", "import os; open('/workspace/output/room', 'w').write(str(os.listdir('/workspace/output')))")
    finally:
        server.http("DELETE", "/v1/workspaces/w/steps/" + started["step"])


def test_wiped_files_are_free_on_the_disk():
    """A descriptor that garth-fs keeps of a wiped file would hold its blocks, which no quota counts."""
    def held():
        total = 0
        for pid in server.pids("garth-fs"):
            for fd in os.listdir("/proc/%d/fd" % pid):
                try:
                    st = os.stat("/proc/%d/fd/%s" % (pid, fd))
                except OSError:
                    continue
                total += st.st_blocks * 512 if st.st_nlink == 0 else 0
        return total
    live = server.json("POST", "/v1/workspaces/w/sandboxes", {"agent": "a", "lifetime_s": 120})["id"]
    for sandbox in ({}, {"sandbox": live}):
        for i in range(2):
            step("w", "a", "open('/workspace/task/f', 'wb').write(bytes(8 << 20))", **sandbox)
    step("w", "a", "pass", sandbox=live)
    end = time.monotonic() + 20
    while held() >= 8 << 20:
        assert time.monotonic() < end, "%d bytes without a name are held" % held()
        time.sleep(0.1)


def test_no_kind_of_entry_evades_the_quota():
    limit, slack = 4 << 20, 512 << 10
    for name, code in (("attributes", "open('f%d' % i, 'w').close(); os.setxattr('f%d' % i, 'user.a', bytes(3900))"),
                       ("folders", "os.mkdir('d%d' % i)"),
                       ("symlinks", "os.symlink('x' * 4000, 's%d' % i)")):
        server.workspace(name, policy="version: 1\nlimits:\n  workspace: { bytes: 4MiB, files: 100000 }\n")
        step(name, "a", "import errno, os\nos.chdir('/workspace/output')\ntry:\n    for i in range(1500): %s\n"
             "except OSError as e:\n    assert e.errno == errno.EDQUOT, e\nelse:\n    raise SystemExit('no limit')\n" % code)
        top = server.data + "/workspaces/%s/data" % name
        disk = sum(os.lstat(os.path.join(base, n)).st_blocks * 512 for base, dirs, files in os.walk(top) for n in dirs + files)
        assert disk <= limit + slack, (name, disk)


def test_standard_streams_open_by_name():
    r = server.step("w", "a", "cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr", language="bash")
    assert (r["stdout"], r["stderr"]) == ("out\n", "err\n"), (r["stdout"], r["stderr"])
    r = server.step("w", "a", "cat /dev/stdin", language="bash", stdin="in")
    assert (r["stdout"], r["stderr"]) == ("in", ""), (r["stdout"], r["stderr"])


if __name__ == "__main__":
    run(test_kept_version_survives_path_descriptors, test_nothing_moves_between_recorded_and_not,
        test_link_cannot_take_a_file_from_its_owner, test_names_of_a_file_are_bounded_and_count,
        test_removed_files_that_are_held_count, test_author_is_who_wrote_not_who_opened,
        test_two_authors_of_one_file_are_both_named, test_one_agents_open_files_leave_room_for_others,
        test_wiped_files_are_free_on_the_disk, test_no_kind_of_entry_evades_the_quota,
        test_standard_streams_open_by_name)
