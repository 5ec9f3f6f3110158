#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The operator's life: a record of a newer garth, a changed copy, a program that is none, ids that are none, uploads that can't all be done."""
import glob
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from garthtest import BIN, TMP, Server, garth, run

S = Server()
W = ("-w", "w")
DIR = tempfile.mkdtemp(prefix="garth-operator-", dir=TMP)
POLICY = "version: 1\nhooks:\n  pre_step: { agent: b, run: [%s] }\n"


def says(row, got, code, *words):
    text = (got.stdout + got.stderr).decode()
    assert got.returncode == code, (row, got.returncode, text)
    for word in words:
        assert word in text, (row, word, text)


def test_setup():
    S.workspace("w", ("a", "b"))
    S.put("w", "input/x.csv", b"1\n")
    S.step("w", "a", code="open('/workspace/output/x', 'w').write(open('/workspace/input/x.csv').read())\ntry: open('/workspace/input/n', 'w')\nexcept OSError: pass")


def test_a_program_that_is_none_is_said_not_only_numbered():
    says("no such program", garth(S, "run", *W, "-a", "a", "--", "no-such-program"), 127, "garth: not started: ", "no-such-program")
    says("no program", garth(S, "run", *W, "-a", "a", "--", "/etc/passwd"), 126, "garth: not started: ")
    says("no such folder", garth(S, "run", *W, "-a", "a", "--cwd", "nodir", "--", "true"), 127, "garth: not started: ", "nodir")
    own = garth(S, "run", *W, "-a", "a", "--", "sh", "-c", "exit 127")
    assert (own.returncode, own.stdout, own.stderr) == (127, b"", b""), own


def test_what_is_no_id_is_not_found():
    for args in (("step", "zzz"), ("step", "s_0000000000000"), ("kill", "s_1"), ("logs", "sb_0000000000001"), ("sandbox", "rm", "zzz", *W), ("run", *W, "-a", "a", "--sandbox", "zzz", "--", "true")):
        says(args, garth(S, *args), 3, "garth: there is no ")


def test_an_upload_of_which_a_part_is_missing_sends_nothing():
    good = os.path.join(DIR, "good.txt")
    with open(good, "w") as f:
        f.write("x")
    says("missing", garth(S, "put", *W, good, os.path.join(DIR, "none")), 1, "none")
    says("a folder", garth(S, "put", *W, good, DIR), 2, "-r")
    assert S.http("GET", "/v1/workspaces/w/files/input/good.txt")[0] == 404
    says("good", garth(S, "put", *W, good), 0)


def test_a_device_or_a_pipe_is_written_to_never_replaced():
    null, pipe, link, real = (os.path.join(DIR, n) for n in ("null", "pipe", "link", "real"))
    os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    os.mkfifo(pipe)
    with open(real, "w") as f:
        f.write("old")
    os.symlink("real", link)
    for args in (("get", *W, "input/x.csv", null), ("audit", "export", *W, null)):
        says(args, garth(S, *args), 0)
        assert stat.S_ISCHR(os.lstat(null).st_mode), args
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    says("pipe", garth(S, "get", *W, "input/x.csv", pipe), 0)
    assert reader.communicate(timeout=10)[0] == b"1\n" and stat.S_ISFIFO(os.lstat(pipe).st_mode)
    says("link", garth(S, "get", *W, "input/x.csv", link), 0)
    assert os.path.islink(link) and open(real).read() == "1\n"
    folder = os.path.join(DIR, "folder")
    os.makedirs(folder + "/input")
    os.mkfifo(folder + "/input/x.csv")
    says("in a folder", garth(S, "get", *W, "input", folder), 1, "File exists")
    assert stat.S_ISFIFO(os.lstat(folder + "/input/x.csv").st_mode)


def test_another_device_is_not_dev_fuse():
    script = "mount --make-rprivate / && mount --bind /dev/null /dev/fuse && exec \"$0\" \"$@\""
    place = os.path.join(DIR, "nofuse")
    for args, words in ((("up", "--data", place, "--listen", "127.0.0.1:0"), "/dev/fuse can't be opened"), (("doctor", "--data", place), "modprobe fuse")):
        got = subprocess.run(["timeout", "-s", "INT", "20", "unshare", "-m", "sh", "-c", script, BIN + "/garth", *args], capture_output=True, timeout=60)
        says(args, got, 1, words)


def test_a_hook_that_can_not_start_says_why():
    S.workspace("h", ("a", "b"), POLICY % "/no/such/hook")
    error = S.step("h", "a", argv=["true"], want=422)["error"]
    assert error["name"] == "Refused" and "not started" in error["value"] and "/no/such/hook" in error["value"], error


def copy(name):
    """a fresh copy of the exported record"""
    to = os.path.join(DIR, name)
    shutil.rmtree(to, ignore_errors=True)
    os.mkdir(to)
    subprocess.run(["tar", "-xf", os.path.join(DIR, "w.tar"), "-C", to], check=True)
    return os.path.join(to, "w")


def verify(place):
    env = dict(os.environ, GARTH_URL="http://127.0.0.1:1", GARTH_API_KEY="none")
    return subprocess.run([BIN + "/garth", "audit", "verify", place, "--json"], capture_output=True, env=env, timeout=60)


def test_each_row_that_goes_or_changes_is_found_in_a_copy():
    says("export", garth(S, "audit", "export", *W, os.path.join(DIR, "w.tar")), 0)
    assert verify(copy("same")).returncode == 0
    db = sqlite3.connect(copy("look") + "/index.db")
    tables = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'meta'")]
    full = {t: [c[1] for c in sorted(db.execute("PRAGMA table_info(%s)" % t).fetchall(), key=lambda c: c[5]) if c[5]] or ["rowid"]
            for t in tables if db.execute("SELECT count(*) FROM " + t).fetchone()[0]}
    db.close()
    assert len(full) >= 10, full
    for t, keys in full.items():
        place = copy("changed")
        db = sqlite3.connect(place + "/index.db")
        one = db.execute("SELECT %s FROM %s LIMIT 1" % (", ".join(keys), t)).fetchone()
        db.execute("DELETE FROM %s WHERE %s" % (t, " AND ".join(k + " IS ?" for k in keys)), one)
        db.commit()
        db.close()
        got = verify(place)
        assert got.returncode == 1 and json.loads(got.stdout)["what"], (t, got)
    for change in (lambda p: os.unlink(p), lambda p: open(p, "ab").write(b"x"), lambda p: open(p, "wb").close()):
        place = copy("changed")
        change([p for p in sorted(glob.glob(place + "/objects/*")) if os.path.getsize(p)][0])
        assert verify(place).returncode == 1
    place = copy("changed")
    os.truncate(place + "/index.db", os.path.getsize(place + "/index.db") // 2)
    assert verify(place).returncode == 1


def test_a_record_of_a_newer_garth_is_refused_at_the_start():
    assert S.stop() == 0
    path = S.data + "/workspaces/w/index.db"
    db = sqlite3.connect(path)
    known = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute("PRAGMA user_version = %d" % (known + 1))
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    try:
        got = subprocess.run([BIN + "/garth", "up", "--data", S.data, "--listen", "127.0.0.1:0"], capture_output=True, timeout=30)
        says("newer", got, 1, "workspace 'w'", "newer garth")
        assert got.stdout == b"" and len(got.stderr.decode().strip().split("\n")) == 1, got
    finally:
        db = sqlite3.connect(path)
        db.execute("PRAGMA user_version = %d" % known)
        db.commit()
        db.close()
        for name in ("", "-wal", "-shm"):  # garth-fs's, as before
            if os.path.exists(path + name):
                os.chown(path + name, os.stat(os.path.dirname(path)).st_uid, os.stat(os.path.dirname(path)).st_gid)
    S.start()
    assert S.verify("w")["ok"] and S.step("w", "a", argv=["true"])["exit_code"] == 0


def test_cleanup():
    shutil.rmtree(DIR)


run(*[f for n, f in list(globals().items()) if n.startswith("test_")])
