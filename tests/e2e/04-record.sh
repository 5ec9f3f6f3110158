#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 300
#
# 04-record.sh - lineage both ways, counts of violations, what a step read and changed, and that tampering is found.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

server_start
garth init w --agent a --agent b --agent c || exit 1
export GARTH_WORKSPACE=w
echo given >"$TMP/given.txt"
status put 0 garth put "$TMP/given.txt"
py() { # agent, code: the step's id
	garth run -a "$1" --timeout 3m --json -c "$2" >"$TMP/step.json" && json "j['step']" <"$TMP/step.json"
}
s1=$(py a 'open("/workspace/output/one.txt", "w").write(open("/workspace/input/given.txt").read() + "1")')
s2=$(py b 'open("/workspace/output/two.txt", "w").write(open("/workspace/output/one.txt").read() + "2")')
s3=$(py a 'open("/workspace/output/one.txt", "w").write("new")')
s4=$(py c 'open("/workspace/agents/c/three", "w").write(open("/workspace/output/two.txt").read())')
lineage() { garth lineage "$@" --json; }

lineage output/two.txt >"$TMP/up.json"
equal upstream_names_the_steps "$(json "all(s in json.dumps(j) for s in ('$s1', '$s2'))" <"$TMP/up.json")" True
check upstream_ends_at_the_input grep -q "$(sha_of "$TMP/given.txt")" "$TMP/up.json"
check upstream_has_the_version_that_was_read grep -q "$(printf 'given\n1' | sha256sum | cut -d' ' -f1)" "$TMP/up.json"
equal upstream_has_no_later_version "$(grep -c -e "$s3" -e "$(printf new | sha256sum | cut -d' ' -f1)" "$TMP/up.json")" 0
lineage input/given.txt --downstream >"$TMP/down.json"
equal downstream_reaches_all_that_came_of_it "$(json "all(s in json.dumps(j) for s in ('$s1', '$s2', '$s4', 'agents/c/three'))" <"$TMP/down.json")" True
equal downstream_leaves_out_what_did_not "$(grep -c "$s3" "$TMP/down.json")" 0
status lineage_for_eyes 0 garth lineage output/two.txt
status lineage_dot 0 garth lineage output/two.txt --dot
check dot_is_a_graph grep -q '^digraph' <<<"$OUT"
status lineage_of_nothing 3 garth lineage output/nothing

equal versions_are_kept "$(garth get output/one.txt - --version 1)$(garth get output/one.txt -)" "$(printf 'given\n1new')"
s5=$(py a 'import os; os.rename("/workspace/output/one.txt", "/workspace/output/uno.txt"); os.unlink("/workspace/output/two.txt")')
garth step "$s5" --json >"$TMP/s5.json"
check a_rename_is_told grep -q output/uno.txt "$TMP/s5.json"
check a_deletion_is_told grep -q output/two.txt "$TMP/s5.json"
equal what_is_deleted_has_gone "$(garth get output/two.txt - 2>&1 >/dev/null | wc -l | awk '{ print ($1 > 0) }')" 1
equal its_lineage_has_not "$(lineage output/two.txt | json "'$s2' in json.dumps(j)")" True

tries='
for i in range(5):
    try: open("/workspace/input/x", "w")
    except OSError: pass
try: open("/workspace/agents/b/x", "w")
except OSError: pass'
s6=$(py a "$tries")
equal equal_violations_are_one_row_with_a_count \
	"$(garth violations --step "$s6" --json | json "sorted((v['path'], v['errno'], v['rule'], v['count']) for v in j['items'])")" \
	"[('agents/b/x', 'EACCES', 'area.foreign', 1), ('input/x', 'EROFS', 'input.readonly', 5)]"
equal violations_of_an_agent "$(garth violations --agent b --json | json "len(j['items'])")" 0
status violations_for_eyes 0 garth violations
equal no_colour_without_a_terminal "$(grep -c $'\033' <<<"$OUT")" 0
many='
for i in range(10050):
    try: open("/workspace/input/%d" % i, "w")
    except OSError: pass'
s7=$(py a "$many")
equal past_the_limit_the_count_goes_on "$(garth violations --step "$s7" --json | json "(sum(v['count'] for v in j['items']), len(j['items']) <= 10001)")" "(10050, True)"

check xattrs_tell_the_maker [ "$(garth run -a b -c '
import os
g = lambda k: os.getxattr("/workspace/output/uno.txt", "user.garth." + k).decode()
print(g("agent"), g("sha256"))')" = "a $(printf new | sha256sum | cut -d' ' -f1)" ]

status verify 0 garth audit verify -w w
status export 0 garth audit export -w w "$TMP/w.tar"
mkdir "$TMP/copy" && tar -C "$TMP/copy" -xf "$TMP/w.tar"
copy=$(dirname "$(find "$TMP/copy" -name index.db | head -n 1)")
status verify_a_copy 0 garth audit verify "$copy"
object=$(find "$copy/objects" -type f -size +0 | head -n 1)
cp "$object" "$TMP/object" && chmod u+w "$object" && printf X | dd of="$object" conv=notrunc status=none
status a_changed_object_is_found 1 garth audit verify "$copy"
cp "$TMP/object" "$object"
status mended_it_verifies 0 garth audit verify "$copy"
if command -v sqlite3 >/dev/null; then
	sqlite3 "$copy/index.db" "UPDATE violation SET count = count - 1 WHERE rowid = (SELECT min(rowid) FROM violation)" 2>"$TMP/sql.err" ||
		echo "-- $(cat "$TMP/sql.err")"
	status a_changed_row_is_found 1 garth audit verify "$copy"
else
	skip a_changed_row_is_found "no sqlite3 program"
fi
server_stop
