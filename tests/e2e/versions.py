#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 300
"""A file changed by a later step while another reads it, appended 1,000 times, renamed over, truncated by path: the record is right and readers never notice."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from garthtest import Server, run, sha256

server = None


def versions(path):
    return sorted(server.items("/v1/workspaces/w/artifacts?path=%s&limit=500" % path), key=lambda r: r["version"])


def write(path, text, agent="a"):
    a = server.step("w", agent, "open('/workspace/%s','w').write(%r)" % (path, text))
    assert a["exit_code"] == 0, a
    return a


def test_setup():
    global server
    server = Server()
    server.workspace(agents=("a", "b"))


def test_a_reader_keeps_its_file_while_a_later_step_changes_it():
    write("output/f", "one\n" * 1000)
    answer = {}

    def reader():
        answer["r"] = server.step("w", "b", """
import os, time, mmap, fcntl
f = open("/workspace/output/f", "rb"); st = os.fstat(f.fileno())
m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
fcntl.flock(f, fcntl.LOCK_SH)
os.link("/workspace/output/f", "/workspace/output/f.link")
open("/workspace/output/reading", "w").close()
for i in range(200):
    if os.path.exists("/workspace/output/changed"): break
    time.sleep(0.05)
else: raise SystemExit("nobody changed it")
now = os.fstat(f.fileno())
assert now.st_ino == st.st_ino and now.st_nlink == 2, (st, now)
assert m[:4] == b"two\\n", m[:8]
assert os.stat("/workspace/output/f.link").st_ino == st.st_ino
assert open("/workspace/output/f.link", "rb").read() == b"two\\n" * 1000
""")

    t = threading.Thread(target=reader)
    t.start()
    for _ in range(200):
        if any(e["name"] == "reading" for e in server.json("GET", "/v1/workspaces/w/files/output")["items"]):
            break
        time.sleep(0.05)
    server.step("w", "a", "f = open('/workspace/output/f','r+'); f.write('two\\n' * 1000); f.close(); open('/workspace/output/changed','w').close()")
    t.join()
    r = answer["r"]
    assert r["exit_code"] == 0, r["stderr"]
    v = versions("output/f")
    assert [x["sha256"] for x in v][0] == sha256(b"one\n" * 1000)
    assert v[-1]["sha256"] == sha256(b"two\n" * 1000), v
    assert server.get("w", "output/f?version=1") == b"one\n" * 1000
    assert server.get("w", "output/f") == b"two\n" * 1000


def test_a_thousand_appends_are_one_version():
    a = server.step("w", "a", "\nfor i in range(1000):\n    f = open('/workspace/output/log','a'); f.write('%d\\n' % i); f.close()")
    text = "".join("%d\n" % i for i in range(1000)).encode()
    assert a["exit_code"] == 0 and [x["path"] for x in a["artifacts"]] == ["output/log"], a
    assert a["artifacts"][0]["sha256"] == sha256(text)
    assert server.get("w", "output/log") == text


def test_a_rename_over_gives_the_name_the_new_bytes():
    write("output/r", "old")
    a = server.step("w", "b", "import os; open('/workspace/output/r.new','w').write('new'); os.rename('/workspace/output/r.new','/workspace/output/r')")
    assert [x["path"] for x in a["artifacts"]] == ["output/r"], a["artifacts"]
    v = versions("output/r")
    assert [x["sha256"] for x in v] == [sha256(b"old"), sha256(b"new")], v
    assert server.get("w", "output/r?version=1") == b"old"
    names = [e["name"] for e in server.json("GET", "/v1/workspaces/w/files/output")["items"]]
    assert "r.new" not in names


def test_a_truncate_by_path_is_a_version():
    write("output/t", "0123456789")
    a = server.step("w", "b", "import os; os.truncate('/workspace/output/t', 4)")
    assert a["exit_code"] == 0, a["stderr"]
    v = versions("output/t")
    assert [x["sha256"] for x in v] == [sha256(b"0123456789"), sha256(b"0123")], v
    assert v[-1]["agent"] == "b" and v[-1]["step"] == a["step"]
    assert server.get("w", "output/t?version=1") == b"0123456789"


def test_what_a_step_reads_has_the_version_it_read():
    write("output/in", "v1")
    b = server.step("w", "b", "open('/workspace/output/copy','w').write(open('/workspace/output/in').read())")
    write("output/in", "v2")
    g = server.json("GET", "/v1/workspaces/w/lineage?path=output/copy")
    paths = {(n.get("path"), n.get("version"), n.get("sha256")) for n in g["nodes"] if n.get("path")}
    assert ("output/in", 1, sha256(b"v1")) in paths, paths
    assert ("output/in", 2, sha256(b"v2")) not in paths, paths
    d = server.json("GET", "/v1/workspaces/w/lineage?path=output/in&version=1&direction=downstream")
    assert any(n.get("path") == "output/copy" for n in d["nodes"]), d
    assert b["reads"] == 1, b


def test_equal_bytes_under_two_names_are_kept_once_and_change_apart():
    write("output/x1", "same")
    write("output/x2", "same")
    write("output/x1", "else")
    assert server.get("w", "output/x2") == b"same"
    assert server.get("w", "output/x1?version=1") == b"same"


def test_the_record_verifies():
    v = server.verify("w")
    assert v["ok"], v


run(test_setup, test_a_reader_keeps_its_file_while_a_later_step_changes_it, test_a_thousand_appends_are_one_version,
    test_a_rename_over_gives_the_name_the_new_bytes, test_a_truncate_by_path_is_a_version, test_what_a_step_reads_has_the_version_it_read,
    test_equal_bytes_under_two_names_are_kept_once_and_change_apart, test_the_record_verifies)
