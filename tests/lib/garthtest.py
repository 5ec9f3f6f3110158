# SPDX-License-Identifier: MIT
"""
garthtest - a real server for a test, and plain HTTP to it. Standard library only.
Prints `PASS name`, `FAIL name: why`, `SKIP name: why`, as tests/run.sh expects. Cleans up whatever the test did.
Not here: what is tested (tests/e2e).
"""
import atexit
import base64
import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

BIN = os.environ.get("GARTH_BIN", os.path.abspath("build/bin"))
TMP = os.environ.get("GARTH_TEST_TMP") or tempfile.gettempdir()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def proc_children(pid):
    """pids of a process and all below it"""
    out, todo = [], [pid]
    kids = {}
    for d in os.listdir("/proc"):
        if d.isdigit():
            try:
                stat = open("/proc/%s/stat" % d).read()
            except OSError:
                continue
            kids.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(d))
    while todo:
        p = todo.pop()
        out.append(p)
        todo.extend(kids.get(p, []))
    return out


def comm(pid):
    try:
        return open("/proc/%d/comm" % pid).read().strip()
    except OSError:
        return ""


class Server:
    """`garth up` with a folder of its own on a free port."""

    def __init__(self, config=None, args=(), data=None):
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="garth-", dir=TMP)
        self.log = self.data.rstrip("/") + ".log"
        self.up = None
        self.args = list(args)
        if config:
            self.config = self.data.rstrip("/") + ".conf"
            with open(self.config, "w") as f:
                f.write(config)
            self.args += ["--config", self.config]
        atexit.register(self.cleanup)
        self.start()

    def start(self):
        self.err = open(self.log, "ab")
        self.up = subprocess.Popen([BIN + "/garth", "up", "--data", self.data, "--listen", "127.0.0.1:0"] + self.args,
                                   stdout=subprocess.PIPE, stderr=self.err, stdin=subprocess.DEVNULL)
        line = self.up.stdout.readline().decode()
        if not line.startswith("garth: ready http://"):
            self.up.wait(10)
            raise RuntimeError("no server: %r, log ends: %s" % (line, open(self.log, errors="replace").read()[-800:]))
        self.url = line.split()[2]
        self.host, port = self.url[len("http://"):].rsplit(":", 1)
        self.port = int(port)
        self.key = open(os.path.join(self.data, "admin.key")).read().strip()

    def pids(self, name):
        """of this server's processes with that command name"""
        return [p for p in proc_children(self.up.pid) if comm(p) == name[:15]]

    def stop(self, timeout=40):
        if self.up and self.up.poll() is None:
            self.up.send_signal(signal.SIGTERM)
            try:
                self.up.wait(timeout)
            except subprocess.TimeoutExpired:
                self.up.kill()
                self.up.wait()
                raise RuntimeError("garth up did not stop within %d s" % timeout)
        return self.up.returncode if self.up else None

    def mounts(self):
        return [l for l in open("/proc/self/mountinfo") if self.data in l]

    def cleanup(self):
        if self.up and self.up.poll() is None:
            try:
                self.stop()
            except RuntimeError as e:
                print("FAIL cleanup: %s" % e)
        for line in reversed(self.mounts()):
            subprocess.run(["umount", "-l", line.split()[4]])
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)
        self.err.close()

    # HTTP
    def http(self, method, path, body=None, headers=None, key=None, timeout=120):
        """(status, headers with lower-case names, bytes)"""
        c = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        h = {"Authorization": "Bearer " + (key or self.key)}
        h.update(headers or {})
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body = json.dumps(body).encode()
            h.setdefault("Content-Type", "application/json")
        try:
            c.request(method, path, body=body, headers=h)
            r = c.getresponse()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
        finally:
            c.close()

    def json(self, method, path, body=None, want=(200, 201), **kw):
        status, _, data = self.http(method, path, body, **kw)
        if status not in (want if isinstance(want, tuple) else (want,)):
            raise AssertionError("%s %s answered %d: %s" % (method, path, status, data[:500].decode("utf-8", "replace")))
        return json.loads(data) if data else None

    def workspace(self, name="w", agents=("a", "b"), policy=None):
        body = {"name": name, "agents": list(agents)}
        if policy:
            body["policy"] = policy
        return self.json("POST", "/v1/workspaces", body, want=201)

    def step(self, ws, agent, code=None, argv=None, language="python", want=200, timeout=120, **kw):
        body = {"agent": agent}
        if argv:
            body["argv"] = argv
        else:
            body.update(code=code, language=language)
        body.update(kw)
        return self.json("POST", "/v1/workspaces/%s/steps" % ws, body, want=want, timeout=timeout)

    def put(self, ws, path, data, headers=None, agent=None, want=(200, 201)):
        status, h, out = self.http("PUT", "/v1/workspaces/%s/files/%s%s" % (ws, path, "?agent=" + agent if agent else ""), data, headers)
        if status not in (want if isinstance(want, tuple) else (want,)):
            raise AssertionError("PUT %s answered %d: %s" % (path, status, out[:400]))
        return json.loads(out)

    def get(self, ws, path, headers=None, want=200):
        status, h, out = self.http("GET", "/v1/workspaces/%s/files/%s" % (ws, path), headers=headers)
        if status not in (want if isinstance(want, tuple) else (want,)):
            raise AssertionError("GET %s answered %d: %s" % (path, status, out[:400]))
        return out

    def items(self, path):
        """all rows of a list, page after page"""
        out, cursor = [], None
        while True:
            sep = "&" if "?" in path else "?"
            page = self.json("GET", path + ("%scursor=%s" % (sep, cursor) if cursor else ""))
            out += page["items"]
            cursor = page.get("next")
            if not cursor:
                return out

    def verify(self, ws):
        return self.json("GET", "/v1/workspaces/%s/audit/verify" % ws)


def garth(server, *args, **kw):
    """the command line, as a user calls it"""
    env = dict(os.environ, GARTH_URL=server.url, GARTH_API_KEY=server.key)
    env.update(kw.pop("env", {}))
    return subprocess.run([BIN + "/garth"] + list(args), capture_output=True, env=env, timeout=kw.pop("timeout", 120), **kw)


def cgroups_left(server_tag=""):
    out = []
    for root in ("/sys/fs/cgroup",):
        for base, dirs, _ in os.walk(root):
            if os.path.basename(base) == "garth":
                out += [os.path.join(base, d, s) for d in dirs for s in os.listdir(os.path.join(base, d)) if os.path.isdir(os.path.join(base, d, s))]
                dirs[:] = []
    return out


_failed = 0


def run(*tests):
    """each a function; its name is the case's"""
    global _failed
    for t in tests:
        start = time.time()
        try:
            t()
            print("PASS %s" % t.__name__, flush=True)
        except SkipTest as e:
            print("SKIP %s: %s" % (t.__name__, e), flush=True)
        except BaseException as e:
            _failed += 1
            print("FAIL %s: %s: %s" % (t.__name__, type(e).__name__, str(e).replace("\n", " ")[:600]), flush=True)
            traceback.print_exc()
            if isinstance(e, KeyboardInterrupt):
                break
        print("# %s %.1f s" % (t.__name__, time.time() - start), flush=True)
    sys.exit(1 if _failed else 0)


class SkipTest(Exception):
    pass


def need_root():
    if os.geteuid() != 0:
        raise SkipTest("needs root")
