#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Files over HTTP: uploads (whole, refused, cut short, raced), downloads (ranges, conditions, names), folders, links."""
import base64
import hashlib
import http.client
import json
import os
import socket
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from garthtest import Server, run, sha256

S = Server()
POLICY = "version: 1\nlimits: { upload: 1MiB }\n"
F = "/v1/workspaces/w/files/"


def raw(data, end=True, wait=5):
    """send bytes as they are, give what comes back"""
    c = socket.create_connection((S.host, S.port), timeout=wait)
    c.sendall(data)
    if end:
        out = b""
        try:
            while True:
                piece = c.recv(65536)
                if not piece:
                    break
                out += piece
        except socket.timeout:
            pass
        c.close()
        return out
    return c


def head(method, path, **headers):
    lines = ["%s %s HTTP/1.1" % (method, path), "Host: x", "Authorization: Bearer " + S.key]
    lines += ["%s: %s" % (k.replace("_", "-"), v) for k, v in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def violations():
    return S.items("/v1/workspaces/w/violations")


def test_setup():
    S.workspace("w", ("a", "b"), POLICY)


def test_upload_is_201_then_200_with_hash_and_version():
    one = S.http("PUT", F + "input/t.csv", b"1,2\n")
    assert one[0] == 201, one
    j = json.loads(one[2])
    assert (j["path"], j["sha256"], j["size"], j["version"]) == ("input/t.csv", sha256(b"1,2\n"), 4, 1), j
    assert one[1]["etag"] == '"sha256:%s"' % sha256(b"1,2\n")
    two = S.http("PUT", F + "input/t.csv", b"3,4\n")
    assert two[0] == 200 and json.loads(two[2])["version"] == 2, two
    assert S.get("w", "input/t.csv") == b"3,4\n"
    assert S.get("w", "input/deep/new", want=404)
    S.put("w", "input/deep/er/f", b"x", want=201)
    step = S.json("GET", "/v1/workspaces/w/steps/" + j["step"])
    assert (step["kind"], step["agent"], step["reason"]) == ("upload", "operator", "exited"), step


def test_upload_of_nothing_and_of_any_bytes():
    assert S.put("w", "input/empty", b"")["size"] == 0
    assert S.get("w", "input/empty") == b""
    data = os.urandom(300000)
    assert S.put("w", "input/random.bin", data)["sha256"] == sha256(data)
    assert S.get("w", "input/random.bin") == data


def test_upload_of_unknown_length():
    import http.client
    c = http.client.HTTPConnection(S.host, S.port, timeout=20)
    c.request("PUT", F + "input/chunked", body=iter([b"ab", b"cd" * 5000]), headers={"Authorization": "Bearer " + S.key}, encode_chunked=True)
    r = c.getresponse()
    assert r.status == 201, r.read()
    c.close()
    assert S.get("w", "input/chunked") == b"ab" + b"cd" * 5000


def test_digests_are_checked():
    good = base64.b64encode(hashlib.sha256(b"data").digest()).decode()
    bad = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    rows = [({"Content-Digest": "sha-256=:%s:" % good}, 201), ({"Content-Digest": "sha-256=:%s:" % bad}, 422),
            ({"X-Content-SHA256": sha256(b"data")}, 200), ({"X-Content-SHA256": sha256(b"other")}, 422),
            ({"X-Content-SHA256": "zz"}, 400), ({"Content-Digest": "sha-256=:%%:"}, 400), ({"Content-Digest": "md5=:abcd:"}, 200)]
    for headers, want in rows:
        got = S.http("PUT", F + "input/digest", b"data", headers)
        assert got[0] == want, (headers, got)
    assert S.get("w", "input/digest") == b"data"


def test_conditions_answer_412_with_both_hashes():
    S.put("w", "input/cond", b"one")
    etag = '"sha256:%s"' % sha256(b"one")
    status, _, out = S.http("PUT", F + "input/cond", b"two", {"If-None-Match": "*"})
    j = json.loads(out)
    assert status == 412 and j["code"] == "precondition_failed" and j["current"] == etag and j["expected"] == "*", j
    wrong = '"sha256:%s"' % sha256(b"zero")
    status, _, out = S.http("PUT", F + "input/cond", b"two", {"If-Match": wrong})
    j = json.loads(out)
    assert status == 412 and j["current"] == etag and j["expected"] == wrong, j
    assert S.http("PUT", F + "input/cond", b"two", {"If-Match": wrong + ", " + etag})[0] == 200
    assert S.http("PUT", F + "input/cond", b"three", {"If-Match": "*"})[0] == 200
    assert S.http("PUT", F + "input/none", b"x", {"If-Match": "*"})[0] == 412
    assert S.http("PUT", F + "input/none", b"x", {"If-Match": "rubbish"})[0] in (400, 412)
    assert S.http("PUT", F + "input/cond", b"x", {"If-Match": "rubbish"})[0] == 400
    assert S.http("PUT", F + "input/none2", b"x", {"If-None-Match": "*"})[0] == 201
    assert S.get("w", "input/cond") == b"three"


def test_of_many_that_create_one_does():
    import threading
    got = []
    ts = [threading.Thread(target=lambda i=i: got.append(S.http("PUT", F + "input/race", b"%d" % i, {"If-None-Match": "*"})[0])) for i in range(8)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    assert sorted(got) == [201] + [412] * 7, got


def test_too_large_is_413_before_the_body():
    out = raw(head("PUT", F + "input/big", Content_Length=2 << 20))
    assert out.startswith(b"HTTP/1.1 413"), out[:200]
    out = raw(head("PUT", F + "input/big", Content_Length=2 << 20, Expect="100-continue"))
    assert out.startswith(b"HTTP/1.1 413"), out[:200]
    body = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    out = raw(head("PUT", F + "input/big", Transfer_Encoding="chunked") + body * 20 + b"0\r\n\r\n")
    assert out.startswith(b"HTTP/1.1 413"), out[:200]
    S.get("w", "input/big", want=404)


def test_a_body_cut_short_leaves_nothing():
    c = raw(head("PUT", F + "input/half", Content_Length=1000) + b"x" * 500, end=False)
    time.sleep(0.3)
    c.close()
    c = raw(head("PUT", F + "input/half2", Transfer_Encoding="chunked") + b"5\r\nhello\r\n", end=False)
    time.sleep(0.3)
    c.close()
    time.sleep(0.5)
    S.get("w", "input/half", want=404)
    S.get("w", "input/half2", want=404)
    names = [i["name"] for i in S.json("GET", "/v1/workspaces/w/files/input")["items"]]
    assert not [n for n in names if n.startswith("half") or n.startswith(".")], names


def test_agents_write_by_policy_and_refusals_are_recorded():
    before = len(violations())
    assert S.put("w", "agents/a/n.txt", b"n", agent="a")["agent"] == "a"
    assert S.put("w", "output/up.txt", b"o", agent="b")["agent"] == "b"
    rows = [("agents/a/x", "b", "EACCES", "agents/a/x"), ("input/x", "a", "EROFS", "input/x"), ("logs/x", "a", "EACCES", "logs/x"), ("zone/x", "a", "EACCES", "zone")]
    for path, agent, errno, told in rows:
        status, _, out = S.http("PUT", F + path + "?agent=" + agent, b"x" * 100)
        assert status == 403 and json.loads(out)["code"] == "refused", (path, status, out)
        last = violations()[-1]
        assert (last["agent"], last["errno"], last["path"]) == (agent, errno, told), (path, last)
    assert len(violations()) == before + len(rows)
    status, _, out = S.http("PUT", F + "output/op.txt", b"x")
    assert status == 403, (status, out)
    assert S.http("PUT", F + "output/x?agent=nobody", b"x")[0] == 404
    assert S.http("PUT", F + "output/x?agent=operator", b"x")[0] == 403


def test_paths_that_are_none_are_400():
    for path in ("input/../output/x", "input/%2e%2e/x", "input//x", "input/./x", "input/a%00b", "input/a%2fb", "input/%zz", "input/%ff", "input/", "input"):
        got = S.http("PUT", F + path, b"x")
        assert got[0] == 400, (path, got)
        assert json.loads(got[2])["code"] == "invalid"
    assert S.http("GET", F + "input/" + "n" * 256)[0] in (400, 404)
    assert S.http("GET", F + "input/" + "n/" * 3000)[0] in (400, 414)


def test_names_of_any_kind_come_and_go():
    for name in ("blank name.csv", "umläut ☂.txt", "a+b&c=d?.txt", "100%.txt", 'q"uote\\.txt', "-rf", "semi;colon", "n" * 255):
        path = "input/" + urllib.parse.quote(name, safe="")
        S.put("w", path, name.encode())
        status, h, out = S.http("GET", F + path)
        assert status == 200 and out == name.encode(), (name, status)
        disp = h["content-disposition"]
        assert "\n" not in disp and disp.startswith("attachment; filename="), disp
        assert urllib.parse.unquote(disp.split("filename*=UTF-8''")[1]) == name, disp
    names = [i["name"] for i in S.json("GET", F + "input")["items"]]
    assert "umläut ☂.txt" in names and "100%.txt" in names


def test_a_name_that_is_not_text_is_told_in_base64():
    S.step("w", "a", code="open(b'/workspace/output/\\xff\\xfe.bin', 'w').write('odd')")
    items = [i for i in S.json("GET", F + "output")["items"] if i["name"] is None]
    assert len(items) == 1 and base64.b64decode(items[0]["name_base64"]) == b"\xff\xfe.bin", items
    row = [a for a in S.items("/v1/workspaces/w/artifacts") if a["path"] is None][0]
    assert base64.b64decode(row["path_base64"]) == b"output/\xff\xfe.bin"
    status, h, out = S.http("GET", "/v1/workspaces/w/files?path_base64=" + urllib.parse.quote(row["path_base64"], safe=""))
    assert status == 200 and out == b"odd", (status, out)
    one = S.json("GET", "/v1/workspaces/w/artifacts?path_base64=" + urllib.parse.quote(row["path_base64"], safe=""))
    assert len(one["items"]) == 1


def test_downloads_have_their_headers():
    step = S.step("w", "a", code="open('/workspace/output/r.csv', 'w').write('a,b\\n1,2\\n')")["step"]
    data = b"a,b\n1,2\n"
    status, h, out = S.http("GET", "/v1/workspaces/w/output/r.csv")
    assert (status, out) == (200, data)
    assert h["etag"] == '"sha256:%s"' % sha256(data) and h["content-type"].startswith("text/csv")
    assert h["x-content-type-options"] == "nosniff" and h["x-garth-step"] == step
    assert h["repr-digest"] == "sha-256=:%s:" % base64.b64encode(hashlib.sha256(data).digest()).decode()
    assert 'rel="describedby"' in h["link"] and "last-modified" in h and h["accept-ranges"] == "bytes"
    status, h2, out = S.http("HEAD", "/v1/workspaces/w/output/r.csv")
    assert status == 200 and out == b"" and h2["content-length"] == str(len(data)) and h2["etag"] == h["etag"]


def test_ranges_and_conditions():
    S.put("w", "input/digits", b"0123456789")
    etag = '"sha256:%s"' % sha256(b"0123456789")
    rows = [("bytes=0-3", 206, b"0123", "bytes 0-3/10"), ("bytes=4-", 206, b"456789", "bytes 4-9/10"), ("bytes=-2", 206, b"89", "bytes 8-9/10"),
            ("bytes=8-99", 206, b"89", "bytes 8-9/10"), ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"), ("bytes=10-", 416, None, "bytes */10"),
            ("bytes=-0", 416, None, "bytes */10"), ("bytes=3-1", 200, b"0123456789", None), ("bytes=0-1,3-4", 200, b"0123456789", None),
            ("lines=1-2", 200, b"0123456789", None), ("bytes=x", 200, b"0123456789", None), ("bytes=99999999999999999999999-", 200, b"0123456789", None)]
    for spec, want, body, content_range in rows:
        status, h, out = S.http("GET", F + "input/digits", headers={"Range": spec})
        assert status == want and h.get("content-range") == content_range, (spec, status, h)
        assert body is None or out == body, (spec, out)
    date = S.http("GET", F + "input/digits")[1]["last-modified"]
    rows = [({"If-None-Match": etag}, 304), ({"If-None-Match": "W/" + etag}, 304), ({"If-None-Match": '"x", ' + etag}, 304), ({"If-None-Match": "*"}, 304),
            ({"If-None-Match": '"x"'}, 200), ({"If-Match": etag}, 200), ({"If-Match": '"x"'}, 412), ({"If-Modified-Since": date}, 304),
            ({"Range": "bytes=0-0", "If-Range": etag}, 206), ({"Range": "bytes=0-0", "If-Range": '"x"'}, 200), ({"Range": "bytes=0-0", "If-Range": date}, 206),
            ({"If-Modified-Since": "rubbish"}, 200)]
    for headers, want in rows:
        status, h, out = S.http("GET", F + "input/digits", headers=headers)
        assert status == want, (headers, status)
        assert status != 304 or (out == b"" and h["etag"] == etag), (headers, h)
    assert S.http("HEAD", F + "input/digits", headers={"Range": "bytes=0-0"})[0] == 200
    assert S.http("GET", F + "input/empty", headers={"Range": "bytes=0-"})[0] in (200, 416)


def test_versions_by_number_and_hash():
    for text in ("v1", "v2"):
        S.step("w", "b", code="open('/workspace/output/v.txt', 'w').write(%r)" % text)
    O = "/v1/workspaces/w/output/v.txt"
    assert S.http("GET", O)[2] == b"v2"
    assert S.http("GET", O + "?version=1")[2] == b"v1" and S.http("GET", O + "?version=" + sha256(b"v1"))[2] == b"v1"
    assert S.http("GET", O + "?version=1")[1]["x-garth-version"] == "1"
    assert S.http("GET", O + "?version=3")[0] == 404 and S.http("GET", O + "?version=" + sha256(b"r"))[0] == 404
    assert S.http("GET", O + "?version=0")[0] == 400 and S.http("GET", O + "?version=-1")[0] == 400 and S.http("GET", O + "?version=x")[0] == 400
    rows = S.items("/v1/workspaces/w/artifacts?path=output/v.txt")
    assert [(r["version"], r["action"], r["newest"]) for r in rows] == [(1, "created", False), (2, "modified", True)], rows
    # the hash of another file is no way to it
    assert S.http("GET", O + "?version=" + sha256(b"three"))[0] == 404


def test_folders_are_lists():
    S.step("w", "a", code="import os\nos.makedirs('/workspace/output/d/e')\nopen('/workspace/output/d/f.csv','w').write('x')\nos.symlink('f.csv','/workspace/output/d/l')")
    j = S.json("GET", F + "output/d")
    got = {i["name"]: i for i in j["items"]}
    assert {n: i["type"] for n, i in got.items()} == {"e": "dir", "f.csv": "file", "l": "symlink"}, j
    f = got["f.csv"]
    assert f["size"] == 1 and f["agent"] == "a" and f["version"] == 1 and f["sha256"] == sha256(b"x") and f["step"].startswith("s_"), f
    assert got["e"]["size"] == 0
    assert {i["name"] for i in S.json("GET", "/v1/workspaces/w/files")["items"]} >= {"input", "output", "agents", "logs"}
    assert {i["name"] for i in S.json("GET", F + "output/d/")["items"]} == set(got)
    all_names = [i["name"] for i in S.json("GET", F + "output/d?limit=1")["items"]]
    assert all_names == ["e"]
    assert S.http("GET", F + "output/nothing")[0] == 404
    assert S.http("GET", F + "output/d/f.csv/x")[0] in (404, 409)
    assert S.http("GET", "/v1/workspaces/w/output/d")[0] == 200


def test_a_symlink_is_not_followed():
    S.step("w", "a", code="import os\nos.symlink('/etc/passwd','/workspace/output/pw')\nos.symlink('../agents/a/n.txt','/workspace/output/in')")
    for name in ("pw", "in"):
        status, _, out = S.http("GET", F + "output/" + name)
        assert status >= 400 and b"root:" not in out, (name, status, out[:100])


def test_links_are_for_one_version_and_a_time():
    j = S.json("POST", "/v1/workspaces/w/links", {"path": "output/v.txt"}, want=201)
    assert j["url"].startswith(S.url) and j["version"] == 2 and j["expires_at"].endswith("Z"), j
    path = j["url"][len(S.url):]

    def get(p, headers=None):
        import http.client
        c = http.client.HTTPConnection(S.host, S.port, timeout=20)
        c.request("GET", p, headers=headers or {})
        r = c.getresponse()
        out = r.status, r.read()
        c.close()
        return out

    assert get(path) == (200, b"v2")
    old = S.json("POST", "/v1/workspaces/w/links", {"path": "output/v.txt", "version": 1, "expires_s": 1}, want=201)["url"][len(S.url):]
    assert get(old) == (200, b"v1")
    assert get(path.replace("version=2", "version=1"))[0] == 403
    assert get(path.replace("v.txt", "r.csv"))[0] == 403
    assert get(path[:-1] + ("0" if path[-1] != "0" else "1"))[0] == 403
    assert get(path.split("&sig")[0])[0] == 401
    assert get(path.replace("expires=", "expires=9"))[0] == 403
    time.sleep(2.2)
    status, out = get(old)
    j = json.loads(out)
    assert status == 403 and j["code"] == "forbidden" and "expired" in j["detail"] and "new one" in j["hint"], j
    j = json.loads(get(path.replace("expires=", "expires=9"))[1])
    assert "signature" in j["detail"] and "new one" in j["hint"], j
    assert get(path.replace("made=", "made=9"))[0] == 403
    for bad, want in (({"path": "input/t.csv"}, 400), ({"path": "output/none"}, 404), ({"path": "output/v.txt", "version": 9}, 404), ({"path": "output/v.txt", "expires_s": 0}, 400), ({}, 400)):
        S.json("POST", "/v1/workspaces/w/links", bad, want=want)


def test_a_link_is_of_one_workspace_not_of_its_name():
    def made():
        S.workspace("again", ("a",), POLICY)
        S.step("again", "a", code="open('/workspace/output/f','w').write('x')")
        return S.json("POST", "/v1/workspaces/again/links", {"path": "output/f"}, want=201)["url"][len(S.url):]

    def get(path):
        c = http.client.HTTPConnection(S.host, S.port, timeout=20)
        c.request("GET", path)
        r = c.getresponse()
        out = r.status, r.read()
        c.close()
        return out

    old = made()
    assert get(old) == (200, b"x")
    assert S.http("DELETE", "/v1/workspaces/again")[0] == 204
    new = made()
    assert get(new) == (200, b"x")
    status, out = get(old)
    assert status == 403 and "earlier workspace" in json.loads(out)["detail"], (status, out)


def test_a_condition_that_fails_early_knows_no_hash_of_the_body():
    for name in ("input/none", "input/t.csv"):
        status, _, out = S.http("PUT", F + name, b"x", headers={"If-Match": '"sha256:%s"' % ("0" * 64)})
        j = json.loads(out)
        assert status == 412 and j["sent_sha256"] in (None, sha256(b"x")), j
        assert name != "input/none" or j["sent_sha256"] is None, j


def test_a_slow_client_harms_nobody():
    slow = [raw(head("PUT", F + "input/slow%d" % i, Content_Length=1000) + b"x", end=False) for i in range(40)]
    slow += [raw(b"GET /healthz HTTP/1.1\r\nHost:", end=False) for i in range(40)]
    start = time.time()
    assert S.http("GET", "/healthz")[0] == 200
    S.put("w", "input/fast", b"fast")
    assert time.time() - start < 5
    [c.close() for c in slow]


def test_a_download_that_stops_halfway_harms_nobody():
    S.step("w", "a", code="open('/workspace/output/big', 'wb').write(bytes(50 << 20))")
    c = raw(head("GET", "/v1/workspaces/w/output/big"), end=False)
    c.recv(1000)
    start = time.time()
    assert S.http("GET", "/healthz")[0] == 200 and time.time() - start < 2
    c.close()
    status, h, out = S.http("GET", "/v1/workspaces/w/output/big")
    assert status == 200 and len(out) == 50 << 20 and sha256(out) in h["etag"]


def test_the_record_verifies():
    j = S.verify("w")
    assert j["ok"] and j["events"] > 50 and j["objects"] > 5, j


run(*[f for n, f in list(globals().items()) if n.startswith("test_")])
