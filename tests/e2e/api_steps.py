#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Steps over HTTP: bodies, ends and their hints, streams, clients that go away, queues, live sandboxes, hooks."""
import base64
import http.client
import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from garthtest import Server, run

S = Server(config="limits: { sandboxes: 4, queue: 8 }\n")
STEPS = "/v1/workspaces/w/steps"
POLICY = """version: 1
limits:
  step: { timeout: 10s, timeout_max: 60s, memory: 256MiB, memory_max: 512MiB, pids: 64, log: 1MiB, code: 64KiB }
"""


def stream(body, headers=None, ws="w"):
    """a connection and an iterator over the events of a streamed step"""
    c = http.client.HTTPConnection(S.host, S.port, timeout=60)
    c.request("POST", "/v1/workspaces/%s/steps" % ws, json.dumps(body), dict({"Authorization": "Bearer " + S.key, "Accept": "application/x-ndjson"}, **(headers or {})))
    r = c.getresponse()

    def lines():
        for line in r:
            yield json.loads(line)

    return c, r, lines()


def wait_end(step, ws="w", secs=15):
    for _ in range(secs * 20):
        j = S.json("GET", "/v1/workspaces/%s/steps/%s" % (ws, step))
        if j["state"] == "ended":
            return j
        time.sleep(0.05)
    raise AssertionError("step %s has not ended" % step)


def test_setup():
    S.workspace("w", ("a", "b"), POLICY)


def test_the_step_object_is_whole():
    j = S.step("w", "a", argv=["sh", "-c", "echo out; echo err >&2; cat /workspace/input/x; echo c > /workspace/output/c.csv; exit 3"], job="j 1", want=200)
    want = {"step", "workspace", "agent", "sandbox", "job", "hooks", "state", "reason", "exit_code", "signal", "started_at", "wall_ms", "cpu_ms", "memory_peak_bytes",
            "stdout", "stderr", "stdout_bytes", "stderr_bytes", "stdout_truncated", "stderr_truncated", "artifacts", "reads", "violations", "error", "observed"}
    assert want <= set(j), want - set(j)
    assert (j["state"], j["reason"], j["exit_code"], j["signal"], j["job"]) == ("ended", "exited", 3, None, "j 1"), j
    assert j["stdout"] == "out\n" and j["stderr"].startswith("err\n") and j["stdout_bytes"] == 4
    a = j["artifacts"][0]
    assert {"path", "agent", "step", "version", "sha256", "size", "media_type", "action", "state"} <= set(a)
    assert (a["path"], a["action"], a["state"], a["media_type"], a["size"]) == ("output/c.csv", "created", "sealed", "text/csv", 2), a
    assert j["observed"] == {"network": "none", "filesystem": "workspace"} and j["error"] is None
    again = S.json("GET", STEPS + "/" + j["step"])
    for k in want:
        assert again[k] == j[k], (k, again[k], j[k])
    assert "read" in again and [c["op"] for c in again["changed"]] == [], again["changed"]
    listed = [s for s in S.items(STEPS + "?job=j%201") if s["step"] == j["step"]]
    assert len(listed) == 1 and listed[0]["artifacts"] == j["artifacts"]


def test_code_env_stdin_files_cwd():
    j = S.step("w", "a", code="import sys, os\nprint(sys.stdin.read(), os.environ['K'], open('in/x.txt').read(), open('b', 'rb').read(), os.getcwd())",
               env={"K": "v=1 ü"}, stdin="stdin ☂", files=[{"name": "in/x.txt", "content": "text"}, {"name": "b", "content_base64": base64.b64encode(b"\0\xff").decode()}])
    assert j["stdout"] == "stdin ☂ v=1 ü text b'\\x00\\xff' /workspace/task\n", j
    assert j["env"] == "K" and "v=1" not in json.dumps({k: v for k, v in j.items() if k not in ("stdout",)})
    j = S.step("w", "a", argv=["pwd"], cwd="/workspace/output")
    assert j["stdout"] == "/workspace/output\n"
    j = S.step("w", "a", code="echo $0; pwd", language="bash", cwd="/tmp")
    assert j["stdout"].endswith("main.sh\n/tmp\n"), j


def test_bytes_that_are_not_text_come_in_base64():
    j = S.step("w", "a", code="import sys; sys.stdout.buffer.write(b'\\xff\\x00a'); sys.stderr.write('ok')")
    assert j["stdout"] is None and base64.b64decode(j["stdout_base64"]) == b"\xff\x00a" and j["stderr"] == "ok", j
    status, h, out = S.http("GET", STEPS + "/%s/stdout" % j["step"])
    assert out == b"\xff\x00a"
    status, h, out = S.http("GET", STEPS + "/%s/stdout" % j["step"], headers={"Range": "bytes=1-"})
    assert status == 206 and out == b"\x00a"
    j = S.step("w", "a", code="print('a\\0b')")
    assert j["stdout"] == "a\0b\n"


def test_bodies_that_are_wrong_are_400_and_say_where():
    rows = [({}, "argv"), ({"agent": "a"}, "argv"), ({"agent": "a", "argv": ["x"], "code": "y"}, "argv"), ({"agent": "a", "argv": []}, "argv"),
            ({"agent": "a", "argv": ["x"], "colour": 1}, "colour"), ({"agent": "a", "argv": "x"}, "argv"), ({"agent": "a", "argv": [1]}, "argv[0]"),
            ({"agent": "a", "argv": [""]}, "argv"), ({"agent": "a", "argv": ["a\0b"]}, "argv"), ({"agent": "a", "code": "x", "language": "perl"}, "language"),
            ({"agent": "a", "argv": ["x"], "timeout_s": 61}, "timeout_s"), ({"agent": "a", "argv": ["x"], "timeout_s": 0}, "timeout_s"),
            ({"agent": "a", "argv": ["x"], "timeout_s": "1"}, "timeout_s"), ({"agent": "a", "argv": ["x"], "memory_bytes": 1 << 40}, "memory_bytes"),
            ({"agent": "a", "argv": ["x"], "pids": 65}, "pids"), ({"agent": "a", "argv": ["x"], "cpus": 99}, "cpus"),
            ({"agent": "a", "argv": ["x"], "env": {"A=B": "x"}}, "env"), ({"agent": "a", "argv": ["x"], "env": {"GARTH_STEP": "x"}}, "env"),
            ({"agent": "a", "argv": ["x"], "env": {"A": 1}}, "env"), ({"agent": "a", "argv": ["x"], "files": [{"name": "../x", "content": ""}]}, "files[0]"),
            ({"agent": "a", "argv": ["x"], "files": [{"name": "x", "content": "", "mode": 1}]}, "mode"),
            ({"agent": "a", "argv": ["x"], "files": [{"name": "x", "content_base64": "%%%"}]}, "files[0]"), ({"agent": 5, "argv": ["x"]}, "agent"),
            ({"agent": "a", "argv": ["x"], "job": "a\nb"}, "job"), ({"agent": "a", "argv": ["x"], "cwd": ""}, "cwd")]
    for body, word in rows:
        status, _, out = S.http("POST", STEPS, body)
        j = json.loads(out)
        assert status == 400 and word in j["detail"] and j["code"] == "invalid", (body, status, j)
    for text in (b"", b"{", b"[]", b"null", b'{"agent":"a","agent":"b","argv":["x"]}', b"\xff"):
        status, h, out = S.http("POST", STEPS, text)
        assert status == 400 and h["content-type"] == "application/problem+json", (text, status)
    assert S.http("POST", STEPS, {"agent": "zz", "argv": ["x"]})[0] == 404
    assert S.http("POST", STEPS, {"agent": "operator", "argv": ["x"]})[0] == 403
    assert S.http("POST", STEPS, {"agent": "a", "argv": ["x"], "sandbox": "sb_0000000000000"})[0] == 404
    assert S.http("POST", STEPS, {"agent": "a", "code": "#" * 70000, "language": "python"})[0] == 413


def test_ends_have_a_reason_an_error_and_a_hint():
    rows = [
        (dict(code="import time; time.sleep(30)", timeout_s=1), "timeout", "Timeout", "end.timeout"),
        (dict(code="x = bytearray(1 << 30)"), "memory", "MemoryLimit", "end.memory"),
        (dict(code="import os; os.kill(os.getpid(), 11)"), "signaled", "NativeCrash", "end.segv"),
        (dict(argv=["/no/such"]), "exited", "ExecError", "end.exec"),
        (dict(code="import sys; sys.exit(4)"), "exited", "SystemExit", "end.exit"),
        (dict(code="import nosuchmodule"), "exited", "ModuleNotFoundError", "mod.missing"),
        (dict(code="print(np.zeros(3))"), "exited", "NameError", "name.alias"),
        (dict(code="open('/workspace/input/x', 'w')"), "exited", "OSError", "zone.readonly"),
        (dict(code="1/0"), "exited", "ZeroDivisionError", None),
    ]
    for kw, reason, name, code in rows:
        for _ in range(3):
            j = S.step("w", "a", **kw)
            if code is None or (j["error"] and j["error"]["hint"]):
                break  # the runner gives up looking for a hint after 200 ms, on a busy machine too early
        assert j["reason"] == reason and j["error"] and j["error"]["name"] == name, (kw, j["reason"], j["error"])
        hint = j["error"]["hint"]
        assert (hint["code"] if hint else None) == code, (kw, hint)
        assert set(j["error"]) == {"name", "value", "traceback", "hint"}
        if hint:
            assert set(hint) == {"code", "text", "data"} and len(hint["text"]) <= 300 and "\n" not in hint["text"], hint
            assert j["hint"] == hint
    j = S.step("w", "a", code="pass")
    assert j["error"] is None and j["hint"]["code"] == "end.silent", j
    j = S.step("w", "a", code="print(1)")
    assert j["error"] is None and j["hint"] is None


def test_a_hostile_report_is_cut_to_shape():
    code = r"""
import glob, json, os, sys
for d in glob.glob('/run/garth/report/*'):
    try:
        open(d, 'w').write(json.dumps({'name': 'X' * 5000, 'value': 'v' * 9000, 'traceback': 't', 'evil': 1, 'hint': {'code': 'A B', 'text': 'x'}}))
    except OSError:
        pass
os._exit(1)
"""
    j = S.step("w", "a", code=code)
    if j["error"] and j["error"]["name"].startswith("X"):
        assert len(j["error"]["name"]) <= 200 and len(j["error"]["value"]) <= 4096 and set(j["error"]) == {"name", "value", "traceback", "hint"} and j["error"]["hint"] is None, j["error"]


def test_a_stream_tells_as_it_goes():
    c, r, ev = stream({"agent": "a", "code": "import time\nfor i in range(3):\n    print('zeile', i, 'ü☂')\n    time.sleep(0.5)\nraise SystemExit(2)", "language": "python"})
    assert r.status == 200 and r.getheader("Content-Type") == "application/x-ndjson"
    first = next(ev)
    assert first["event"] == "started" and first["step"].startswith("s_") and first["sandbox"].startswith("sb_"), first
    at, text, last = [], "", None
    for e in ev:
        if e["event"] == "stdout":
            at.append(time.time())
            text += e["data"]
        last = e
    assert text == "zeile 0 ü☂\nzeile 1 ü☂\nzeile 2 ü☂\n", text
    assert at[-1] - at[0] > 0.7, "it came all at once"
    assert last["event"] == "ended" and last["step"]["exit_code"] == 2 and last["step"]["stdout"] == text, last


def test_a_stream_of_any_bytes_is_whole():
    code = "import sys, random\nrandom.seed(1)\nb = bytes(random.randrange(256) for _ in range(200000))\nsys.stdout.buffer.write(b); sys.stderr.write('ü' * 40000)"
    import random
    random.seed(1)
    want = bytes(random.randrange(256) for _ in range(200000))
    c, r, ev = stream({"agent": "a", "code": code, "language": "python"})
    out = err = b""
    for e in ev:
        if e["event"] in ("stdout", "stderr"):
            data = e["data"].encode() if "data" in e else base64.b64decode(e["data_base64"])
            if e["event"] == "stdout":
                out += data
            else:
                err += data
                assert "data" in e, "text was cut within a character"
    assert out == want and err.decode() == "ü" * 40000


def test_silence_has_a_heart():
    c, r, ev = stream({"agent": "a", "argv": ["sleep", "11"], "timeout_s": 20})
    kinds = [e["event"] for e in ev]
    assert kinds == ["started", "heartbeat", "ended"], kinds


def test_errors_before_the_start_are_no_stream():
    c, r, ev = stream({"agent": "a", "argv": []})
    assert r.status == 400 and r.getheader("Content-Type") == "application/problem+json"


def test_output_past_the_limit_is_cut_and_said():
    j = S.step("w", "a", code="import sys\nfor _ in range(300): sys.stdout.write('x' * 10000)")
    assert j["stdout_truncated"] and j["stdout_bytes"] == 3000000 and len(j["stdout"]) == 1 << 20, (j["stdout_truncated"], j["stdout_bytes"], len(j["stdout"]))
    assert not j["stderr_truncated"]


def test_a_client_that_goes_away_takes_its_step_along():
    for accept in ("application/json", "application/x-ndjson"):
        body = json.dumps({"agent": "a", "argv": ["sleep", "30"], "timeout_s": 40, "job": "gone " + accept}).encode()
        c = socket.create_connection((S.host, S.port))
        c.sendall(("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nAccept: %s\r\nContent-Length: %d\r\n\r\n" % (STEPS, S.key, accept, len(body))).encode() + body)
        for _ in range(100):
            rows = [s for s in S.json("GET", STEPS + "?state=running")["items"] if s["job"] == "gone " + accept]
            if rows:
                break
            time.sleep(0.05)
        assert rows, "it did not start"
        c.close()
        j = wait_end(rows[0]["step"])
        assert j["reason"] == "killed" and "client" in j["error"]["value"], (j["reason"], j["error"])


def test_respond_async_answers_at_once_and_the_step_goes_on():
    start = time.time()
    status, h, out = S.http("POST", STEPS, {"agent": "a", "argv": ["sh", "-c", "sleep 1; echo done"]}, {"Prefer": "respond-async"})
    j = json.loads(out)
    assert status == 202 and time.time() - start < 0.9 and j["state"] in ("queued", "running") and h["location"].endswith(j["step"]), (status, j)
    assert wait_end(j["step"])["stdout"] == "done\n"


def test_delete_kills_and_says_who():
    j = S.json("POST", STEPS, {"agent": "a", "argv": ["sh", "-c", "trap '' TERM; sleep 30 & setsid sleep 30 & wait"]}, headers={"Prefer": "respond-async"}, want=202)
    for _ in range(100):
        if S.json("GET", STEPS + "/" + j["step"])["state"] == "running":
            break
        time.sleep(0.05)
    r = S.http("DELETE", STEPS + "/" + j["step"]); assert r[0] == 202, r
    j = wait_end(j["step"])
    assert j["reason"] == "killed" and j["error"]["hint"]["code"] == "end.killed" and "admin" in j["detail"], j
    assert S.http("DELETE", STEPS + "/" + j["step"])[0] == 409
    assert S.http("DELETE", STEPS + "/s_0000000000000")[0] == 404 and S.http("GET", STEPS + "/rubbish")[0] == 404


def test_the_queue_is_bounded_and_what_waits_is_seen():
    ids, codes = [], []
    for i in range(14):
        status, h, out = S.http("POST", STEPS, {"agent": "a", "argv": ["sleep", "3"], "job": "queue"}, {"Prefer": "respond-async"})
        codes.append(status)
        if status == 202:
            ids.append(json.loads(out)["step"])
        else:
            assert int(h["retry-after"]) > 0 and json.loads(out)["code"] == "queue_full" and json.loads(out)["retry_after_s"] > 0
    assert codes.count(202) == 3 + 8 and codes.count(429) == 3, codes
    open_ = {s["step"]: s["state"] for s in S.json("GET", STEPS + "?state=open")["items"]}
    assert sorted(open_.values()).count("queued") >= 7, open_
    waits = [i for i in ids if open_.get(i) == "queued"][-1]
    assert S.http("DELETE", STEPS + "/" + waits)[0] == 202
    j = S.json("GET", STEPS + "/" + waits)
    assert (j["state"], j["reason"]) == ("ended", "killed"), j
    for i in ids:
        if i != waits:
            j = wait_end(i, secs=40)
            assert j["reason"] == "exited", j


def test_a_live_sandbox_keeps_its_processes_and_takes_turns():
    sb = S.json("POST", "/v1/workspaces/w/sandboxes", {"agent": "a", "lifetime_s": 60}, want=201)
    assert sb["id"].startswith("sb_") and sb["kind"] == "live" and sb["expires_at"] > sb["created_at"], sb
    j = S.step("w", "a", code="(while true; do date >> /tmp/beat; sleep 0.1; done) >/dev/null 2>&1 & echo x > /workspace/task/left; echo started", language="bash", sandbox=sb["id"])
    assert j["stdout"] == "started\n" and j["sandbox"] == sb["id"] and j["reason"] == "exited"
    time.sleep(0.5)
    j = S.step("w", "a", argv=["sh", "-c", "wc -l < /tmp/beat; ls -A /workspace/task"], sandbox=sb["id"])
    assert int(j["stdout"].split()[0]) >= 2 and len(j["stdout"].split()) == 1, j["stdout"]
    got = []
    ts = [threading.Thread(target=lambda: got.append(S.step("w", "a", argv=["sh", "-c", "date +%s.%N; sleep 0.5; date +%s.%N"], sandbox=sb["id"]))) for _ in range(3)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    spans = sorted([float(x) for x in g["stdout"].split()] for g in got)
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), spans
    assert [s["id"] for s in S.json("GET", "/v1/workspaces/w/sandboxes")["items"] if s["kind"] == "live"] == [sb["id"]]
    assert S.http("POST", STEPS, {"agent": "b", "argv": ["id"], "sandbox": sb["id"]})[0] == 404
    j = S.step("w", "a", code="import time; time.sleep(9)", sandbox=sb["id"], timeout_s=1)
    assert j["reason"] == "timeout" and j["wall_ms"] < 4000, j
    assert S.step("w", "a", argv=["true"], sandbox=sb["id"])["exit_code"] == 0
    assert S.http("DELETE", "/v1/workspaces/w/sandboxes/" + sb["id"])[0] == 204
    assert S.http("GET", "/v1/workspaces/w/sandboxes/" + sb["id"])[0] == 404
    assert S.http("POST", STEPS, {"agent": "a", "argv": ["id"], "sandbox": sb["id"]})[0] == 404


def test_removing_a_sandbox_ends_its_step():
    sb = S.json("POST", "/v1/workspaces/w/sandboxes", {"agent": "a"}, want=201)["id"]
    j = S.json("POST", STEPS, {"agent": "a", "argv": ["sleep", "30"], "sandbox": sb}, headers={"Prefer": "respond-async"}, want=202)
    time.sleep(0.5)
    assert S.http("DELETE", "/v1/workspaces/w/sandboxes/" + sb)[0] == 204
    assert wait_end(j["step"])["reason"] == "killed"


def test_a_lifetime_ends_an_idle_sandbox_but_no_running_step():
    sb = S.json("POST", "/v1/workspaces/w/sandboxes", {"agent": "a", "lifetime_s": 1}, want=201)["id"]
    j = S.step("w", "a", argv=["sleep", "3"], sandbox=sb)
    assert j["reason"] == "exited" and j["exit_code"] == 0, j
    sb = S.json("POST", "/v1/workspaces/w/sandboxes", {"agent": "a", "lifetime_s": 1}, want=201)["id"]
    for _ in range(60):
        if S.http("GET", "/v1/workspaces/w/sandboxes/" + sb)[0] == 404:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("it lives on")


HOOKS = """version: 1
hooks:
  pre_step: { agent: gate, run: [python3, /workspace/input/pre.py], timeout: 3s }
  post_step: { agent: gate, run: [python3, /workspace/input/post.py] }
  on_output: { path: "output/**/*.csv", agent: checker, run: [python3, /workspace/input/csv.py] }
"""
PRE = """import json, sys
j = json.load(sys.stdin)
assert j["hook"] == "pre_step" and j["workspace"] == "h" and j["step"].startswith("s_") and j["agent"] == "a", j
code = j["request"]["code"] or ""
if "forbidden" in code:
    print("the word is not wanted here")
    sys.exit(1)
if "hang" in code:
    import time; time.sleep(60)
"""
CSV = """import json, sys, time
j = json.load(sys.stdin)
a, = j["artifacts"]
assert j["hook"] == "on_output", j
time.sleep(0.7)
text = open("/workspace/" + a["path"]).read()
if "bad" in text:
    print("a bad cell in", a["path"])
    sys.exit(1)
"""
POST = """import json, sys
j = json.load(sys.stdin)
assert j["hook"] == "post_step" and isinstance(j["artifacts"], list) and isinstance(j["violations"], list)
open("/workspace/output/seen.json", "w").write(json.dumps(j))
"""


def test_hooks_setup():
    S.workspace("h", ("a", "gate", "checker"), HOOKS)
    for name, text in (("pre.py", PRE), ("csv.py", CSV), ("post.py", POST)):
        S.put("h", "input/" + name, text.encode())


def test_a_pre_step_hook_may_refuse():
    j = S.step("h", "a", code="print('forbidden')", want=422)
    assert j["reason"] == "refused" and j["stdout"] == "" and j["exit_code"] is None, j
    assert j["error"]["name"] == "Refused" and "not wanted" in j["error"]["value"] and j["error"]["hint"]["code"] == "end.refused", j["error"]
    assert len(j["hooks"]) == 1
    hook = S.json("GET", "/v1/workspaces/h/steps/" + j["hooks"][0])
    assert (hook["kind"], hook["agent"], hook["parent"], hook["exit_code"]) == ("pre_step", "gate", j["step"], 1), hook
    j = S.step("h", "a", code="hang = 1", want=422, timeout=30)
    assert j["reason"] == "refused" and "timeout" in j["error"]["value"], j["error"]


def test_an_output_is_held_until_its_hook_passes():
    c, r, ev = stream({"agent": "a", "code": "open('/workspace/output/t.csv', 'w').write('good')", "language": "python"}, ws="h")
    held = []

    def watch():
        while not held or held[-1][0] != 200:
            held.append(S.http("GET", "/v1/workspaces/h/output/t.csv"))
            time.sleep(0.05)

    t = threading.Thread(target=watch)
    t.start()
    last = list(ev)[-1]["step"]
    t.join()
    codes = [(s, json.loads(o).get("code") if s != 200 else None) for s, h, o in held]
    assert ("%d %s" % codes[-1]) == "200 None" and (409, "held") in codes, codes
    assert all(c in ((404, "not_found"), (409, "held"), (409, "busy"), (200, None)) for c in codes), codes
    assert codes == sorted(codes, key=lambda c: {404: 0, 409: 1, 200: 2}[c[0]]), codes
    kinds = sorted(S.json("GET", "/v1/workspaces/h/steps/" + h)["kind"] for h in last["hooks"])
    assert kinds == ["on_output", "post_step", "pre_step"], kinds
    seen = json.loads(S.get("h", "output/seen.json"))
    assert seen["step"] == last["step"] and [a["path"] for a in seen["artifacts"]] == ["output/t.csv"], seen


def test_an_output_that_fails_stays_held_and_says_why():
    j = S.step("h", "a", code="import os\nos.makedirs('/workspace/output/deep')\nopen('/workspace/output/deep/b.csv', 'w').write('bad')\nopen('/workspace/output/n.txt', 'w').write('bad')")
    a = {x["path"]: x for x in j["artifacts"]}
    assert a["output/deep/b.csv"]["state"] == "held" and "bad cell" in a["output/deep/b.csv"]["held_reason"], a
    assert a["output/n.txt"]["state"] == "sealed"
    status, _, out = S.http("GET", "/v1/workspaces/h/output/deep/b.csv")
    assert status == 409 and json.loads(out)["code"] == "held"
    assert S.http("GET", "/v1/workspaces/h/output/deep/b.csv?version=1")[0] == 409
    assert S.http("GET", "/v1/workspaces/h/output/n.txt")[0] == 200


def test_a_hook_that_can_not_run_counts_as_no():
    S.workspace("h2", ("a",), HOOKS)
    j = S.step("h2", "a", code="print(1)", want=422)
    assert j["reason"] == "refused" and j["error"]["value"], j["error"]


def test_the_records_verify():
    for ws in ("w", "h", "h2"):
        j = S.verify(ws)
        assert j["ok"], (ws, j)


run(*[f for n, f in list(globals().items()) if n.startswith("test_")])
