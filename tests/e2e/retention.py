#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 240
"""What `retention` lets go: old versions lose their bytes while the workspace runs, what others need stays; old logs go; the record stays whole."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from garthtest import Server, run, sha256

server = None
POLICY = "version: 1\nretention: { versions: 2, logs: 30d }\n"
BIG = 4 << 20


def versions(path):
    return sorted(server.items("/v1/workspaces/w/artifacts?path=%s&limit=500" % path), key=lambda r: r["version"])


def body(i):
    return ("%d" % i).encode() * BIG


def write(path, i, size=BIG):
    a = server.step("w", "a", "open('/workspace/%s','wb').write(b'%d' * %d)" % (path, i, size))
    assert a["exit_code"] == 0, a


def until(fn, seconds=15):
    end = time.time() + seconds
    while time.time() < end:
        if fn():
            return
        time.sleep(0.2)
    raise AssertionError("not within %d s: %r" % (seconds, fn()))


def states(path):
    return [v["state"] for v in versions(path)]


def objects():
    return set(os.listdir(os.path.join(server.data, "workspaces/w/objects")))


def blocks_of_objects():
    d = os.path.join(server.data, "workspaces/w/objects")
    return sum(os.stat(os.path.join(d, n)).st_blocks * 512 for n in os.listdir(d))


def used():
    """bytes that count: as the mount says"""
    s = server.step("w", "b", "import os; s = os.statvfs('/workspace'); print((s.f_blocks - s.f_bavail) * s.f_frsize)")
    assert s["exit_code"] == 0, s
    return int(s["stdout"])


def test_setup():
    global server
    server = Server()
    server.workspace(agents=("a", "b"), policy=POLICY)


def test_the_bytes_of_versions_beyond_the_newest_two_go():
    for i in range(1, 6):
        write("output/f", i)
    until(lambda: states("output/f") == ["pruned"] * 3 + ["sealed"] * 2)
    for n in (1, 2, 3):
        status, _, out = server.http("GET", "/v1/workspaces/w/files/output/f?version=%d" % n)
        assert status in (409, 410) and b"pruned" in out, (n, status, out[:200])
    assert server.get("w", "output/f?version=4") == body(4)
    assert server.get("w", "output/f?version=5") == body(5)
    assert server.get("w", "output/f") == body(5)
    hashes = [v["sha256"] for v in versions("output/f")]
    assert hashes == [sha256(body(i)) for i in range(1, 6)], hashes
    assert not objects() & set(hashes[:3]) and objects() >= {hashes[3]}, "the objects are not what is kept"


def test_their_bytes_leave_the_quota():
    assert blocks_of_objects() < 3 * BIG, blocks_of_objects()
    now = used()
    assert now < 3 * BIG, now  # the live file, one older version
    write("output/f", 6)
    until(lambda: states("output/f")[3] == "pruned")
    again = used()
    assert abs(again - now) < BIG // 2, (now, again)


def test_bytes_that_another_path_or_a_step_needs_stay():
    write("output/x", 1, 9)
    write("output/y", 1, 9)  # the same bytes
    for i in (2, 3, 4):
        write("output/x", i, 9)
    until(lambda: "pruned" in states("output/x"))
    assert states("output/x") == ["sealed", "pruned", "sealed", "sealed"], states("output/x")
    assert server.get("w", "output/x?version=1") == b"1" * 9
    assert server.get("w", "output/y") == b"1" * 9


def test_many_versions_while_they_are_pruned():
    code = """
import os
for i in range(400):
    for n in range(4):
        p = '/workspace/output/m%d' % n
        open(p + '.new', 'w').write(str((i * 7 + n) % 13))
        os.rename(p + '.new', p)
"""
    for _ in range(3):
        a = server.step("w", "a", code)
        assert a["exit_code"] == 0, a["stderr"]
        write("output/f", 7, 5)
        b = server.step("w", "b", "for n in range(4): open('/workspace/output/m%d' % n, 'a').write(open('/workspace/output/m0').read())")
        assert b["exit_code"] == 0, b["stderr"]
    time.sleep(2.5)
    for n in range(4):
        for v in versions("output/m%d" % n):
            status, _, out = server.http("GET", "/v1/workspaces/w/files/output/m%d?version=%d" % (n, v["version"]))
            want = (409, 410) if v["state"] == "pruned" else 200
            assert status == 200 if want == 200 else status in want, (v, status, out[:200])
            assert status != 200 or sha256(out) == v["sha256"], v


def test_the_record_verifies():
    v = server.verify("w")
    assert v["ok"], v


def test_a_tighter_policy_prunes_what_is_there():
    status, _, out = server.http("PUT", "/v1/workspaces/w/policy", POLICY.replace("versions: 2", "versions: 1").encode(),
                                 {"Content-Type": "application/yaml"})
    assert status in (200, 204), (status, out)
    write("output/x", 5, 9)
    until(lambda: states("output/x") == ["sealed"] + ["pruned"] * 3 + ["sealed"])  # the first one's bytes are those of y
    assert server.verify("w")["ok"]


def test_old_logs_go_when_it_starts_and_their_steps_stay():
    old = server.step("w", "a", "print('old')")
    new = server.step("w", "a", "print('new')")
    logs = os.path.join(server.data, "workspaces/w/data/logs")
    server.stop()
    long_ago = time.time() - 31 * 86400
    for p in (os.path.join(logs, old["step"], "stdout"), os.path.join(logs, old["step"], "stderr"), os.path.join(logs, old["step"])):
        os.utime(p, (long_ago, long_ago))
    server.start()
    server.step("w", "b", "print(1)")
    until(lambda: not os.path.exists(os.path.join(logs, old["step"])))
    assert os.path.exists(os.path.join(logs, new["step"], "stdout"))
    s = server.json("GET", "/v1/workspaces/w/steps/" + old["step"])
    assert s["step"] == old["step"], s
    assert server.verify("w")["ok"]


run(test_setup, test_the_bytes_of_versions_beyond_the_newest_two_go, test_their_bytes_leave_the_quota,
    test_bytes_that_another_path_or_a_step_needs_stay, test_many_versions_while_they_are_pruned, test_the_record_verifies,
    test_a_tighter_policy_prunes_what_is_there, test_old_logs_go_when_it_starts_and_their_steps_stay)
