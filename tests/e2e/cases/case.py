# SPDX-License-Identifier: MIT
"""
case - for the case scripts beside it: each runs inside a sandbox (or on any directory), alone, with the standard library only.
    WS    the workspace, default /workspace        ZONE  where the files are made, default output
Prints `PASS name`, `FAIL name: why`, `SKIP name: why`. Not here: how they get into a sandbox (tests/e2e/05-cases.sh).
"""
import os
import shutil
import sys
import tempfile
import traceback

WS = os.environ.get("WS", "/workspace")
ZONE = os.environ.get("ZONE", "output")
CASES = []


class Skip(Exception):
    pass


def case(f):
    CASES.append(f)
    return f


def same(got, want, what=""):
    if got != want:
        raise AssertionError("%s is %r, not %r" % (what or "it", got, want))


def fails(errnos, f, *args, **kw):
    """f must fail with one of these errnos"""
    try:
        f(*args, **kw)
    except OSError as e:
        if e.errno not in (errnos if isinstance(errnos, tuple) else (errnos,)):
            raise
        return
    raise AssertionError("%s%r went through" % (getattr(f, "__name__", "it"), args))


def write(path, data, mode="wb"):
    with open(path, mode) as f:
        f.write(data)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def child(f):
    """f in a process of its own; its pid"""
    pid = os.fork()
    if pid == 0:
        try:
            f()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return pid


def ended(pid):
    same(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "the child's status")


def run_all():
    bad = 0
    for f in CASES:
        name = "%s_in_%s" % (f.__name__, ZONE.replace("/", "_"))
        here = tempfile.mkdtemp(prefix="case-", dir=os.path.join(WS, ZONE))
        os.chdir(here)
        try:
            f()
            print("PASS", name)
        except Skip as e:
            print("SKIP %s: %s" % (name, e))
        except BaseException as e:
            bad += 1
            last = traceback.extract_tb(e.__traceback__)[-1]
            print("FAIL %s: %s: %s (line %d)" % (name, type(e).__name__, e, last.lineno))
        sys.stdout.flush()
        os.chdir("/")
        shutil.rmtree(here, ignore_errors=True)
    sys.exit(1 if bad else 0)
