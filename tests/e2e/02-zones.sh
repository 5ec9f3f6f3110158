#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 300
#
# 02-zones.sh - each rule of the table of zones, tried from inside a real sandbox, and the record's count of what was refused.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# The files that are tried: everybody may do anything by mode bits, so that what is refused is refused by policy.
lay_out='
import os
os.umask(0)
me = os.environ["GARTH_AGENT"]
for top in os.environ["TOPS"].split():
    os.makedirs(f"/workspace/{top}/dir/empty", exist_ok=True)
    open(f"/workspace/{top}/dir/f", "w").write("given")
    os.chmod(f"/workspace/{top}/dir", 0o777)
    os.chmod(f"/workspace/{top}/dir/empty", 0o777)
    os.chmod(f"/workspace/{top}/dir/f", 0o666)
open(f"/workspace/output/{me}.txt", "w").write(me)
print("foreign log")
'

server_start
garth init w --agent a --agent b || exit 1
export GARTH_WORKSPACE=w
mkdir -p "$TMP/in/dir/empty" && echo given >"$TMP/in/dir/f" && echo x >"$TMP/in/dir/empty/.keep"
status lay_out_input 0 garth put -r "$TMP/in/dir" input/
status lay_out_b 0 garth run -a b --json --env TOPS=agents/b -c "$lay_out"
foreign=$(json "j['step']" <<<"$OUT")
status lay_out_a 0 garth run -a a --env "TOPS=agents/a output" -c "$lay_out"

garth run -a a --json --timeout 2m --env "FOREIGN=$foreign" --python "$SRC/tests/e2e/_zones_probe.py" >"$TMP/probe.json" 2>"$TMP/probe.err"
equal the_probe_ends "$?" 0
json "j['stdout']" <"$TMP/probe.json" >"$TMP/probe.out"
json "j['stderr']" <"$TMP/probe.json" | sed '/^$/d' | head -n 20
grep -E '^(PASS|FAIL)' "$TMP/probe.out"
failed=$((failed + $(grep -c '^FAIL' "$TMP/probe.out")))
tried=$(sed -n 's/^violations //p' "$TMP/probe.out")
step=$(json "j['step']" <"$TMP/probe.json")
equal each_refusal_is_recorded "$(garth violations --step "$step" --json | json "sum(v['count'] for v in j['items'])")" "$tried"
equal refusals_below_input_are_erofs \
	"$(garth violations --step "$step" --json | json "sorted({v['errno'] for v in j['items'] if v['path'].split('/')[0] == 'input'})")" "['EROFS']"
equal a_violation_names_everything \
	"$(garth violations --step "$step" --json | json "[(v['agent'], v['errno'], v['rule'], v['count']) for v in j['items'] if v['op'] == 'mkdir' and v['path'] == 'input/dir/f.dir']")" \
	"[('a', 'EROFS', 'input.readonly', 1)]"
equal input_is_as_it_was "$(garth get input/dir/f -)" given
equal b_is_as_it_was "$(garth get agents/b/dir/f -)" given

# What a policy's rules change.
cat >"$TMP/rules.yaml" <<'P'
version: 1
root: shared
rules:
  - { deny: [write], agent: a, path: "output/final/**" }
  - { deny: [read], agent: "*", path: "agents/b/private/**" }
  - { allow: [read, write], agent: a, path: "**" }
P
cat >"$TMP/rules.py" <<'P'
import errno, os
def got(f, *a):
    try:
        f(*a)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
w = lambda p: got(lambda: open("/workspace/" + p, "w").close())
r = lambda p: got(lambda: open("/workspace/" + p).read())
os.makedirs("/workspace/output/free", exist_ok=True)
print("final", w("output/final/x"), got(os.mkdir, "/workspace/output/final/d"), r("output/final/b"))
print("private", r("agents/b/private/x"), got(os.stat, "/workspace/agents/b/private"), got(os.listdir, "/workspace/agents/b/private"), r("agents/b/public"))
print("free", w("output/free/x"))
print("root", w("notes.txt"), got(os.mkdir, "/workspace/src"), got(os.rename, "/workspace/output", "/workspace/o2"), got(os.rmdir, "/workspace/input"))
print("never", w("input/x"), w("agents/b/x"), got(os.mkdir, "/workspace/agents/new"))
P
garth init rules --policy "$TMP/rules.yaml" --agent a --agent b || exit 1
export GARTH_WORKSPACE=rules
status rules_lay_out 0 garth run -a b -c '
import os
os.makedirs("/workspace/output/final"); open("/workspace/output/final/b", "w").write("b")
os.makedirs("/workspace/agents/b/private"); open("/workspace/agents/b/private/x", "w").write("secret")
open("/workspace/agents/b/public", "w").write("b"); print(open("/workspace/agents/b/private/x").read())'
equal the_owner_reads_its_private_files "$OUT" secret
status rules_tried 0 garth run -a a --python "$TMP/rules.py"
equal a_rule_denies_writing "$(sed -n 's/^final //p' <<<"$OUT")" "EACCES EACCES ok"
equal a_rule_denies_reading "$(sed -n 's/^private //p' <<<"$OUT")" "EACCES EACCES EACCES ok"
equal other_places_stay_open "$(sed -n 's/^free //p' <<<"$OUT")" ok
equal a_shared_root_is_shared "$(sed -n 's/^root //p' <<<"$OUT")" "ok ok EACCES EROFS"
equal a_rule_never_gives_writing "$(sed -n 's/^never //p' <<<"$OUT")" "EROFS EACCES EACCES"
status explain 0 garth policy explain -a a write output/final/x
check explain_names_rule_and_line grep -q 'rules\[0\].*line 4\|line 4.*rules\[0\]' <<<"$OUT"
echo 'version: 1
limits: { step: { timeout: soon } }' >"$TMP/bad.yaml"
status a_bad_policy_is_refused 1 garth policy check "$TMP/bad.yaml"
check its_place_is_named grep -q 'line 2, column 28' <<<"$OUT$ERR"
status a_bad_policy_changes_nothing 1 garth policy set "$TMP/bad.yaml"
echo 'version: 1' >"$TMP/plain.yaml"
status policy_set 0 garth policy set "$TMP/plain.yaml"
equal it_holds_for_the_next_step "$(garth run -a a -c 'open("/workspace/output/final/x", "w"); print("ok")')" ok
equal policy_show "$(garth policy show)" "version: 1"
server_stop
