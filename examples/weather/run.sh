#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - three agents on real data in one workspace, two refusals, where the report came from, and its download.
# With GARTH_URL and GARTH_API_KEY it uses that server, else it starts one of its own and looks afterwards that nothing is left.
# GARTH_BIN: folder of the programs (default: build/bin of this repository, else PATH).
# Exit status: 0 only if everything came out as it must. Not here: building and installing (scripts/demo.sh).
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
GARTH_BIN=${GARTH_BIN:-$HERE/../../build/bin}
[ -x "$GARTH_BIN/garth" ] && PATH=$GARTH_BIN:$PATH
READY_S=60 # seconds that a server may take to start
TMP=$(mktemp -d /tmp/garth-weather.XXXXXX)
chmod 711 "$TMP" # garth-api, with a uid of its own, must get through
DATA=$TMP/data
W=weather
UP_PID=
faults=0

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n== %s\n' "$*"; }
good() { printf '   ok: %s\n' "$*"; }
bad() {
	printf '   NOT RIGHT: %s\n' "$*"
	faults=$((faults + 1))
}
check() { # what, then a command
	local what=$1

	shift
	if "$@"; then good "$what"; else bad "$what"; fi
}
# A value of a JSON text on stdin, by a Python expression on j.
json() { /usr/bin/python3 -c 'import json, sys; j = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
sha_of() { sha256sum "$1" | cut -d' ' -f1; }

# All processes below one, by its id.
below() {
	local kid

	for kid in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		echo "$kid"
		below "$kid"
	done
}

cleanup() {
	local rc=$? m

	if [ -n "$UP_PID" ] && kill -0 "$UP_PID" 2>/dev/null; then
		kill -TERM "$UP_PID" 2>/dev/null || true
		for _ in $(seq 300); do kill -0 "$UP_PID" 2>/dev/null && sleep 0.1; done
		kill -KILL "$UP_PID" 2>/dev/null || true
	fi
	for m in $(awk -v d="$DATA" 'index($5, d "/") == 1 { print $5 }' /proc/self/mountinfo); do umount -l "$m" || true; done
	[ $rc -eq 0 ] || { [ ! -s "$TMP/up.err" ] || { echo "-- what the server said last"; tail -n 20 "$TMP/up.err"; }; }
	rm -rf --one-file-system "$TMP"
	exit $rc
}
trap cleanup EXIT
trap 'exit 130' INT TERM

start() {
	: >"$TMP/up.out"
	garth up --data "$DATA" --listen 127.0.0.1:0 >"$TMP/up.out" 2>"$TMP/up.err" </dev/null &
	UP_PID=$!
	for _ in $(seq $((READY_S * 10))); do
		GARTH_URL=$(sed -n 's/^garth: ready //p' "$TMP/up.out")
		[ -z "$GARTH_URL" ] || break
		kill -0 "$UP_PID" 2>/dev/null || { echo "the server did not start" && exit 1; }
		sleep 0.1
	done
	[ -n "$GARTH_URL" ] || { echo "the server is not ready after $READY_S s" && exit 1; }
	GARTH_API_KEY=$(cat "$DATA/admin.key")
	export GARTH_URL GARTH_API_KEY
}

stop() {
	local pids id p left=0

	id=$(printf %s "$(realpath "$DATA")" | sha256sum | cut -c1-16)
	pids="$UP_PID $(below "$UP_PID" | tr '\n' ' ')"
	check "garth down" garth down --data "$DATA"
	wait "$UP_PID" && good "garth up ended with status 0" || bad "garth up ended with status $?"
	UP_PID=
	for p in $pids; do if kill -0 "$p" 2>/dev/null; then left=$((left + 1)); fi; done
	check "no process is left" [ $left -eq 0 ]
	check "nothing is mounted" [ "$(grep -c -F "$DATA" /proc/self/mountinfo)" -eq 0 ]
	check "no control group is left" [ -z "$(find /sys/fs/cgroup -type d -path "*$id*" 2>/dev/null | head -n 1)" ]
}

# run AGENT SCRIPT: one step, its code from a file
run() { garth run -w "$W" -a "$1" --job weather --python "$HERE/$2"; }

# refused AGENT ERRNO CODE: the step's program must meet that errno
refused() {
	local rc=0

	garth run -w "$W" -a "$1" --job weather -c "$3" >"$TMP/refused.out" 2>&1 || rc=$?
	sed 's/^/   /' "$TMP/refused.out"
	check "the program met $2" grep -q "$2" "$TMP/refused.out"
	check "and its step ended by itself" [ $rc -eq 0 ]
}

violations() {
	garth violations -w "$W" --json | json "sum(v['count'] for v in j['items'] if v['agent'] == '$1' and v['errno'] == '$2' and v['path'] == '$3')"
}

if [ -z "${GARTH_URL:-}" ]; then
	say "A server of our own"
	start
	good "ready at $GARTH_URL"
else
	W=weather-$$
fi

say "A workspace, four agents, the given data"
garth policy check "$HERE/policy.yaml"
garth init "$W" --policy "$HERE/policy.yaml" --agent planner --agent analyzer --agent reviewer --agent checker
garth put -w "$W" "$HERE/data/seattle-weather.csv"
garth put -w "$W" "$HERE/hooks/check_csv.py" input/hooks/

say "1. The planner writes agents/planner/tasks.json"
run planner planner.py
say "2. The analyzer cleans, computes and draws"
run analyzer analyzer.py
say "3. The reviewer checks every table and writes the report"
run reviewer reviewer.py
garth ls -w "$W" output -l -R

say "4. The analyzer tries to change what was given"
refused analyzer EROFS '
import errno
try:
    open("/workspace/input/seattle-weather.csv", "a")
except OSError as e:
    print("input/seattle-weather.csv:", errno.errorcode[e.errno])'
say "5. The reviewer tries to write in the planner's area"
refused reviewer EACCES '
import errno
try:
    open("/workspace/agents/planner/tasks.json", "w")
except OSError as e:
    print("agents/planner/tasks.json:", errno.errorcode[e.errno])'
say "6. A table with a hole is held back"
garth run -w "$W" -a analyzer --job weather -c 'open("/workspace/output/draft.csv", "w").write("month,rain\n1,\n")'
if garth get -w "$W" output/draft.csv "$TMP/draft.csv" 2>"$TMP/held.err"; then bad "it was handed out"; else good "$(head -n 1 "$TMP/held.err")"; fi

say "The steps"
garth steps -w "$W"

say "What was refused"
garth violations -w "$W"
check "the analyzer's attempt is recorded once" [ "$(violations analyzer EROFS input/seattle-weather.csv)" = 1 ]
check "the reviewer's attempt is recorded once" [ "$(violations reviewer EACCES agents/planner/tasks.json)" = 1 ]
check "and nothing else was refused" [ "$(garth violations -w "$W" --json | json "len(j['items'])")" = 2 ]

say "Where the report comes from"
garth lineage -w "$W" output/report.md
given=$(sha_of "$HERE/data/seattle-weather.csv")
garth lineage -w "$W" output/report.md --json >"$TMP/lineage.json"
check "down to the input's sha256" grep -q "$given" "$TMP/lineage.json"
check "and the planner's tasks" grep -q agents/planner/tasks.json "$TMP/lineage.json"

say "The report, downloaded by its path"
garth get -w "$W" output/report.md "$TMP/report.md"
sed 's/^/   | /' "$TMP/report.md"
recorded=$(garth ls -w "$W" output -l --json | json "[e['sha256'] for e in j['items'] if e['name'] == 'report.md'][0]")
echo "   downloaded $(sha_of "$TMP/report.md")"
echo "   recorded   $recorded"
check "they are equal" [ "$(sha_of "$TMP/report.md")" = "$recorded" ]

say "The record"
garth audit verify -w "$W"

if [ -n "$UP_PID" ]; then
	say "The end"
	stop
else
	garth rm "$W" --yes
fi
if [ $faults -gt 0 ]; then
	say "$faults things are not right"
	exit 1
fi
say "All is right."
