#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 900
#
# 05-cases.sh - what goes wrong elsewhere, tried inside a step in each of output/, task/ and the own area: tests/e2e/cases.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$TMP/policy.yaml" <<'P'
version: 1
limits: { step: { timeout: 3m, file: 6GiB, pids: 256 } }
P

# in_step ZONE SCRIPT: its PASS, FAIL and SKIP lines
in_step() {
	local rc=0 n

	garth run -w w -a me --json --timeout 3m --env "ZONE=$1" --env PYTHONDONTWRITEBYTECODE=1 -- \
		python3 "/workspace/input/cases/$2.py" >"$TMP/step.json" 2>"$TMP/step.err" </dev/null || rc=$?
	json "j['stdout']" <"$TMP/step.json" >"$TMP/cases.out" 2>/dev/null || tail -n 3 "$TMP/step.err"
	grep -E '^(PASS|FAIL|SKIP) ' "$TMP/cases.out"
	n=$(grep -c '^FAIL ' "$TMP/cases.out")
	failed=$((failed + n))
	[ "$n" -eq 0 ] || json "j['stderr'][-1500:]" <"$TMP/step.json" | sed 's/^/   | /'
	[ $rc -eq 0 ] || [ "$n" -gt 0 ] || fail "$2_in_${1//\//_}" "status $rc: $(json "j['reason'], j['stderr'][-300:]" <"$TMP/step.json" 2>&1 | tr '\n' ' ')"
}

server_start
garth init w --policy "$TMP/policy.yaml" --agent me || exit 1
echo given >"$TMP/given.txt"
garth put -w w "$TMP/given.txt" >/dev/null || exit 1
garth put -w w "$SRC"/tests/e2e/cases/*.py input/cases/ >/dev/null || exit 1
for zone in output task agents/me; do
	for script in posix_files posix_names posix_tools zone_record; do in_step $zone $script; done
done
for script in exec_steps sandbox_walls; do in_step task $script; done
equal the_record_holds "$(garth audit verify -w w >/dev/null && echo yes)" yes
server_stop
