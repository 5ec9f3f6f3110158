#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What docs/ promises by name against the code: closed lists, rules, problem codes, routes and their roles; and no link leads nowhere."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from garthtest import run

SRC = os.path.normpath(os.path.join(HERE, "..", ".."))
READ = ("admin", "auditor", "agent")
ROLES = {
    "ACCESS_OPEN": {"none"}, "ACCESS_ADMIN": {"admin"}, "ACCESS_KEY": {"any"}, "ACCESS_READ": set(READ), "ACCESS_WORK": {"admin", "agent"},
    "ACCESS_FILES": set(READ) | {"reader"}, "ACCESS_OUTPUT": {"any"}, "ACCESS_AUDIT": {"admin", "auditor"},
}


def text(name):
    with open(os.path.join(SRC, name), encoding="utf-8") as f:
        return f.read()


def section(heading):
    """of docs/API.md, to the next heading"""
    found = re.search(r"^#+ %s\n(.*?)(?=^#|\Z)" % re.escape(heading), text("docs/API.md"), re.S | re.M)
    assert found, "docs/API.md has no section %s" % heading
    return found.group(1)


def ticked(cell):
    return re.findall(r"`([^`]+)`", cell)


def rows(part, pattern):
    out = re.findall(pattern, part, re.M)
    assert out, "nothing fits %s" % pattern
    return out


def in_code(function):
    """the texts of one table of core/event_text.c"""
    found = re.search(r"\*%s\(.*?\n\}" % function, text("core/event_text.c"), re.S)
    assert found, "core/event_text.c has no %s" % function
    return set(re.findall(r'\] = "([^"]+)"', found.group(0)))


def same(what, said, true):
    assert said and set(said) == set(true), "%s: only said %s, only true %s" % (what, sorted(set(said) - set(true)), sorted(set(true) - set(said)))
    assert len(said) == len(set(said)), "%s: said twice" % what


def test_the_closed_lists_are_those_of_the_record():
    lists = dict((name, ticked(values)) for name, values in rows(section("Closed lists"), r"^\| (`\w+`[^|]*) \| (.*) \|$"))
    for name, function in (
        ("`op`", "ev_op_text"), ("`action`", "ev_action_text"), ("`state` of a version", "ev_state_text"), ("`kind` of a step", "ev_step_kind_text"),
        ("`reason`", "ev_reason_text"),
    ):
        same(name, lists[name], in_code(function))
    same("role", lists["`role`"], re.findall(r'"(reader|auditor|agent|admin)"', text("api/keys.c")))


def test_the_rules_are_those_of_the_policy():
    true = set(re.findall(r'^\t\t\{ "([a-z.]+)",', text("policy/explain.c"), re.M)) | {"rules[N]"}
    decided = set(re.findall(r'"((?:input|task|output|area|agents|logs|root|special|xattr)\.[a-z]+|operator)"', text("policy/decide.c")))
    said = [v for name, values in rows(section("Closed lists"), r"^\| (`rule`) \| (.*) \|$") for v in ticked(values)]
    same("docs/API.md rule", said, true)
    table = re.search(r"^## Names of rules\n(.*?)^## ", text("docs/POLICY.md"), re.S | re.M).group(1)
    same("docs/POLICY.md rule", [v for cell in rows(table, r"^\| (`[^|]*) \| ") for v in ticked(cell)], true)
    assert decided and decided < true, decided - true


def test_the_problem_codes_are_those_that_are_sent():
    said = [(status, code) for status, cell in rows(section("Problems"), r"^\| (\d{3}) \| (.*) \|$") for code in ticked(cell)]
    same("code", said, set(re.findall(r'\{ (\d{3}), "([a-z_]+)"', text("api/problem.c"))))


def test_the_calls_are_those_that_are_served():
    true, said = {}, {}
    for method, ws, path, access in re.findall(r'^\t\{ "([A-Z]+)", (WS)? ?(?:"([^"]*)")?, (ACCESS_\w+),', text("api/route.c"), re.M):
        true[method, ("/v1/workspaces/{w}" if ws else "") + path.replace("{*}", "{path}")] = ROLES[access]
    server, workspace = section("Calls").split("goes before them", 1)
    for part, before in ((server, ""), (workspace, "/v1/workspaces/{w}")):
        for method, path, roles in rows(part, r"^\| `([A-Z]+) ([^` ]+)` \| ([^|]+) \|"):
            said[method, before + path] = set(re.findall(r"\b(none|any|admin|auditor|agent|reader)\b", roles))
    same("call", list(said), true)
    wrong = [(k, said[k], true[k]) for k in true if said[k] != true[k]]
    assert not wrong, wrong


def test_no_link_of_the_docs_leads_nowhere():
    names = ["README.md", "examples/weather/README.md"] + ["docs/" + n for n in os.listdir(os.path.join(SRC, "docs")) if n.endswith(".md")]
    links = [(n, l) for n in names for l in re.findall(r"\]\(([^)#:]+)\)", text(n))]
    assert len(links) > 10, links
    gone = [(n, l) for n, l in links if not os.path.exists(os.path.join(SRC, os.path.dirname(n), l))]
    assert not gone, gone


run(
    test_the_closed_lists_are_those_of_the_record,
    test_the_rules_are_those_of_the_policy,
    test_the_problem_codes_are_those_that_are_sent,
    test_the_calls_are_those_that_are_served,
    test_no_link_of_the_docs_leads_nowhere,
)
