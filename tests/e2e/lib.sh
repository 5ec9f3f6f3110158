# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# lib.sh - for the shell tests here: a server of their own, cases, and cleaning up whatever happened. Sourced, never run.
# Cases print `PASS name`, `FAIL name: why`, `SKIP name: why` (tests/run.sh counts them).
# Not here: the Python tests' server (tests/lib/garthtest.py).
set -uo pipefail

SRC=${GARTH_SRC:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
GARTH_BIN=${GARTH_BIN:-$SRC/build/bin}
PATH=$GARTH_BIN:$PATH
TMP=$(mktemp -d "${GARTH_TEST_TMP:-/tmp}/garth-e2e.XXXXXX")
chmod 711 "$TMP" # garth-api, with a uid of its own, must get through
DATA=$TMP/data
READY_S=60
STOP_S=40
UP_PID=
failed=0
unset GARTH_URL GARTH_API_KEY GARTH_WORKSPACE GARTH_AGENT

pass() { echo "PASS $1"; }
fail() {
	echo "FAIL $1${2:+: $2}"
	failed=$((failed + 1))
}
skip() { echo "SKIP $1: $2"; }

# check NAME COMMAND...: a case that is right if the command is
check() {
	local name=$1 out

	shift
	if out=$("$@" 2>&1); then pass "$name"; else fail "$name" "$(tail -c 400 <<<"$out" | tr '\n' ' ')"; fi
}

# equal NAME GOT WANT
equal() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "'$2', not '$3'"; fi; }

# status NAME WANT COMMAND...: the exit status; what it printed stays in $OUT and $ERR
status() {
	local name=$1 want=$2 rc=0

	shift 2
	"$@" >"$TMP/out" 2>"$TMP/err" </dev/null || rc=$?
	OUT=$(tr -d '\0' <"$TMP/out") ERR=$(tr -d '\0' <"$TMP/err")
	if [ $rc -eq "$want" ]; then pass "$name"; else fail "$name" "status $rc, not $want: $(tail -c 400 "$TMP/err" | tr '\n' ' ')"; fi
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

server_start() { # further arguments of garth up
	local _

	: >"$TMP/up.out"
	garth up --data "$DATA" --listen 127.0.0.1:0 "$@" >"$TMP/up.out" 2>>"$TMP/up.err" </dev/null &
	UP_PID=$!
	for _ in $(seq $((READY_S * 10))); do
		GARTH_URL=$(sed -n 's/^garth: ready //p' "$TMP/up.out")
		[ -z "$GARTH_URL" ] || break
		kill -0 "$UP_PID" 2>/dev/null || break
		sleep 0.1
	done
	if [ -z "$GARTH_URL" ]; then
		fail server_start "no ready line: $(tail -c 600 "$TMP/up.err" | tr '\n' ' ')"
		exit 1
	fi
	GARTH_API_KEY=$(cat "$DATA/admin.key")
	export GARTH_URL GARTH_API_KEY
}

# Ends the server as `garth down` does and looks what is left of it.
server_stop() {
	local pids id p left=0 rc=0

	id=$(printf %s "$(realpath "$DATA")" | sha256sum | cut -c1-16)
	pids="$UP_PID $(below "$UP_PID" | tr '\n' ' ')"
	status down_answers_0 0 garth down --data "$DATA"
	wait "$UP_PID" || rc=$?
	UP_PID=
	equal up_ends_with_0 $rc 0
	for p in $pids; do if kill -0 "$p" 2>/dev/null; then left=$((left + 1)); fi; done
	equal no_process_is_left $left 0
	equal nothing_is_mounted "$(grep -c -F "$DATA" /proc/self/mountinfo)" 0
	equal no_cgroup_is_left "$(find /sys/fs/cgroup -type d -path "*$id*" 2>/dev/null | wc -l)" 0
}

cleanup() {
	local rc=$? m _

	trap - EXIT
	if [ -n "$UP_PID" ] && kill -0 "$UP_PID" 2>/dev/null; then
		kill -TERM "$UP_PID" 2>/dev/null
		for _ in $(seq $((STOP_S * 10))); do kill -0 "$UP_PID" 2>/dev/null || break; sleep 0.1; done
		kill -KILL "$UP_PID" 2>/dev/null
	fi
	for m in $(awk -v d="$DATA" 'index($5, d "/") == 1 { print $5 }' /proc/self/mountinfo); do umount -l "$m"; done
	if [ $failed -gt 0 ] && [ -s "$TMP/up.err" ]; then
		echo "-- what the server said last"
		tail -n 15 "$TMP/up.err"
	fi
	rm -rf --one-file-system "$TMP"
	[ $rc -ne 0 ] || [ $failed -eq 0 ] || rc=1
	exit $rc
}
trap cleanup EXIT
trap 'exit 130' INT TERM

if [ ! -x "$GARTH_BIN/garth" ]; then
	fail programs_are_built "there is no $GARTH_BIN/garth"
	exit 1
fi
