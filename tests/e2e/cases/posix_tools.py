# SPDX-License-Identifier: MIT
"""What real programs do: SQLite, git, pip, sort."""
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile

from case import case, child, ended, run_all, same, write, Skip


def sh(command):
    r = subprocess.run(["/bin/bash", "-ec", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode != 0:
        raise AssertionError("%s: %s" % (command, r.stdout[-300:]))
    return r.stdout


@case
def sqlite_with_wal_and_mappings():
    db = sqlite3.connect("t.db")
    same(db.execute("PRAGMA journal_mode=WAL").fetchone()[0], "wal")
    db.execute("PRAGMA mmap_size=67108864")
    db.execute("CREATE TABLE t(a, b)")
    db.commit()

    def reader():
        r = sqlite3.connect("t.db", timeout=20)
        r.execute("PRAGMA mmap_size=67108864")
        for _ in range(60):
            n, total = r.execute("SELECT count(*), coalesce(sum(a - b), 0) FROM t").fetchone()
            assert total == 0 and n % 2 == 0, (n, total)
        r.close()

    pids = [child(reader) for _ in range(2)]
    for i in range(80):
        with db:
            db.execute("INSERT INTO t VALUES(?, ?)", (i, 0))
            db.execute("INSERT INTO t VALUES(?, ?)", (0, i))
    for pid in pids:
        ended(pid)
    same(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
    db.close()


@case
def git_works():
    if not shutil.which("git"):
        raise Skip("no git")
    os.environ.update(GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@t", GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@t")
    sh("git init -q -b main r && cd r && echo 1 >f && git add f && git commit -qm 1 && git checkout -qb side && echo 2 >g && git add g"
       " && git commit -qm 2 && git checkout -q main && echo 3 >>f && git commit -qam 3 && git checkout -q side && git rebase -q main"
       " && git gc -q && git fsck --strict && git clone -q . ../c")
    same(sorted(n for n in os.listdir("c") if n != ".git"), ["f", "g"])


@case
def a_wheel_is_installed_and_removed():
    try:
        import ensurepip  # noqa: F401 - Debian splits it off
    except ImportError:
        raise Skip("no python3-venv")
    for v in ("1.0", "2.0"):
        with zipfile.ZipFile("tiny-%s-py3-none-any.whl" % v, "w") as z:
            info = "tiny-%s.dist-info/" % v
            z.writestr("tiny.py", "V = '%s'\n" % v)
            z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: %s\n" % v)
            z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            z.writestr(info + "RECORD", "tiny.py,,\n%sMETADATA,,\n%sWHEEL,,\n%sRECORD,,\n" % (info, info, info))
    sh("%s -m venv v" % sys.executable)
    for v in ("1.0", "2.0"):
        sh("v/bin/pip install -q --no-index --disable-pip-version-check ./tiny-%s-py3-none-any.whl" % v)
        same(sh("v/bin/python -c 'import tiny; print(tiny.V)'").strip(), v)
    sh("v/bin/pip uninstall -q -y tiny && ! v/bin/python -c 'import tiny' && rm -rf v")


@case
def sort_with_temporary_files_here():
    write("in", b"".join(b"%d\n" % (i * 7919 % 50000) for i in range(50000)))
    sh("sort -n -S 64k -T . in >out && sort -nc out")
    same(sorted(os.listdir(".")), ["in", "out"])


run_all()
