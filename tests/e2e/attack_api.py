#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hostile and clumsy clients of the HTTP API: two lengths for one body, lists of what waits, sandboxes where all places are taken."""
import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from garthtest import Server, run, sha256

S = Server(config="limits: { sandboxes: 4, queue: 32 }\n")
STEPS = "/v1/workspaces/w/steps"
BOXES = "/v1/workspaces/w/sandboxes"
WAITING = 10


def raw(text, wait=5):
    """send it as it is, give the first line that comes back"""
    c = socket.create_connection((S.host, S.port), timeout=wait)
    c.sendall(text.encode())
    line = c.makefile("rb").readline()
    c.close()
    return line.decode().strip()


def test_setup():
    S.workspace("w", ("a", "b"))


def test_one_body_has_one_length():
    rows = [("CL twice", "Content-Length: 3\r\nContent-Length: 5\r\n", "abcde"), ("CL twice, equal", "Content-Length: 3\r\nContent-Length: 3\r\n", "abc"),
            ("CL and chunks", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"),
            ("another coding", "Transfer-Encoding: gzip\r\n", "abc"), ("two codings", "Transfer-Encoding: gzip, chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"),
            ("no number", "Content-Length: 0x3\r\n", "abc"), ("below 0", "Content-Length: -3\r\n", "abc")]
    for name, headers, body in rows:
        line = raw("PUT /v1/workspaces/w/files/input/framed HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n%s" % (S.key, headers, body))
        assert line.startswith("HTTP/1.1 400"), (name, line)
    S.get("w", "input/framed", want=404)


def test_the_file_of_a_body_is_named_once():
    status, _, out = S.http("POST", STEPS, {"agent": "a", "argv": ["x"], "files": [{"name": "ok", "content": ""}, {"name": "../x", "content": ""}]})
    detail = json.loads(out)["detail"]
    assert status == 400 and detail.startswith("files[1]: ") and ": :" not in detail, detail


def test_an_idle_upload_sandbox_makes_room_for_a_live_one():
    S.put("w", "input/x", b"1")
    assert [b["kind"] for b in S.json("GET", BOXES)["items"]] == ["upload"]
    made = []
    while len(made) < 8:
        status, h, out = S.http("POST", BOXES, {"agent": "a", "lifetime_s": 60})
        if status != 201:
            break
        made.append(json.loads(out)["id"])
    assert status == 429 and int(h["retry-after"]) > 0 and json.loads(out)["code"] == "queue_full", (status, out)
    assert len(made) == 3, made  # one of four places is the hooks'
    for i in made:
        assert S.http("DELETE", BOXES + "/" + i)[0] == 204
    assert S.step("w", "a", argv=["true"])["exit_code"] == 0


def test_a_list_of_many_that_wait_has_an_end():
    box = S.json("POST", BOXES, {"agent": "a", "lifetime_s": 60}, want=201)["id"]
    ids = [S.json("POST", STEPS, {"agent": "a", "argv": ["sleep", "60"], "sandbox": box, "timeout_s": 60}, headers={"Prefer": "respond-async"}, want=202)["step"] for _ in range(WAITING)]
    for _ in range(100):
        if S.json("GET", STEPS + "/" + ids[0])["state"] == "running":
            break
        time.sleep(0.05)
    for name in ("stdout", "stderr"):  # of one that waits
        status, _, out = S.http("GET", STEPS + "/%s/%s" % (ids[-1], name))
        assert (status, out) == (200, b""), (name, status, out)
    for state, want in (("open", ids), ("queued", ids[1:]), ("running", ids[:1])):
        for limit in (1, 2, WAITING - 1, WAITING, 100):
            got, cursor = [], None
            while len(got) <= 2 * WAITING:
                page = S.json("GET", STEPS + "?state=%s&limit=%d%s" % (state, limit, "&cursor=" + cursor if cursor else ""))
                assert len(page["items"]) <= limit, (state, limit, len(page["items"]))
                got += [s["step"] for s in page["items"]]
                cursor = page["next"]
                if not cursor:
                    break
            assert sorted(got) == sorted(want), (state, limit, len(got), len(set(got)))
    assert S.http("DELETE", BOXES + "/" + box)[0] == 204


def test_a_step_that_fails_is_no_slower_than_one_that_does_not():
    def best(argv):
        times = []
        for _ in range(6):
            start = time.time()
            S.step("w", "a", argv=argv)
            times.append(time.time() - start)
        return min(times)

    good, bad = best(["sh", "-c", "echo x; exit 0"]), best(["sh", "-c", "echo x; exit 3"])
    assert bad < good + 0.15, (good, bad)


def test_of_many_that_match_one_version_one_writes():
    for round in range(5):
        path = "/v1/workspaces/w/files/input/race%d" % round
        etag, got = S.http("PUT", path, b"first")[1]["etag"], []
        ts = [threading.Thread(target=lambda i=i: got.append(S.http("PUT", path, b"body %d" % i, {"If-Match": etag})[0])) for i in range(8)]
        [t.start() for t in ts]
        [t.join() for t in ts]
        assert sorted(got) == [200] + [412] * 7, (round, got)


def test_of_many_uploads_to_one_name_each_is_a_version():
    got = []

    def put(i):
        data = bytes([i]) * 100000
        j = S.put("w", "input/many", data)
        got.append(j["version"] if j["sha256"] == sha256(data) else None)

    ts = [threading.Thread(target=put, args=(i,)) for i in range(8)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    assert sorted(got) == list(range(1, 9)), got
    data = S.get("w", "input/many")
    assert len(data) == 100000 and len(set(data)) == 1


def test_a_key_of_a_workspace_that_is_gone_opens_no_other_of_its_name():
    S.workspace("again", ("a",))
    key = S.json("POST", "/v1/keys", {"role": "auditor", "workspace": "again"}, want=201)
    more = [S.json("POST", "/v1/keys", {"role": "reader", "workspace": "again"}, want=201)["id"] for _ in range(3)]
    other = S.json("POST", "/v1/keys", {"role": "reader", "workspace": "w"}, want=201)
    assert S.http("GET", "/v1/workspaces/again", key=key["key"])[0] == 200
    assert S.http("DELETE", "/v1/workspaces/again")[0] == 204
    S.workspace("again", ("a",))
    assert S.http("GET", "/v1/workspaces/again", key=key["key"])[0] == 401
    assert S.http("GET", "/v1/workspaces/w/output", key=other["key"])[0] == 200
    left = {k["id"] for k in S.items("/v1/keys")}
    assert not left & {key["id"], *more} and other["id"] in left, left


def test_the_record_verifies():
    assert S.verify("w")["ok"]


run(*[f for n, f in list(globals().items()) if n.startswith("test_")])
