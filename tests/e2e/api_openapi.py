#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The server against docs/openapi.yaml: the same routes, the same queries, answers of the shape it promises; and who may do what."""
import http.client
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from garthtest import Server, SkipTest, run

try:
    import yaml
except ImportError:
    print("SKIP api_openapi: PyYAML is not installed")
    sys.exit(0)

SRC = os.path.join(HERE, "..", "..")
DOC = yaml.safe_load(open(os.path.join(SRC, "docs", "openapi.yaml")))
S = Server()
KEYS = {}


def deref(x):
    while isinstance(x, dict) and "$ref" in x:
        ref, x = x["$ref"], DOC
        for part in ref[2:].split("/"):
            x = x[part]
    return x


TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def check(v, schema, where="answer"):
    """the part of JSON Schema that the document uses; raises with the place"""
    schema = deref(schema)
    for s in schema.get("allOf", []):
        check(v, s, where)
    if "anyOf" in schema:
        for s in schema["anyOf"]:
            try:
                check(v, s, where)
                break
            except AssertionError:
                continue
        else:
            raise AssertionError("%s: %r fits none" % (where, v))
    if "const" in schema:
        assert v == schema["const"], "%s: %r is not %r" % (where, v, schema["const"])
    if "enum" in schema:
        assert v in schema["enum"], "%s: %r is not one of %r" % (where, v, schema["enum"])
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        good = [t for t in types if isinstance(v, TYPES[t]) and not (isinstance(v, bool) and t in ("integer", "number"))]
        assert good, "%s: %r is no %s" % (where, v, types)
    if isinstance(v, str) and "pattern" in schema:
        assert re.search(schema["pattern"], v), "%s: %r does not fit %s" % (where, v, schema["pattern"])
    if isinstance(v, str) and "maxLength" in schema:
        assert len(v) <= schema["maxLength"], where
    if isinstance(v, dict):
        for k in schema.get("required", []):
            assert k in v, "%s: %r is missing" % (where, k)
        for k, s in schema.get("properties", {}).items():
            if k in v:
                check(v[k], s, where + "." + k)
        if "properties" in schema and schema.get("type") == "object" and schema.get("additionalProperties") is not True and where.count(".") < 9:
            known = set(schema["properties"])
            EXTRA.update((where.split("[")[0], k) for k in set(v) - known)
    if isinstance(v, list) and "items" in schema:
        for i, x in enumerate(v):
            check(x, schema["items"], "%s[%d]" % (where, i))


EXTRA = set()


def code_routes():
    text = open(os.path.join(SRC, "api", "route.c")).read()
    table = text[text.index("routes[] = {"):text.index("#define ROUTES")]
    defs = dict(re.findall(r'#define (\w+) (.*)', text))
    out = {}
    for row in re.findall(r"\{\s*(\"(?:GET|PUT|POST|DELETE)\".*?)\},?\s*(?=\{|\};)", table, re.S):
        parts = [p.strip() for p in re.split(r",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", row)]

        def text_of(s):
            return "".join(m[1] if m[1] is not None else text_of(defs[m[2]]) for m in re.finditer(r'"([^"]*)"|(\b[A-Z_]+\b)', s)).strip()

        out[(text_of(parts[0]), text_of(parts[1]))] = set(text_of(parts[3]).split())
    return out


def doc_routes():
    out = {}
    for path, item in DOC["paths"].items():
        for method in ("get", "put", "post", "delete"):
            if method in item:
                params = [deref(p) for p in item.get("parameters", []) + item[method].get("parameters", [])]
                out[(method.upper(), path.replace("{path}", "{*}"))] = {p["name"] for p in params if p["in"] == "query"}
    return out


def call(op, path, body=None, key=None, headers=None, want=None):
    """by the document's method and path; the answer is checked against it"""
    method, template = op
    status, h, out = S.http(method, path, body, headers, key)
    item = DOC["paths"][template]
    responses = item[method.lower()]["responses"]
    assert want is None or status == want, (op, path, status, out[:300])
    kind = h.get("content-type", "").split(";")[0]
    if kind == "application/problem+json":
        check(json.loads(out), DOC["components"]["schemas"]["Problem"], "%s %s %d" % (method, template, status))
        return status, json.loads(out)
    assert str(status) in responses, "%s %s answered %d: not in the document: %s" % (method, template, status, out[:200])
    content = deref(responses[str(status)]).get("content", {})
    if kind == "application/json" and out:
        schema = content["application/json"]["schema"]
        check(json.loads(out), schema, "%s %s" % (method, template))
        return status, json.loads(out)
    return status, out


W = "/v1/workspaces/{w}"


def test_code_and_document_name_the_same_routes():
    code, doc = code_routes(), doc_routes()
    assert len(code) > 30, code
    assert set(code) == set(doc), {"only in code": set(code) - set(doc), "only in the document": set(doc) - set(code)}
    for k in code:
        assert code[k] == doc[k], (k, code[k] ^ doc[k])


def test_the_served_document_is_this_one():
    assert S.http("GET", "/openapi.yaml")[2] == open(os.path.join(SRC, "docs", "openapi.yaml"), "rb").read()


def test_every_route_answers_as_promised():
    call(("POST", "/v1/workspaces"), "/v1/workspaces", {"name": "w", "agents": ["a", "b"], "policy": "version: 1\n"}, want=201)
    for p in ("/healthz", "/readyz", "/version"):
        call(("GET", p), p, want=200)
    assert b"garth_steps_open" in S.http("GET", "/metrics")[2]
    call(("GET", "/v1/workspaces"), "/v1/workspaces", want=200)
    call(("GET", W), "/v1/workspaces/w", want=200)
    call(("POST", W + "/agents"), "/v1/workspaces/w/agents", {"name": "c"}, want=201)
    call(("POST", W + "/agents"), "/v1/workspaces/w/agents", {"name": "c"}, want=409)
    call(("GET", W + "/agents"), "/v1/workspaces/w/agents", want=200)
    call(("PUT", W + "/policy"), "/v1/workspaces/w/policy", b"version: 1\nlimits: { step: { timeout: 20s } }\n", want=200)
    status, j = call(("PUT", W + "/policy"), "/v1/workspaces/w/policy", b"version: 1\nlimitz: 1\n", want=400)
    assert "line 2" in j["detail"], j
    assert S.http("GET", "/v1/workspaces/w/policy")[2] == b"version: 1\nlimits: { step: { timeout: 20s } }\n"
    call(("GET", W + "/policy/explain"), "/v1/workspaces/w/policy/explain?agent=a&op=write&path=input/x", want=200)
    call(("PUT", W + "/files/{path}"), "/v1/workspaces/w/files/input/x.csv", b"1", want=201)
    call(("PUT", W + "/files/{path}"), "/v1/workspaces/w/files/input/x.csv", b"2", want=200)
    call(("GET", W + "/files"), "/v1/workspaces/w/files", want=200)
    call(("GET", W + "/files/{path}"), "/v1/workspaces/w/files/input", want=200)
    code = "print(open('/workspace/input/x.csv').read())\nopen('/workspace/output/y.csv', 'w').write('y')\ntry:\n    open('/workspace/agents/b/n', 'w')\nexcept OSError as e:\n    print(e)\n"
    status, step = call(("POST", W + "/steps"), "/v1/workspaces/w/steps", {"agent": "a", "code": code, "language": "python"}, want=200)
    assert len(step["violations"]) == 1 and len(step["artifacts"]) == 1 and step["reads"] == 1, step
    call(("POST", W + "/steps"), "/v1/workspaces/w/steps", {"agent": "a", "argv": ["sh", "-c", "exit 3"]}, want=200)
    call(("POST", W + "/steps"), "/v1/workspaces/w/steps", {"agent": "a", "code": "1/0"}, want=200)
    status, j = call(("POST", W + "/steps"), "/v1/workspaces/w/steps", {"agent": "a", "argv": ["sleep", "20"]}, headers={"Prefer": "respond-async"}, want=202)
    call(("GET", W + "/steps"), "/v1/workspaces/w/steps?state=open", want=200)
    call(("DELETE", W + "/steps/{id}"), "/v1/workspaces/w/steps/" + j["step"], want=202)
    call(("GET", W + "/steps"), "/v1/workspaces/w/steps", want=200)
    call(("GET", W + "/steps/{id}"), "/v1/workspaces/w/steps/" + step["step"], want=200)
    call(("GET", W + "/steps/{id}/stdout"), "/v1/workspaces/w/steps/%s/stdout" % step["step"], want=200)
    call(("GET", W + "/steps/{id}/stderr"), "/v1/workspaces/w/steps/%s/stderr" % step["step"], want=200)
    status, sb = call(("POST", W + "/sandboxes"), "/v1/workspaces/w/sandboxes", {"agent": "a", "lifetime_s": 30}, want=201)
    call(("GET", W + "/sandboxes"), "/v1/workspaces/w/sandboxes", want=200)
    call(("GET", W + "/sandboxes/{id}"), "/v1/workspaces/w/sandboxes/" + sb["id"], want=200)
    call(("DELETE", W + "/sandboxes/{id}"), "/v1/workspaces/w/sandboxes/" + sb["id"], want=204)
    call(("GET", W + "/output"), "/v1/workspaces/w/output", want=200)
    call(("GET", W + "/output/{path}"), "/v1/workspaces/w/output/y.csv", want=200)
    call(("GET", W + "/artifacts"), "/v1/workspaces/w/artifacts?path=output/y.csv", want=200)
    call(("GET", W + "/violations"), "/v1/workspaces/w/violations?agent=a", want=200)
    status, g = call(("GET", W + "/lineage"), "/v1/workspaces/w/lineage?path=output/y.csv", want=200)
    assert {n["kind"] for n in g["nodes"]} == {"version", "step", "agent"} and {e["kind"] for e in g["edges"]} == {"used", "generated", "associated"}, g
    assert {n.get("path") for n in g["nodes"] if n["kind"] == "version"} == {"output/y.csv", "input/x.csv"}, g
    status, g = call(("GET", W + "/lineage"), "/v1/workspaces/w/lineage?path=input/x.csv&direction=downstream", want=200)
    assert "output/y.csv" in {n.get("path") for n in g["nodes"]}, g
    call(("POST", W + "/links"), "/v1/workspaces/w/links", {"path": "output/y.csv"}, want=201)
    call(("GET", W + "/audit/verify"), "/v1/workspaces/w/audit/verify", want=200)
    assert S.http("GET", "/v1/workspaces/w/audit/export")[0] == 200
    status, k = call(("POST", "/v1/keys"), "/v1/keys", {"role": "reader", "workspace": "w", "label": "x"}, want=201)
    call(("GET", "/v1/keys"), "/v1/keys", want=200)
    call(("DELETE", "/v1/keys/{id}"), "/v1/keys/" + k["id"], want=204)
    call(("DELETE", "/v1/keys/{id}"), "/v1/keys/" + k["id"], want=404)
    assert not EXTRA, "members that the document does not name: %s" % sorted(EXTRA)


def test_what_is_not_there_is_404_or_405_and_a_problem():
    rows = [("GET", "/", 404), ("GET", "/v2/x", 404), ("GET", "/v1/workspaces/none", 404), ("PATCH", "/v1/workspaces", 405), ("DELETE", "/healthz", 405), ("POST", "/v1/workspaces/w", 405),
            ("GET", "/v1/workspaces/W%20x", 404), ("GET", "/v1/workspaces/w/steps?colour=1", 400), ("GET", "/v1/workspaces/w/steps?limit=0", 400), ("GET", "/v1/workspaces/w/steps?limit=x", 400),
            ("GET", "/v1/workspaces/w/artifacts?step=x", 404), ("GET", "/v1/workspaces/w/violations?since=yesterday", 400), ("GET", "/v1/workspaces/w/lineage", 400),
            ("GET", "/v1/workspaces/w/lineage?path=output/none", 404), ("GET", "/v1/workspaces/w/lineage?path=output/y.csv&direction=up", 400), ("GET", "/v1/workspaces/w/steps?limit=1&limit=2", 400)]
    for method, path, want in rows:
        status, h, out = S.http(method, path)
        assert status == want and h["content-type"] == "application/problem+json" and h["x-request-id"], (method, path, status, out[:200])
        check(json.loads(out), DOC["components"]["schemas"]["Problem"], path)
        assert status != 405 or "allow" in h
    status, h, out = S.http("GET", "/healthz", headers={"X-Request-Id": "my-id.1"})
    assert h["x-request-id"] == "my-id.1"
    status, h, out = S.http("GET", "/healthz", headers={"X-Request-Id": "x" * 100})
    assert h["x-request-id"].startswith("r_")


def test_bodies_of_workspaces_and_keys_are_strict():
    rows = [("/v1/workspaces", {}), ("/v1/workspaces", {"name": "UP"}), ("/v1/workspaces", {"name": "x", "agents": ["operator"]}), ("/v1/workspaces", {"name": "x", "agents": ["a", "a"]}),
            ("/v1/workspaces", {"name": "x", "agents": [1]}), ("/v1/workspaces", {"name": "x", "more": 1}), ("/v1/workspaces", {"name": "x", "policy": "version: 1\nbad: 2\n"}),
            ("/v1/keys", {}), ("/v1/keys", {"role": "king"}), ("/v1/keys", {"role": "agent", "workspace": "w"}), ("/v1/keys", {"role": "reader"}), ("/v1/keys", {"role": "admin", "workspace": "w"}),
            ("/v1/keys", {"role": "reader", "workspace": "w", "agent": "a"}), ("/v1/keys", {"role": "reader", "workspace": "w", "label": "a b"}),
            ("/v1/workspaces/w/agents", {"name": "../x"}), ("/v1/workspaces/w/agents", {"name": "operator"}), ("/v1/workspaces/w/sandboxes", {"agent": "a", "lifetime_s": 0})]
    for path, body in rows:
        status, h, out = S.http("POST", path, body)
        assert status == 400, (path, body, status, out)
    assert S.http("POST", "/v1/workspaces", {"name": "w"})[0] == 409
    assert S.http("POST", "/v1/keys", {"role": "agent", "workspace": "w", "agent": "nobody"})[0] == 404
    assert S.http("POST", "/v1/keys", {"role": "reader", "workspace": "none"})[0] == 404
    assert [w["name"] for w in S.json("GET", "/v1/workspaces")["items"]] == ["w"]


def test_roles_may_what_the_contract_says():
    S.workspace("v", ("a",))
    for name, body in (("admin", {"role": "admin"}), ("agent", {"role": "agent", "workspace": "w", "agent": "a"}), ("auditor", {"role": "auditor", "workspace": "w"}),
                       ("reader", {"role": "reader", "workspace": "w"}), ("other", {"role": "auditor", "workspace": "v"})):
        KEYS[name] = S.json("POST", "/v1/keys", body)["key"]
    step = S.step("w", "b", argv=["true"])["step"]
    mine = S.step("w", "a", argv=["true"])["step"]
    P = "/v1/workspaces/w"
    rows = [  # method, path, body, then the status for admin, agent, auditor, reader, a key of another workspace
        ("GET", P, None, 200, 200, 200, 403, 404), ("GET", P + "/output/y.csv", None, 200, 200, 200, 200, 404), ("GET", P + "/files/output/y.csv", None, 200, 200, 200, 200, 404),
        ("GET", P + "/output", None, 200, 200, 200, 200, 404), ("GET", P + "/files/input/x.csv", None, 200, 200, 200, 403, 404), ("GET", P + "/files", None, 200, 200, 200, 403, 404),
        ("GET", P + "/artifacts", None, 200, 200, 200, 403, 404), ("GET", P + "/violations", None, 200, 200, 200, 403, 404), ("GET", P + "/policy", None, 200, 200, 200, 403, 404),
        ("GET", P + "/steps", None, 200, 200, 200, 403, 404), ("GET", P + "/steps/" + step, None, 200, 404, 200, 403, 404), ("GET", P + "/steps/" + mine, None, 200, 200, 200, 403, 404),
        ("GET", P + "/steps/%s/stdout" % step, None, 200, 404, 200, 403, 404), ("GET", P + "/files/logs/%s/stdout" % step, None, 200, 404, 200, 403, 404),
        ("GET", P + "/lineage?path=output/y.csv", None, 200, 200, 200, 403, 404), ("GET", P + "/audit/verify", None, 200, 403, 200, 403, 404),
        ("POST", P + "/steps", {"agent": "a", "argv": ["true"]}, 200, 200, 403, 403, 404), ("POST", P + "/steps", {"agent": "b", "argv": ["true"]}, 200, 403, 403, 403, 404),
        ("POST", P + "/steps", {"argv": ["true"]}, 400, 200, 403, 403, 404), ("POST", P + "/agents", {"name": "nn"}, None, 403, 403, 403, 404),
        ("PUT", P + "/files/agents/a/k", b"k", None, 201, 403, 403, 404), ("PUT", P + "/files/agents/a/k?agent=a", b"k", 200, 200, 403, 403, 404),
        ("PUT", P + "/files/agents/b/k?agent=b", b"k", 201, 403, 403, 403, 404), ("PUT", P + "/files/input/k", b"k", 201, 403, 403, 403, 404),
        ("PUT", P + "/policy", b"version: 1\n", 200, 403, 403, 403, 404), ("POST", P + "/links", {"path": "output/y.csv"}, 201, 201, 403, 403, 404),
        ("GET", "/v1/keys", None, 200, 403, 403, 403, 403), ("POST", "/v1/keys", {"role": "admin"}, 201, 403, 403, 403, 403), ("POST", "/v1/workspaces", {"name": "z"}, 201, 403, 403, 403, 403),
        ("DELETE", P, None, None, 403, 403, 403, 404), ("GET", "/v1/workspaces", None, 200, 200, 200, 200, 200), ("GET", "/metrics", None, 200, 403, 403, 403, 403),
    ]
    for row in rows:
        method, path, body = row[:3]
        for name, want in zip(("admin", "agent", "auditor", "reader", "other"), row[3:]):
            if want is None:
                continue
            status, h, out = S.http(method, path, body, key=KEYS[name])
            assert status == want, (name, method, path, status, "not", want, out[:200])
    assert [w["name"] for w in S.json("GET", "/v1/workspaces", key=KEYS["reader"])["items"]] == ["w"]
    assert {s["agent"] for s in S.json("GET", P + "/steps", key=KEYS["agent"])["items"]} == {"a"}


def test_keys_open_what_they_should_and_no_more():
    def bare(headers):
        c = http.client.HTTPConnection(S.host, S.port, timeout=20)
        c.request("GET", "/v1/workspaces", headers=headers)
        r = c.getresponse()
        r.read()
        c.close()
        return r.status, r.getheader("WWW-Authenticate")

    assert bare({"X-API-Key": S.key})[0] == 200 and bare({"Authorization": "bearer " + S.key})[0] == 200
    for h in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"}, {"Authorization": "Basic " + S.key}, {"X-API-Key": S.key + "x"}, {"X-API-Key": S.key[:-1]}, {"X-API-Key": "x" * 5000}):
        status, www = bare(h)
        assert status == 401 and www, (h, status)
    k = S.json("POST", "/v1/keys", {"role": "admin", "label": "short-lived"})
    assert S.http("GET", "/v1/workspaces", key=k["key"])[0] == 200
    text = open(os.path.join(S.data, "keys")).read()
    assert k["key"] not in text and S.key not in text and k["id"] in text
    S.http("DELETE", "/v1/keys/" + k["id"])
    assert S.http("GET", "/v1/workspaces", key=k["key"])[0] == 401
    assert "short-lived" not in json.dumps(S.items("/v1/keys"))


def test_pages_are_whole_and_without_repeats():
    for path in ("/steps", "/artifacts", "/violations", "/agents"):
        all_ = S.json("GET", "/v1/workspaces/w%s?limit=1000" % path)["items"]
        assert all_, path
        got, cursor = [], None
        while True:
            page = S.json("GET", "/v1/workspaces/w%s?limit=1%s" % (path, "&cursor=" + cursor if cursor else ""))
            got += page["items"]
            cursor = page["next"]
            if not cursor:
                break
        assert got == all_, (path, len(got), len(all_))


def test_an_export_is_a_tar_that_verifies_elsewhere():
    import io
    import subprocess
    import tarfile
    import tempfile
    from garthtest import BIN
    status, h, out = S.http("GET", "/v1/workspaces/w/audit/export")
    assert status == 200 and h["content-type"] == "application/x-tar"
    with tempfile.TemporaryDirectory() as d:
        tarfile.open(fileobj=io.BytesIO(out)).extractall(d)
        assert os.path.exists(d + "/w/index.db") and os.listdir(d + "/w/objects")
        p = subprocess.run([BIN + "/garth", "audit", "verify", d + "/w", "--json"], capture_output=True)
        assert p.returncode == 0 and json.loads(p.stdout)["ok"], p
        obj = d + "/w/objects/" + sorted(os.listdir(d + "/w/objects"))[0]
        os.chmod(obj, 0o644)
        open(obj, "ab").write(b"x")
        p = subprocess.run([BIN + "/garth", "audit", "verify", d + "/w", "--json"], capture_output=True)
        assert p.returncode == 1, p


def test_a_workspace_is_removed_whole_and_its_name_is_free_again():
    S.workspace("gone", ("a",))
    S.step("gone", "a", argv=["sh", "-c", "echo x > /workspace/output/x"])
    assert S.http("DELETE", "/v1/workspaces/gone")[0] == 204
    assert S.http("GET", "/v1/workspaces/gone")[0] == 404 and S.http("DELETE", "/v1/workspaces/gone")[0] == 404
    assert not os.path.exists(S.data + "/workspaces/gone") and not [m for m in S.mounts() if "/gone" in m]
    S.workspace("gone", ("b",))
    assert S.json("GET", "/v1/workspaces/gone/steps")["items"] == []
    assert S.step("gone", "b", argv=["ls", "/workspace/output"])["stdout"] == ""
    assert S.http("DELETE", "/v1/workspaces/gone")[0] == 204


run(*[f for n, f in list(globals().items()) if n.startswith("test_")])
