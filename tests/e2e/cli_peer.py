#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The client `garth` against a scripted peer on loopback: exit codes, what it sends, what it keeps.

timeout: 120
Not here: the real server (the other scripts of this folder).
"""
import base64
import hashlib
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import traceback

GARTH = os.path.abspath(os.path.join(os.environ.get("GARTH_BIN", "build/bin"), "garth"))
STEP = "s_0c5m8w3k9d2fa"
SANDBOX = "sb_0c5m8w3k9d2fa"
KEY = "garth_key_of_a_test"


class Peer(http.server.BaseHTTPRequestHandler):
    """Answers by the table `routes`: "METHOD /path?query" -> (status, headers, body) or a function of the handler."""

    protocol_version = "HTTP/1.1"
    routes = {}
    seen = []

    def log_message(self, *args):
        pass

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            while True:
                n = int(self.rfile.readline(), 16)
                body += self.rfile.read(n)
                self.rfile.readline()
                if n == 0:
                    break
        self.seen.append((self.command, self.path, dict(self.headers), body))
        route = self.routes.get(f"{self.command} {self.path}")
        if route is None:
            route = problem(404, "not_found", f"there is nothing at {self.path}")
        if callable(route):
            return route(self)
        status, headers, data = route
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer


def js(status, value, **headers):
    return status, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()


def problem(status, code, detail):
    value = {"status": status, "code": code, "detail": detail}
    return status, {"Content-Type": "application/problem+json"}, json.dumps(value).encode()


def blob(data, sha=None, **headers):
    digest = base64.b64encode(hashlib.sha256(data).digest() if sha is None else sha).decode()
    return 200, {"Content-Type": "application/json", "Content-Disposition": "attachment",
                 "Repr-Digest": f"sha-256=:{digest}:", **headers}, data


def step(**fields):
    return {"step": STEP, "workspace": "w", "agent": "a", "state": "ended", "reason": "exited", "exit_code": 0,
            "signal": None, "artifacts": [], "violations": [], "memory_peak_bytes": 1 << 20, "error": None, **fields}


def stream(*events, cut=False):
    def send(h):
        h.send_response(200)
        h.send_header("Content-Type", "application/x-ndjson")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        for e in events:
            line = (json.dumps(e) + "\n").encode()
            for piece in (line[:7], line[7:]):  # a line in two pieces
                h.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                h.wfile.flush()
        if cut:
            h.close_connection = True
            h.connection.shutdown(socket.SHUT_RDWR)
        else:
            h.wfile.write(b"0\r\n\r\n")
    return send


class Case:
    """One run of garth, with checks that name what differs."""

    def __init__(self, server, *args, stdin=b"", env=None, cwd=None):
        Peer.seen.clear()
        e = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "GARTH_API_KEY": KEY, "GARTH_DATA": "/nonexistent",
             "http_proxy": "http://127.0.0.1:1", "GARTH_URL": f"http://127.0.0.1:{server.server_address[1]}/"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                e[name] = os.environ[name]
        e.update(env or {})
        done = subprocess.run([GARTH, *args], input=stdin, capture_output=True, env=e, cwd=cwd, timeout=60)
        self.args, self.code, self.out, self.err = args, done.returncode, done.stdout, done.stderr.decode(errors="replace")
        self.seen = list(Peer.seen)

    def check(self, ok, what):
        if not ok:
            raise AssertionError(f"{what}\n  garth {' '.join(self.args)}\n  code {self.code}\n  out {self.out[:500]!r}\n"
                                 f"  err {self.err[:1500]}\n  seen {[(m, p) for m, p, _, _ in self.seen]}")
        return self

    def exits(self, code):
        return self.check(self.code == code, f"exit code is not {code}")

    def says(self, text):
        return self.check(text in self.err, f"stderr does not say '{text}'")

    def prints(self, data):
        data = data.encode() if isinstance(data, str) else data
        return self.check(self.out == data, f"stdout is not {data!r}")

    def sent(self, method, path):
        hits = [s for s in self.seen if s[0] == method and s[1] == path]
        self.check(hits, f"{method} {path} was not sent")
        return hits[-1]


def test_usage_errors_name_the_argument(s, tmp):
    rows = [
        (["nosuch"], "'nosuch'"),
        (["run"], "--workspace"),
        (["run", "-w", "w"], "--agent"),
        (["run", "-w", "w", "-a", "a"], "nothing to run"),
        (["run", "-w", "W!", "-a", "a", "--", "true"], "'W!'"),
        (["run", "-w", "w", "-a", "a", "--timeout", "5x", "--", "true"], "--timeout"),
        (["run", "-w", "w", "-a", "a", "--memory", "lots", "--", "true"], "--memory"),
        (["run", "-w", "w", "-a", "a", "--pids", "0", "--", "true"], "--pids"),
        (["run", "-w", "w", "-a", "a", "--cpus", "0", "--", "true"], "--cpus"),
        (["run", "-w", "w", "-a", "a", "--file", "x", "--", "true"], "--file"),
        (["run", "-w", "w", "-a", "a", "--env", "=x", "--", "true"], "--env"),
        (["run", "-w", "w", "-a", "a", "--nosuch", "--", "true"], "--nosuch"),
        (["run", "-w", "w", "-a", "a", "-Z", "--", "true"], "-Z"),
        (["run", "-w", "w", "-a", "a", "--timeout"], "--timeout"),
        (["run", "-w", "w", "-a", "a", "--json=1", "--", "true"], "--json"),
        (["run", "-w", "w", "-a", "a", "-c", "1", "--python", "f"], "only one of"),
        (["run", "-w", "w", "-a", "a", "-c", "1", "--", "true"], "'true'"),
        (["run", "-w", "w", "-a", "a", "--python", "-", "--stdin"], "stdin"),
        (["init"], "too few"),
        (["init", "w", "x"], "'x'"),
        (["init", "UP"], "'UP'"),
        (["init", "w", "--agent", "a/b"], "'a/b'"),
        (["rm", "w"], "--yes"),
        (["put", "-w", "w"], "too few"),
        (["put", "-w", "w", "x", "y", "input/z"], "input/z/"),
        (["put", "-w", "w", "x", "output/"], "--as"),
        (["get", "-w", "w", "output/../x"], "'..'"),
        (["get", "-w", "w", "a//b"], "empty part"),
        (["link", "-w", "w", "input/x"], "output/"),
        (["logs", "-f", STEP], "-f"),
        (["sandbox"], "create"),
        (["key", "create"], "--role"),
        (["key", "create", "--role", "god"], "'god'"),
        (["key", "create", "--role", "agent", "-w", "w"], "--agent"),
        (["key", "create", "--role", "reader"], "--workspace"),
        (["audit", "verify"], "--workspace"),
        (["lineage", "-w", "w", "x", "--dot", "--json"], "--dot"),
        (["policy", "explain", "-w", "w", "-a", "a", "read"], "too few"),
    ]
    for args, text in rows:
        Case(s, *args).exits(2).says(text).check(not Peer.seen, "the server was asked")
    for args in (["kill", "nostep"], ["step", "s_1"], ["sandbox", "rm", "x"]):
        Case(s, *args).exits(3).says("there is no s").check(not Peer.seen, "the server was asked")
    Case(s, "ls", env={"GARTH_WORKSPACE": "Bad Name"}).exits(2).says("GARTH_WORKSPACE")
    Case(s, "ls", "-w", "w", env={"GARTH_URL": "ftp://x"}).exits(2).says("GARTH_URL")
    Case(s, "ls", "-w", "w", env={"GARTH_API_KEY": "a\nb"}).exits(2).says("GARTH_API_KEY")


def test_help_of_every_command_is_there_and_names_its_options(s, tmp):
    names = re.findall(r"^  (\w+)  ", Case(s, "--help").exits(0).out.decode(), re.M)
    if len(names) < 20:
        raise AssertionError(f"only {names}")
    for name in names:
        if name in ("up", "down", "doctor"):
            continue
        c = Case(s, name, "--help").exits(0)
        c.check(f"Usage: garth {name}".encode() in c.out, "no usage line")
        Case(s, "help", name).exits(0).prints(c.out)
        if b"COMMAND [ARG]" in c.out:
            for sub in re.findall(r"^  (\w+)  ", c.out.decode(), re.M):
                d = Case(s, name, sub, "--help").exits(0)
                d.check(f"Usage: garth {name} {sub}".encode() in d.out, "no usage line")
    Case(s).exits(2)
    c = Case(s, "--version").exits(0)
    c.check(re.fullmatch(rb"garth \d+\.\d+\.\d+\n", c.out), "no version")


def test_status_becomes_exit_code_and_sentence(s, tmp):
    for status, code in [(400, 2), (401, 4), (403, 4), (404, 3), (409, 5), (410, 3), (412, 5), (413, 1), (429, 6), (500, 1),
                         (503, 6), (507, 1)]:
        Peer.routes = {"GET /v1/workspaces/w/agents?limit=1000": problem(status, "x", f"why {status}")}
        Case(s, "agent", "ls", "-w", "w").exits(code).says(f"garth: why {status}")
    Peer.routes = {"GET /v1/workspaces/w/agents?limit=1000": problem(401, "unauthorized", "no key")}
    c = Case(s, "agent", "ls", "-w", "w", env={"GARTH_API_KEY": ""}).exits(4).says("GARTH_API_KEY")
    c.check("Authorization" not in c.seen[0][2], "a key is sent")
    for detail, hint in [("no workspace 'w'", "garth init"), ("no agent 'a' in workspace 'w'", "garth agent add"), ("no such key", "garth key create"),
                         ("field 'timeout_s' must be within 0.001 and 180", "--timeout")]:
        Peer.routes = {"GET /v1/workspaces/w/agents?limit=1000": problem(400, "invalid", detail)}
        Case(s, "agent", "ls", "-w", "w").exits(2).says(detail).says(hint)
    Peer.routes = {"GET /v1/workspaces/w/agents?limit=1000": (500, {}, b"<html>")}
    Case(s, "agent", "ls", "-w", "w").exits(1).says("500")
    Peer.routes = {"GET /v1/workspaces/w/agents?limit=1000": (200, {}, b"<html>")}
    Case(s, "agent", "ls", "-w", "w").exits(1).says("no JSON")


def test_a_misspelt_command_is_guessed(s, tmp):
    for typed, meant in [("stpes", "'steps'"), ("lls", "'ls'"), ("violation", "'violations'"), ("rn", "'run'"), ("ouput-of-somebody-else", None), ("", None)]:
        c = Case(s, typed).exits(2).says("there is no command")
        c.check(("did you mean" in c.err) == (meant is not None) and (meant or "") in c.err, "guesses wrong")


def test_no_server_is_7(s, tmp):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for args in (["ls", "-w", "w"], ["run", "-w", "w", "-a", "a", "--", "true"], ["init", "w"]):
        Case(s, *args, env={"GARTH_URL": f"http://127.0.0.1:{port}"}).exits(7).says("garth up")


def test_the_key_and_the_names_are_sent_and_no_proxy_is_asked(s, tmp):
    Peer.routes = {"POST /v1/workspaces": js(201, {"name": "w"}), "POST /v1/workspaces/w/agents": js(201, {}),
                   "DELETE /v1/workspaces/w": (204, {}, b"")}
    with open(f"{tmp}/p.yaml", "w") as f:
        f.write("version: 1\n")
    c = Case(s, "init", "w", "--policy", f"{tmp}/p.yaml", "--agent", "a", "-a", "b").exits(0)
    _, _, headers, body = c.sent("POST", "/v1/workspaces")
    c.check(headers["Authorization"] == f"Bearer {KEY}", "the key is not sent")
    c.check(json.loads(body) == {"name": "w", "agents": ["a", "b"], "policy": "version: 1\n"}, f"body {body}")
    Case(s, "agent", "add", "-w", "w", "x").exits(0).sent("POST", "/v1/workspaces/w/agents")
    Case(s, "rm", "w", "--yes").exits(0).sent("DELETE", "/v1/workspaces/w")
    data = f"{tmp}/data"
    os.mkdir(data)
    with open(f"{data}/admin.key", "w") as f:
        f.write("from_file\n")
    c = Case(s, "rm", "w", "-y", env={"GARTH_API_KEY": "", "GARTH_DATA": data}).exits(0)
    c.check(c.sent("DELETE", "/v1/workspaces/w")[2]["Authorization"] == "Bearer from_file", "admin.key is not used")


def test_run_streams_and_exits_as_the_program_did(s, tmp):
    url = "POST /v1/workspaces/w/steps"
    args = ["run", "-w", "w", "-a", "a", "--", "prog", "-x", "--json"]
    Peer.routes = {url: stream({"event": "started", "step": STEP}, {"event": "stdout", "data": "out\u0000\u00e9\n"},
                               {"event": "heartbeat"}, {"event": "stderr", "data": "err\n"}, {"event": "new_kind"},
                               {"event": "stdout", "data_base64": base64.b64encode(b"\xff\xfe").decode()},
                               {"event": "ended", "step": step(exit_code=3)})}
    c = Case(s, *args).exits(3).prints(b"out\0\xc3\xa9\n\xff\xfe")
    c.check(c.err == "err\n", "stderr is not the program's alone")
    _, _, headers, body = c.sent("POST", "/v1/workspaces/w/steps")
    c.check(headers["Accept"] == "application/x-ndjson", "Accept")
    c.check(json.loads(body) == {"agent": "a", "argv": ["prog", "-x", "--json"]}, f"body {body}")
    for fields, code, text in [
            ({"reason": "signaled", "exit_code": None, "signal": "SIGSEGV"}, 139, "garth: ended: signaled (signal 11)"),
            ({"reason": "killed", "exit_code": None, "signal": None}, 137, "garth: ended: killed"),
            ({"reason": "timeout", "detail": "after 30 s"}, 124, "garth: ended: timeout (after 30 s)"),
            ({"reason": "memory", "detail": "limit 1.0 GiB, peak 1.0 GiB"}, 137,
             "garth: ended: memory (limit 1.0 GiB, peak 1.0 GiB)"),
            ({"reason": "memory"}, 137, "garth: ended: memory (peak 1.0 MiB)"),
            ({"reason": "disk"}, 137, "garth: ended: disk"), ({"reason": "pids"}, 137, "garth: ended: pids"),
            ({"reason": "lost"}, 125, "garth: ended: lost"), ({"reason": "refused"}, 4, "garth: ended: refused"),
            ({"exit_code": 127}, 127, ""), ({"exit_code": 126}, 126, "")]:
        Peer.routes = {url: stream({"event": "started", "step": STEP}, {"event": "ended", "step": step(**fields)})}
        Case(s, *args).exits(code).says(text)


def test_run_a_whole_step_in_place_of_a_stream(s, tmp):
    url = "POST /v1/workspaces/w/steps"
    Peer.routes = {url: js(200, step(reason="lost", stdout=None, stdout_base64="/w==", stderr="e"))}
    c = Case(s, "run", "-w", "w", "-a", "a", "--", "true").exits(125).prints(b"\xff").says("garth: ended: lost")
    c.check(c.err.startswith("e"), "stderr")
    Peer.routes = {url: js(200, step(stdout=None, stderr=None))}
    Case(s, "run", "-w", "w", "-a", "a", "--", "true").exits(0).prints("")


def test_run_before_a_step_exists(s, tmp):
    url = "POST /v1/workspaces/w/steps"
    for status, code in [(400, 2), (403, 4), (404, 3), (409, 5), (429, 6), (500, 1)]:
        Peer.routes = {url: problem(status, "x", "why not")}
        Case(s, "run", "-w", "w", "-a", "a", "--", "true").exits(code).says("why not")
        Case(s, "run", "-w", "w", "-a", "a", "--json", "--", "true").exits(code).says("why not")
    held = step(reason="refused", exit_code=None, detail="gate says no")
    for body in (held, {"status": 422, "code": "hook_refused", "detail": "no", "step": held}):
        Peer.routes = {url: js(422, body)}
        Case(s, "run", "-w", "w", "-a", "a", "--", "true").exits(4).says("garth: ended: refused (gate says no)")
        c = Case(s, "run", "-w", "w", "-a", "a", "--json", "--", "true").exits(4)
        c.check(json.loads(c.out)["reason"] == "refused", "the step is not printed")


def test_run_broken_off_is_lost_or_no_server(s, tmp):
    url = "POST /v1/workspaces/w/steps"
    Peer.routes = {url: stream({"event": "started", "step": STEP}, {"event": "stdout", "data": "x"}, cut=True)}
    Case(s, "run", "-w", "w", "-a", "a", "--", "true").exits(125).prints("x").says(STEP)
    Peer.routes = {url: stream({"event": "heartbeat"}, cut=True)}
    Case(s, "run", "-w", "w", "-a", "a", "--", "true").exits(7)
    Peer.routes = {url: stream({"event": "started", "step": STEP})}
    Case(s, "run", "-w", "w", "-a", "a", "--", "true").exits(125)
    Peer.routes = {url: stream({"event": "started", "step": STEP}, {"event": "stdout"})}
    Case(s, "run", "-w", "w", "-a", "a", "--", "true").exits(125)


def test_run_sends_its_options(s, tmp):
    url = "POST /v1/workspaces/w/steps"
    Peer.routes = {url: js(200, step(stdout="x", exit_code=5))}
    for name, data in (("code.py", b"print(1)\n"), ("bin", b"\xff\x00"), ("text", b"a\nb")):
        with open(f"{tmp}/{name}", "wb") as f:
            f.write(data)
    c = Case(s, "run", "-w", "w", "-a", "a", "--python", f"{tmp}/code.py", "--timeout", "1m30s", "--memory", "1G", "--pids", "7",
             "--cpus", "0.5", "--env", "A=b=c", "--env", "HERE", "--env", "NOT_HERE", "--cwd", "/workspace/output", "--job", "j",
             "--file", f"x={tmp}/bin", "--file", f"y={tmp}/text", "--sandbox", SANDBOX, "--stdin", "--json", stdin=b"in",
             env={"HERE": "yes"}).exits(5)
    got = json.loads(c.sent("POST", "/v1/workspaces/w/steps")[3])
    want = {"agent": "a", "language": "python", "code": "print(1)\n", "sandbox": SANDBOX, "job": "j", "cwd": "/workspace/output",
            "env": {"A": "b=c", "HERE": "yes"}, "stdin": "in", "timeout_s": 90, "memory_bytes": 1 << 30, "pids": 7, "cpus": 0.5,
            "files": [{"name": "x", "content_base64": "/wA="}, {"name": "y", "content": "a\nb"}]}
    c.check(got == want, f"body {got}")
    c.check(json.loads(c.out)["stdout"] == "x", "the step is not printed")
    c = Case(s, "run", "-w", "w", "-a", "a", "--bash", "-", "--json", "--timeout", "500ms", stdin=b"echo").exits(5)
    got = json.loads(c.sent("POST", "/v1/workspaces/w/steps")[3])
    c.check(got == {"agent": "a", "language": "bash", "code": "echo", "timeout_s": 0.5}, f"body {got}")
    c = Case(s, "run", "-w", "w", "-a", "a", "-c", "1+1", "--json").exits(5)
    c.check(json.loads(c.sent("POST", "/v1/workspaces/w/steps")[3])["code"] == "1+1", "code")
    Peer.routes = {url: js(202, {"step": STEP})}
    c = Case(s, "run", "-w", "w", "-a", "a", "--detach", "--", "true").exits(0).prints(STEP + "\n")
    c.check(c.sent("POST", "/v1/workspaces/w/steps")[2]["Prefer"] == "respond-async", "Prefer")
    Case(s, "run", "-w", "w", "-a", "a", "--bash", "-", stdin=b"\xff").exits(2).says("UTF-8")
    Case(s, "run", "-w", "w", "-a", "a", "--python", f"{tmp}/none").exits(1).says("none")


def test_get_checks_the_hash_and_keeps_nothing_wrong(s, tmp):
    base = "GET /v1/workspaces/w/files/output/"
    good = b'{"items": []}\n'
    Peer.routes = {base + "a%20b.json": blob(good), base + "bad": blob(b"x", sha=b"\0" * 32),
                   base + "etag": (200, {"Content-Disposition": "attachment", "ETag": '"sha256:' + "0" * 64 + '"'}, b"x"),
                   base + "cut": (200, {"Content-Disposition": "attachment", "Content-Length": "10", "Connection": "close"}, b"x"),
                   base + "plain": (200, {"Content-Disposition": "attachment"}, b"no hash"),
                   base + "v?version=2": blob(b"two")}
    Case(s, "get", "-w", "w", "output/a b.json", cwd=tmp).exits(0)
    Case(s, "get", "-w", "w", "/workspace/output/a b.json", "-").exits(0).prints(good)
    Case(s, "get", "-w", "w", "output/a b.json", f"{tmp}/other").exits(0)
    for name in ("a b.json", "other"):
        with open(f"{tmp}/{name}", "rb") as f:
            if f.read() != good:
                raise AssertionError(name)
    Case(s, "get", "-w", "w", "output/v", "--version", "2", "-").exits(0).prints("two")
    Case(s, "get", "-w", "w", "output/plain", "-").exits(0).prints("no hash")
    with open(f"{tmp}/other", "rb") as f:
        before = f.read()
    for name, code, text in (("bad", 1, "sha256"), ("etag", 1, "sha256"), ("cut", 7, "broke"), ("none", 3, "nothing at")):
        Case(s, "get", "-w", "w", f"output/{name}", f"{tmp}/other").exits(code).says(text)
    with open(f"{tmp}/other", "rb") as f:
        if f.read() != before:
            raise AssertionError("a wrong download replaced what was there")
    left = [n for n in os.listdir(tmp) if n.startswith(".garth")]
    if left:
        raise AssertionError(f"left behind: {left}")


def test_get_folder_becomes_a_folder_and_stays_in_it(s, tmp):
    base = "GET /v1/workspaces/w/files/output"
    evil = [{"name": "..", "type": "file"}, {"name": "a/b", "type": "file"}, {"name": "ok", "type": "file"}]
    Peer.routes = {base: js(200, {"items": [{"name": "d", "type": "dir"}, {"name": "f", "type": "file"}], "next": "1"}),
                   base + "?cursor=1": js(200, {"items": [{"name": "g", "type": "file"}, {"name": "l", "type": "symlink"}]}),
                   base + "/f": blob(b"F"), base + "/g": blob(b"G"), base + "/d": js(200, {"items": []}),
                   base + "/evil": js(200, {"items": evil}), base + "/evil/ok": blob(b"O")}
    Case(s, "get", "-w", "w", "output/", cwd=tmp).exits(0)
    found = sorted(os.path.relpath(os.path.join(d, n), tmp) for d, ds, fs in os.walk(tmp) for n in ds + fs)
    if found != ["output", "output/d", "output/f", "output/g"]:
        raise AssertionError(found)
    Case(s, "get", "-w", "w", "output/evil", cwd=tmp).exits(1).says("skipping")
    found = sorted(os.listdir(tmp)) + os.listdir(f"{tmp}/evil")
    if found != ["evil", "output", "ok"]:
        raise AssertionError(found)
    Case(s, "get", "-w", "w", "output", "-").exits(2).says("folder")


def put_answer(h):
    method, path, _, body = h.seen[-1]
    data = json.dumps({"path": path, "sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "version": 1}).encode()
    h.send_response(201)
    h.send_header("Content-Length", str(len(data)))
    h.end_headers()
    h.wfile.write(data)


def test_put_files_and_folders(s, tmp):
    base = "PUT /v1/workspaces/w/files/"
    Peer.routes = {base + p: put_answer for p in ("input/f", "input/raw/f", "input/new%20name", "input/d/a", "input/d/s/b",
                                                  "input/x/a", "input/x/s/b", "output/f?agent=a", "input/big")}
    os.makedirs(f"{tmp}/d/s")
    for name, data in (("f", b"F"), ("d/a", b"A"), ("d/s/b", b"B")):
        with open(f"{tmp}/{name}", "wb") as f:
            f.write(data)
    os.symlink("/etc/passwd", f"{tmp}/d/link")
    sha = hashlib.sha256(b"F").hexdigest()
    Case(s, "put", "-w", "w", "f", cwd=tmp).exits(0).prints(f"input/f  {sha}\n")
    Case(s, "put", "-w", "w", "f", "input/raw/", cwd=tmp).exits(0).prints(f"input/raw/f  {sha}\n")
    Case(s, "put", "-w", "w", "f", "input/new name", cwd=tmp).exits(0)
    Case(s, "put", "-w", "w", "--as", "a", "f", "output/", cwd=tmp).exits(0)
    Case(s, "put", "-w", "w", "-", "input/f", stdin=b"F").exits(0).prints(f"input/f  {sha}\n")
    c = Case(s, "put", "-w", "w", "-r", "d", cwd=tmp).exits(0).says("skipping")
    c.check([p for _, p, _, _ in c.seen] == ["/v1/workspaces/w/files/input/d/a", "/v1/workspaces/w/files/input/d/s/b"], "files")
    Case(s, "put", "-w", "w", "-r", "d/.", "input/x/", cwd=tmp).exits(0).sent("PUT", "/v1/workspaces/w/files/input/x/s/b")
    Case(s, "put", "-w", "w", "d", cwd=tmp).exits(2).says("-r")
    Case(s, "put", "-w", "w", "none", cwd=tmp).exits(1).says("none")
    Case(s, "put", "-w", "w", "-", cwd=tmp).exits(2)
    big = os.urandom(3 << 20)
    with open(f"{tmp}/big", "wb") as f:
        f.write(big)
    c = Case(s, "put", "-w", "w", "big", cwd=tmp).exits(0)
    c.check(c.sent("PUT", "/v1/workspaces/w/files/input/big")[3] == big, "the bytes differ")
    Peer.routes = {base + "input/f": js(201, {"path": "input/f", "sha256": "0" * 64})}
    Case(s, "put", "-w", "w", "f", cwd=tmp).exits(1).says("sha256")
    Peer.routes = {base + "input/f": problem(412, "precondition_failed", "it changed")}
    Case(s, "put", "-w", "w", "f", cwd=tmp).exits(5).says("it changed")


def test_lists_follow_cursors_and_limits(s, tmp):
    base = "GET /v1/workspaces/w/violations?"
    row = {"agent": "a", "step": STEP, "op": "create", "path": "input/x\x1b[2J\u202e", "errno": "EROFS", "rule": "input.readonly",
           "at": "2026-11-30T08:00:00.000000Z", "count": 2}
    Peer.routes = {base + "limit=1000": js(200, {"items": [row], "next": "a&b"}),
                   base + "limit=1000&cursor=a%26b": js(200, {"items": [row, row], "next": None}),
                   base + "agent=a&step=s&limit=1": js(200, {"items": [row, row], "next": "x"})}
    c = Case(s, "violations", "-w", "w", "--json").exits(0)
    c.check(json.loads(c.out) == {"items": [row] * 3}, "items")
    c = Case(s, "violations", "-w", "w").exits(0)
    c.check(b"\x1b" not in c.out and b"\xe2\x80\xae" not in c.out and b"input/x\\x1b[2J" in c.out, "a name reaches the terminal")
    c = Case(s, "violations", "-w", "w", "--agent", "a", "--step", "s", "--limit", "1", "--json").exits(0)
    c.check(len(json.loads(c.out)["items"]) == 1, "limit")


def test_steps_are_looked_for_in_all_workspaces(s, tmp):
    one = f"/v1/workspaces/two/steps/{STEP}"
    Peer.routes = {"GET /v1/workspaces?limit=1000": js(200, {"items": [{"name": "one"}, {"name": "two"}]}),
                   f"GET {one}": js(200, step(workspace="two", read=[], changed=[])), f"GET {one}/stdout": (200, {}, b"\xffout"),
                   f"GET {one}/stderr": (200, {}, b"err"), f"DELETE {one}": (204, {}, b"")}
    Case(s, "logs", STEP).exits(0).prints(b"\xffout")
    Case(s, "logs", STEP, "--stderr").exits(0).prints("err")
    Case(s, "kill", STEP).exits(0).sent("DELETE", one)
    c = Case(s, "step", STEP).exits(0)
    c.check(b"exited, code 0" in c.out, "its end")
    Case(s, "step", STEP.replace("a", "b")).exits(3).says("no s_")
    Case(s, "kill", STEP, "-w", "one").exits(3)


def test_lists_of_all_workspaces_say_which(s, tmp):
    box = {"sandbox": SANDBOX, "agent": "a", "kind": "live", "state": "idle"}
    running = {"step": STEP, "agent": "a", "state": "running", "job": "j"}
    Peer.routes = {"GET /v1/workspaces?limit=1000": js(200, {"items": [{"name": "one"}, {"name": "two"}]}),
                   "GET /v1/workspaces/one/steps?state=open&limit=1000": js(200, {"items": []}),
                   "GET /v1/workspaces/two/steps?state=open&limit=1000": js(200, {"items": [running]}),
                   "GET /v1/workspaces/one/sandboxes?limit=1000": js(200, {"items": [box]}),
                   "GET /v1/workspaces/two/sandboxes?limit=1000": js(200, {"items": [box, box]}),
                   "GET /v1/workspaces/one/agents?limit=1000": js(200, {"items": [{"name": "a"}, "b\x1b"]})}
    c = Case(s, "ps").exits(0)
    c.check(re.search(rb"^STEP +WORKSPACE +AGENT +STATE .*\n" + STEP.encode() + rb"  two +a +running .* j\n$", c.out), "table")
    c = Case(s, "ps", "--json").exits(0)
    c.check(json.loads(c.out) == {"items": [{**running, "workspace": "two"}]}, "items")
    c = Case(s, "sandbox", "ls").exits(0)
    c.check([line.split()[1] for line in c.out.splitlines()] == [b"WORKSPACE", b"one", b"two", b"two"], "workspaces")
    c = Case(s, "sandbox", "ls", "-w", "one", "--json").exits(0)
    c.check(json.loads(c.out) == {"items": [{**box, "workspace": "one"}]}, "items")
    Case(s, "agent", "ls", "-w", "one").exits(0).prints("a\nb\\x1b\n")
    Case(s, "sandbox", "ls", "-w", "none").exits(3)


def test_answer_that_breaks_off_is_no_answer(s, tmp):
    cut = (200, {"Content-Length": "99", "Connection": "close"}, b'{"items": []}')
    Peer.routes = {"GET /v1/workspaces/w/policy": cut, "GET /v1/keys?limit=1000": cut, "GET /v1/workspaces/w/audit/export": cut,
                   f"GET /v1/workspaces/w/steps/{STEP}": js(200, step()), f"GET /v1/workspaces/w/steps/{STEP}/stdout": cut}
    for args, text in ((["policy", "show", "-w", "w"], "the policy ended"), (["key", "ls"], "the answer ended"),
                       (["audit", "export", "-w", "w", f"{tmp}/x"], "nothing is kept"), (["logs", "-w", "w", STEP], "the log ended")):
        Case(s, *args).exits(7).says("the connection broke before").says(text)
    if os.listdir(tmp):
        raise AssertionError("a part of an export is kept")


def test_ls_folder_file_and_recursion(s, tmp):
    base = "/v1/workspaces/w/files"
    entry = {"name": "f", "type": "file", "size": 5, "mtime": "2026-11-30T08:00:00.000000Z", "agent": "a", "step": STEP,
             "version": 2, "sha256": "ab" * 32}
    Peer.routes = {f"GET {base}?limit=1000": js(200, {"items": [{"name": "output", "type": "dir"}]}),
                   f"GET {base}/output?limit=1000": js(200, {"items": [entry]}), f"HEAD {base}/output": js(200, {}),
                   f"HEAD {base}/output/f": blob(b"")}
    Case(s, "ls", "-w", "w").exits(0).prints("output/\n")
    Case(s, "ls", "-w", "w", "-R").exits(0).prints("output/\noutput/f\n")
    Case(s, "ls", "-w", "w", "output/").exits(0).prints("f\n")
    c = Case(s, "ls", "-w", "w", "-l", "output/f").exits(0)
    c.check(re.search(rb"\n   5  2026-11-30 08:00:00  a      " + STEP.encode() + rb"        2  abababababab  output/f\n", c.out), "row")
    Case(s, "ls", "-w", "w", "none").exits(3)


def test_keys_links_sandboxes(s, tmp):
    Peer.routes = {"POST /v1/keys": js(201, {"id": "k1", "key": "secret", "role": "agent"}), "DELETE /v1/keys/k%2F1": (204, {}, b""),
                   "GET /v1/keys?limit=1000": js(200, {"items": [{"id": "k1", "role": "admin"}]}),
                   "POST /v1/workspaces/w/links": js(201, {"url": "/v1/x?sig=1"}),
                   "POST /v1/workspaces/w/sandboxes": js(201, {"sandbox": SANDBOX}),
                   f"GET /v1/workspaces/w/sandboxes/{SANDBOX}": js(200, {"sandbox": SANDBOX}),
                   f"DELETE /v1/workspaces/w/sandboxes/{SANDBOX}": (204, {}, b"")}
    c = Case(s, "key", "create", "--role", "agent", "-w", "w", "-a", "a").exits(0).prints("secret\n")
    c.check(json.loads(c.sent("POST", "/v1/keys")[3]) == {"role": "agent", "workspace": "w", "agent": "a"}, "body")
    c = Case(s, "key", "create", "--role", "admin", "--json", env={"GARTH_WORKSPACE": "w", "GARTH_AGENT": "a"}).exits(0)
    c.check(json.loads(c.out)["id"] == "k1" and json.loads(c.sent("POST", "/v1/keys")[3]) == {"role": "admin"}, "body")
    Case(s, "key", "rm", "k/1").exits(0)
    c = Case(s, "key", "ls").exits(0)
    c.check(b"k1" in c.out, "list")
    c = Case(s, "link", "-w", "w", "output/a", "--version", "3", "--expires", "2h").exits(0)
    c.check(c.out.startswith(b"http://127.0.0.1:") and c.out.endswith(b"/v1/x?sig=1\n"), "url")
    c.check(json.loads(c.sent("POST", "/v1/workspaces/w/links")[3]) == {"path": "output/a", "expires_s": 7200, "version": 3}, "body")
    c = Case(s, "sandbox", "create", "-w", "w", "-a", "a", "--lifetime", "2m").exits(0).prints(SANDBOX + "\n")
    c.check(json.loads(c.sent("POST", "/v1/workspaces/w/sandboxes")[3]) == {"agent": "a", "lifetime_s": 120}, "body")
    Case(s, "sandbox", "rm", SANDBOX, "-w", "w").exits(0)


def test_policy_and_audit(s, tmp):
    bad = {"ok": False, "events": 3, "rows": 4, "objects": 1, "bad_seq": 2, "what": "it was changed", "head": "ab"}
    Peer.routes = {"PUT /v1/workspaces/w/policy": problem(400, "invalid", "line 2, column 3: unknown key"),
                   "GET /v1/workspaces/w/policy": (200, {"Content-Type": "application/yaml"}, b"version: 1\n"),
                   "GET /v1/workspaces/w/policy/explain?agent=a&op=create&path=input%2Fx": js(
                       200, {"allowed": False, "errno": "EROFS", "rule": "input.readonly", "line": 0}),
                   "GET /v1/workspaces/w/audit/verify": js(200, bad), "GET /v1/workspaces/w/audit/export": (200, {}, b"tar")}
    with open(f"{tmp}/p.yaml", "w") as f:
        f.write("version: 1\nx: 1\n")
    Case(s, "policy", "set", "-w", "w", f"{tmp}/p.yaml").exits(1).says("line 2, column 3")
    Case(s, "policy", "show", "-w", "w").exits(0).prints("version: 1\n")
    Case(s, "policy", "check", f"{tmp}/p.yaml").exits(1).says("line 2")
    Case(s, "policy", "check", "-", stdin=b"version: 1\n").exits(0)
    c = Case(s, "policy", "explain", "-w", "w", "-a", "a", "create", "input/x").exits(0)
    c.check(c.out == b"refused: a create input/x: rule input.readonly, EROFS\n", "verdict")
    c = Case(s, "audit", "verify", "-w", "w").exits(1)
    c.check(b"event 2: it was changed" in c.out, "what")
    Case(s, "audit", "verify", "-w", "w", "--json").exits(1)
    Case(s, "audit", "export", "-w", "w", f"{tmp}/x.tar").exits(0)
    with open(f"{tmp}/x.tar", "rb") as f:
        if f.read() != b"tar":
            raise AssertionError("export")
    Case(s, "audit", "verify", f"{tmp}/none").exits(3).says("none")
    Case(s, "audit", "verify", tmp).exits(3)


def test_lineage_as_tree_and_graph(s, tmp):
    nodes = [{"id": "v2", "kind": "version", "path": "output/r", "version": 1, "sha256": "bb"},
             {"id": STEP, "kind": "step", "step": STEP, "agent": "a", "command": ["prog"]}, {"id": "a", "kind": "agent", "agent": "a"},
             {"id": "v1", "kind": "version", "path": "input/i", "version": 1, "sha256": "aa"}]
    edges = [{"kind": "generated", "from": "v2", "to": STEP}, {"kind": "used", "from": STEP, "to": "v1"},
             {"kind": "associated", "from": STEP, "to": "a"}]
    base = "GET /v1/workspaces/w/lineage?path=output%2Fr&direction="
    Peer.routes = {base + "upstream": js(200, {"nodes": nodes, "edges": edges}),
                   base + "downstream": js(200, {"nodes": [], "edges": []})}
    Case(s, "lineage", "-w", "w", "output/r").exits(0).prints(
        f'output/r  version 1  sha256 bb\n  made by step {STEP} by a  ["prog"]\n    read input/i  version 1  sha256 aa\n')
    c = Case(s, "lineage", "-w", "w", "output/r", "--dot").exits(0)
    c.check(c.out.startswith(b"digraph") and c.out.count(b"->") == 3, "dot")
    Case(s, "lineage", "-w", "w", "output/r", "--downstream").exits(1)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = 0
    for name, test in sorted(globals().items()):
        if not name.startswith("test_") or (len(sys.argv) > 1 and sys.argv[1] not in name):
            continue
        Peer.routes = {}
        try:
            with tempfile.TemporaryDirectory() as tmp:
                test(server, tmp)
            print(f"PASS {name}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError):
            failed += 1
            print(f"FAIL {name}", flush=True)
            traceback.print_exc(file=sys.stdout)
    server.shutdown()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
