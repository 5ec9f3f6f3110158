#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 180
"""An agent's key gives nothing that its modes keep from the agent on the mount: files, folders, older versions. Nor does a move give away or take."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from garthtest import Server, run

server = None
keys = {}
F = "/v1/workspaces/w/files/"


def get(path, who=None):
    status, _, out = server.http("GET", F + path, key=keys.get(who))
    return status, out


def names(path, who=None):
    status, out = get(path, who)
    return [e["name"] for e in json.loads(out)["items"]] if status == 200 else status


def do(agent, code):
    a = server.step("w", agent, "import os\nos.chdir('/workspace')\n" + code)
    assert a["exit_code"] == 0, a
    return a


def test_setup():
    global server
    server = Server()
    server.workspace(agents=("a", "b"))
    for n in ("a", "b"):
        keys[n] = server.json("POST", "/v1/keys", {"role": "agent", "workspace": "w", "agent": n})["key"]
    do("b", """
def put(p, text, mode):
    with open(p, 'w') as f: f.write(text)
    os.chmod(p, mode)
put('agents/b/open', 'o', 0o644)
put('agents/b/secret', 's', 0o600)
put('output/secret', 's1', 0o600)
os.mkdir('agents/b/closed'); put('agents/b/closed/f', 'c', 0o644)
os.mkdir('agents/b/closed/deeper'); put('agents/b/closed/deeper/g', 'd', 0o644); os.chmod('agents/b/closed', 0o700)
os.mkdir('agents/b/blind'); put('agents/b/blind/f', 'b', 0o644); os.chmod('agents/b/blind', 0o711)
""")


def test_what_is_open_is_given():
    assert get("agents/b/open", "a") == (200, b"o")
    assert set(names("agents/b", "a")) == {"open", "secret", "closed", "blind"}


def test_a_file_of_another_that_is_0600_is_refused():
    for path in ("agents/b/secret", "output/secret", "output/secret?version=1"):
        assert get(path, "a")[0] == 403, (path, get(path, "a"))
        assert get(path, "b")[0] == 200 and get(path)[0] == 200, path


def test_what_is_in_a_0700_folder_is_refused():
    assert get("agents/b/closed/f", "a")[0] == 403
    assert get("agents/b/closed/f", "b") == (200, b"c")
    assert get("agents/b/closed/f") == (200, b"c")
    assert get("agents/b/closed/deeper/g", "a")[0] == 403
    assert names("agents/b/closed", "a") == 403, names("agents/b/closed", "a")
    assert names("agents/b/closed", "b") == ["deeper", "f"]
    assert names("agents/b/closed") == ["deeper", "f"]
    assert names("agents/b/closed/deeper", "a") == 403


def test_a_folder_without_read_is_not_listed_and_its_files_are_read():
    # on a group without r but with x: 0711
    assert names("agents/b/blind", "a") == 403
    assert get("agents/b/blind/f", "a") == (200, b"b")


def test_a_recursive_listing_passes_over_what_is_closed():
    got = set(names("agents/b?recursive=1", "a"))
    assert "open" in got and "closed" in got and not any(n.startswith("closed/") or n.startswith("blind/") for n in got), got
    assert "closed/deeper/g" in names("agents/b?recursive=1", "b")
    assert "closed/deeper/g" in names("agents/b?recursive=1")


def test_an_older_version_has_the_mode_it_had():
    do("b", "os.chmod('output/secret', 0o644); open('output/secret', 'w').write('public')")
    assert get("output/secret", "a") == (200, b"public")
    assert get("output/secret?version=2", "a") == (200, b"public")
    do("b", "open('output/late', 'w').write('private'); os.chmod('output/late', 0o600)")
    do("b", "open('output/late', 'w').write('public'); os.chmod('output/late', 0o644)")
    assert get("output/late", "a") == (200, b"public")
    assert get("output/late?version=1", "a")[0] == 403, get("output/late?version=1", "a")
    assert get("output/late?version=1", "b") == (200, b"private")


def test_a_version_of_a_file_that_is_gone_has_the_mode_it_had():
    do("b", "open('output/gone', 'w').write('private'); os.chmod('output/gone', 0o600)")
    do("b", "os.unlink('output/gone')")
    assert get("output/gone?version=1", "a")[0] == 403, get("output/gone?version=1", "a")
    assert get("output/gone?version=1", "b") == (200, b"private")
    assert get("output/gone?version=1") == (200, b"private")


def test_other_roles_read_as_before():
    for role in ("auditor", "reader"):
        k = server.json("POST", "/v1/keys", {"role": role, "workspace": "w"})["key"]
        assert server.http("GET", F + "output/secret?version=1", key=k)[0] == 200, role


def test_a_move_takes_nothing_from_its_owner():
    do("b", "os.mkdir('output/d'); open('output/d/f', 'w').write('1'); open('output/g', 'w').write('1')")
    a = do("a", """
import ctypes, errno, shutil
def why(fn, *args):
    try:
        fn(*args)
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
def exchange(x, y):
    if ctypes.CDLL(None, use_errno=True).syscall(316 if os.uname().machine == 'x86_64' else 276, -100, x.encode(), -100, y.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), 'exchange')
open('agents/a/mine', 'w').write('m')
os.mkdir('output/mine')
print(why(os.rename, 'output/d', 'agents/a/d'), why(os.rename, 'output/g', 'agents/a/g'), why(exchange, 'agents/a/mine', 'output/g'),
      why(os.rename, 'output/g', 'output/h'), why(os.rename, 'output/d', 'output/e'), why(os.rename, 'output/mine', 'agents/a/dir'),
      why(os.rename, 'output/h', 'output/e/h'), why(shutil.move, 'output/e/h', 'agents/a/copy'))
""")
    assert a["stdout"].split() == ["EXDEV", "EXDEV", "EXDEV", "ok", "ok", "ok", "ok", "ok"], a["stdout"]
    do("a", "os.mkdir('output/ours'); os.chmod('output/ours', 0o775)")
    do("b", "open('output/ours/f', 'w').write('1')")
    a = do("a", "try: os.rename('output/ours', 'agents/a/ours')\nexcept OSError as e: print(e.errno)")
    assert a["stdout"].strip() == "18", a["stdout"]  # EXDEV: what is in it would be taken too
    b = do("b", "open('output/e/f', 'a').write('2')")
    assert not b["violations"], b
    assert server.get("w", "agents/a/copy") == b"1"


def test_the_record_verifies():
    assert server.verify("w")["ok"]


run(test_setup, test_what_is_open_is_given, test_a_file_of_another_that_is_0600_is_refused, test_what_is_in_a_0700_folder_is_refused,
    test_a_folder_without_read_is_not_listed_and_its_files_are_read, test_a_recursive_listing_passes_over_what_is_closed,
    test_an_older_version_has_the_mode_it_had, test_a_version_of_a_file_that_is_gone_has_the_mode_it_had, test_other_roles_read_as_before,
    test_a_move_takes_nothing_from_its_owner, test_the_record_verifies)
