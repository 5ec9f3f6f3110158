#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# guest_runner.py - guest/runner.py and guest/hints.py: what a failing program prints and reports. With every python3 of this host.
# Not here: the same inside a sandbox (tests/exec/guest_init_test.c).
# timeout: 300
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

SRC = os.environ.get("GARTH_SRC", os.getcwd())
failed = 0


class Case:
    """A workspace of its own, and one run of the runner in it. The copy of hints.py knows its workspace by another name."""

    def __init__(self, python):
        self.python = python
        self.dir = tempfile.mkdtemp(prefix="garth-runner-")
        self.ws = os.path.join(self.dir, "workspace")
        for zone in ("input", "task", "output", "agents/ann", "agents/bob", "logs"):
            os.makedirs(os.path.join(self.ws, zone))
        shutil.copy(os.path.join(SRC, "guest/runner.py"), self.dir)
        with open(os.path.join(SRC, "guest/hints.py")) as f:
            text = f.read().replace('WS = "/workspace"', "WS = %r" % self.ws)
        with open(os.path.join(self.dir, "hints.py"), "w") as f:
            f.write(text)

    def file(self, path, text="x"):
        with open(os.path.join(self.ws, path), "w") as f:
            f.write(text)

    def run(self, code, args=(), stdin=""):
        main, report = os.path.join(self.dir, "main.py"), os.path.join(self.dir, "report")
        with open(main, "w") as f:
            f.write(code)
        open(report, "w").close()
        env = dict(os.environ, GARTH_AGENT="ann", PYTHONDONTWRITEBYTECODE="1")
        p = subprocess.run([self.python, os.path.join(self.dir, "runner.py"), report, main] + list(args), cwd=os.path.join(self.ws, "task"),
                           input=stdin, capture_output=True, text=True, timeout=60, env=env)
        with open(report) as f:
            text = f.read()
        assert len(text) <= 32768, len(text)
        self.report = json.loads(text) if text else None
        self.code, self.out, self.err = p.returncode, p.stdout, p.stderr
        return self

    def plain(self, code):
        main = os.path.join(self.dir, "main.py")
        with open(main, "w") as f:
            f.write(code)
        return subprocess.run([self.python, main], cwd=os.path.join(self.ws, "task"), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))

    def hint(self):
        return (self.report or {}).get("hint") or {"code": None, "text": "", "data": {}}


def eq(have, want):
    assert have == want, "%r, not %r" % (have, want)


def check_hint(case):
    h = case.hint()
    assert len(h["text"]) <= 300 and "\n" not in h["text"] and "\x1b" not in h["text"], h["text"]
    assert "{" not in h["text"], h["text"]
    assert len(json.dumps(h["data"])) <= 2100
    return h


# What a program shows must be what it shows without the runner.
SAME = {
    "success": "print('hello')",
    "exit_code": "import sys; sys.exit(5)",
    "exit_text": "raise SystemExit('sorry')",
    "nested_error": "def f(x):\n    return g(x)\ndef g(x):\n    raise ValueError('bad %s' % x)\nf(3)",
    "chained_error": "try:\n    {}['k']\nexcept KeyError as e:\n    raise RuntimeError('no') from e",
    "context_error": "try:\n    {}['k']\nexcept KeyError:\n    1 / 0",
    "syntax_error": "y = 2\nx = = 1\n",
    "indent_error": "def f():\npass\n",
    "interrupt": "raise KeyboardInterrupt",
    "atexit_and_thread": "import atexit, threading\natexit.register(print, 'last')\nthreading.Thread(target=print, args=('t',)).start()\n1/0",
    "own_hook": "import sys\nsys.excepthook = lambda t, v, tb: print('mine', t.__name__)\n1/0",
    "pickle_of_main": "import pickle\nclass A: pass\nprint(pickle.loads(pickle.dumps(A())).__class__.__name__)",
    "main_module": "import __main__, sys\nprint(__main__.__name__, sys.modules['__main__'] is __main__, __builtins__.__name__, __spec__)\nprint(sorted(globals()))",
    "fork_fails": "import os\nif os.fork() == 0:\n    raise ValueError('child')\nos.wait()",
    "multiprocessing": "import multiprocessing as m\ndef f(x): return x * 2\nif __name__ == '__main__':\n    print(m.get_context('spawn').Pool(1).map(f, [1, 2]))",
    "exit_in_thread": "import threading\ndef f(): raise OSError('x')\nt = threading.Thread(target=f)\nt.start(); t.join(); print('on')",
    "dataclass": "import dataclasses, typing\n@dataclasses.dataclass\nclass A:\n    x: int = 1\nprint(A(), typing.get_type_hints(A))",
    "inspect": "import inspect\ndef f(): pass\nprint(inspect.getsource(f))",
    "coding_cookie": "# -*- coding: latin-1 -*-\nprint(1)",
}


def same_as_plain(case, name):
    code = SAME[name]
    want = case.plain(code)
    case.run(code)
    eq(case.code, want.returncode)
    eq(case.out, want.stdout)
    if name not in ("exit_in_thread", "fork_fails"):  # these show frames of threading, or the runner's copy
        eq(case.err, want.stderr)
    if name in ("success", "exit_code", "exit_text", "fork_fails", "exit_in_thread", "multiprocessing"):
        eq(case.report, None)


HINTS = [
    # name, code, code of the hint, first near name or None
    ("near_in_folder", "open('../input/sale.csv')", "file.missing", "input/sales.csv"),
    ("near_other_zone", "open('sales.csv')", "file.missing", "input/sales.csv"),
    ("near_mnt_data", "open('/mnt/data/sales.csv')", "file.missing", "input/sales.csv"),
    ("near_case", "open('../input/SALES.csv')", "file.missing", "input/sales.csv"),
    ("near_stem", "open('../input/sales.tsv')", "file.missing", "input/sales.csv"),
    ("near_chained", "try:\n    open('sales.csv')\nexcept OSError as e:\n    raise RuntimeError('wrapped') from e", "file.missing", "input/sales.csv"),
    ("missing_nothing_near", "open('zzzzzzzzzzzz')", "file.missing", None),
    ("missing_bytes_name", "open(b'\\xff\\x1b[31m')", "file.missing", None),
    ("command", "import subprocess\nsubprocess.run(['no-such-program-at-all'])", "file.command", None),
    ("readonly", "import os\nraise OSError(30, os.strerror(30), WS + '/input/x')", "zone.readonly", None),
    ("denied_area", "import os\nraise PermissionError(13, os.strerror(13), WS + '/agents/bob/x')", "zone.denied", None),
    ("denied_root", "import os\nraise PermissionError(13, os.strerror(13), WS + '/x')", "zone.denied", None),
    ("eperm", "import os\nraise PermissionError(1, os.strerror(1), 'x')", "zone.eperm", None),
    ("xdev", "import os\nraise OSError(18, os.strerror(18), '/tmp/a', None, WS + '/output/a')", "zone.xdev", None),
    ("alias", "Path('x')", "name.alias", None),
    ("stdlib", "json.dumps(1)", "name.stdlib", None),
    ("module", "import jsonn", "mod.missing", "json"),
    ("submodule", "import email.mimee", "mod.missing", "mime"),
    ("not_a_package", "import csv.foo", "mod.subpkg", None),
    ("other_name", "frobnicate", None, None),
    ("other_error", "1 / 0", None, None),
    ("printed_only", "print(\"FileNotFoundError: [Errno 2] No such file or directory: 'x'\")", None, None),
]


def hint_is(case, row):
    _, code, want, near = row
    case.file("input/sales.csv")
    case.file("input/other.txt")
    case.file("agents/bob/secret.txt")
    case.run("WS = %r\n" % case.ws + code)
    h = check_hint(case)
    eq(h["code"], want)
    if near:
        assert h["data"]["near"] and h["data"]["near"][0].endswith(near), h
    if want == "zone.denied" and "bob" in code:
        eq(h["data"]["owner"], "bob")
    if want == "zone.readonly":
        assert h["data"]["proposed"].endswith("output/x"), h


def private_names_stay_private(case):
    case.file("agents/bob/report.txt")
    os.chmod(os.path.join(case.ws, "agents/bob"), 0o700)
    case.run("open('report.txt')")
    assert "bob" not in json.dumps(case.report["hint"]), case.report["hint"]


HOSTILE = {
    "str_raises": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "str_is_huge": "class E(FileNotFoundError):\n    def __str__(self): return 'No such file \\x00\\ud800\\x1b[31m\\n' * 200000\nraise E()",
    "str_is_no_text": "class E(Exception):\n    def __str__(self): return 5\nraise E",
    "getattr_raises": "class E(FileNotFoundError):\n    def __getattribute__(self, n): raise RuntimeError\nraise E(2, 'No such file or directory', 'x')",
    "errno_is_odd": "e = FileNotFoundError(2, 'No such file or directory', 'x')\ne.filename = object()\nraise e",
    "name_is_long": "raise type('E' * 100000, (Exception,), {})('x')",
    "filename_control": "raise FileNotFoundError(2, 'No such file or directory', 'a\\x1b[31m\\nb' * 500)",
    "chain_is_a_ring": "a, b = ValueError(1), ValueError(2)\na.__cause__ = b\nb.__cause__ = a\nraise a",
    "json_is_replaced": "import sys\nsys.modules['json'] = sys.modules['re'] = None\nopen('x')",
    "deep_recursion": "def f(n): return f(n + 1)\nf(0)",
    "stderr_is_closed": "import sys\nsys.stderr.close()\n1/0",
    "stderr_is_none": "import sys\nsys.stderr = None\n1/0",
    "hook_raises": "import sys\ndef h(*a): raise KeyError\nsys.excepthook = h\n1/0",
    "builtins_are_gone": "import builtins\ndel builtins.open\n1/0",
    "shadowed_in_cwd": "open('difflib.py', 'w').write('raise SystemExit(9)')\nopen('re.py', 'w').write('raise SystemExit(9)')\nopen('y.txt')",
}


def hostile_is_survived(case, name):
    case.run(HOSTILE[name])
    eq(case.code, 1)
    check_hint(case)
    if name != "builtins_are_gone":
        assert case.report is not None and len(case.report["name"]) <= 200


def time_is_bounded(case):
    import time

    for i in range(3000):
        case.file("output/file%04d.csv" % i, "")
    start = time.time()
    case.run("open('fil.csv')")
    eq(case.report["name"], "FileNotFoundError")
    took = time.time() - start
    assert took < 5, took


def output_streams_by_line(case):
    main = os.path.join(case.dir, "main.py")
    with open(main, "w") as f:
        f.write("print('first')\ninput()\n")
    p = subprocess.Popen([case.python, os.path.join(case.dir, "runner.py"), os.path.join(case.dir, "report"), main],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        eq(p.stdout.readline(), "first\n")  # while the program waits
    finally:
        p.communicate("\n", timeout=20)


def arguments_and_path(case):
    case.run("import sys\nprint(sys.argv[1:], repr(sys.path[0]), sys.stdin.read())", ["a", "b c"], "in")
    eq(case.out, "['a', 'b c'] '' in\n")


def pythons():
    found = {}
    for path in ["/usr/bin/python3"] + sorted(glob.glob("/usr/bin/python3.[0-9]*")) + os.environ.get("GARTH_TEST_PYTHONS", "").split():
        if os.access(path, os.X_OK) and not path.endswith("-config"):
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def one(name, python, f, *args):
    global failed
    case = Case(python)
    try:
        f(case, *args)
        print("PASS", name)
    except Exception as e:
        failed = 1
        print("FAIL", name)
        print("  ", type(e).__name__, e, file=sys.stderr)
    finally:
        shutil.rmtree(case.dir, ignore_errors=True)
    sys.stdout.flush()


def main():
    for python in pythons():
        tag = os.path.basename(os.path.realpath(python)) + "_"
        for name in SAME:
            one("runner_%ssame_%s" % (tag, name), python, same_as_plain, name)
        for row in HINTS:
            one("runner_%shint_%s" % (tag, row[0]), python, hint_is, row)
        for name in HOSTILE:
            one("runner_%shostile_%s" % (tag, name), python, hostile_is_survived, name)
        if os.geteuid() != 0:
            one("runner_%sprivate_names" % tag, python, private_names_stay_private)
        one("runner_%stime_is_bounded" % tag, python, time_is_bounded)
        one("runner_%sstreams_by_line" % tag, python, output_streams_by_line)
        one("runner_%sarguments_and_path" % tag, python, arguments_and_path)
    return failed


sys.exit(main())
