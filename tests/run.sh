#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - runs the tests that are built, counts their cases, ends with "N passed, 0 failed, M skipped".
#   tests/run.sh [PATTERN...]     a kind (unit mount exec e2e) or the start of KIND/NAME; none: all
# A program prints TAP (cmocka); a script prints `PASS name`, `FAIL name`, `SKIP name: reason`.
# A test may say how long it may take in a comment line:  timeout: SECONDS
# Environment: GARTH_BUILD (default build), CI=1 (a skip that tests/skips.txt doesn't list fails),
# GARTH_TEST_SLOW (a factor for the time a test may take, on a slow machine).
# Given to each test: GARTH_BIN, GARTH_SRC, GARTH_TEST_TMP (removed afterwards); it runs in the root.
# Not here: building them (Makefile).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

DEFAULT_TIMEOUT=120
KINDS="unit mount exec e2e"
BUILD=${GARTH_BUILD:-build}
LOGS=$BUILD/test-logs

if [ "$(id -u)" -ne 0 ] && [ -z "${GARTH_TEST_NO_ROOT:-}" ]; then
	if ! command -v sudo >/dev/null; then
		echo "tests/run.sh: mounts and namespaces need root, and there is no sudo: run this as root" >&2
		exit 2
	fi
	echo "tests/run.sh: mounts and namespaces need root: starting again through sudo"
	exec sudo --preserve-env=CI,GARTH_BUILD,GARTH_SAN -- "$PWD/tests/run.sh" "$@"
fi

# In a chroot the kernel refuses user namespaces; elsewhere this does nothing.
if [ "$(id -u)" -eq 0 ] && [ -z "${GARTH_REROOTED:-}" ]; then
	export GARTH_REROOTED=1
	exec /usr/bin/python3 scripts/reroot.py /bin/bash tests/run.sh "$@"
fi

# The system's programs: sandboxes see nothing of a developer's own python either.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C.UTF-8
export CMOCKA_MESSAGE_OUTPUT=TAP
export GARTH_SRC=$PWD
GARTH_BIN=$(realpath -m "$BUILD")/bin
export GARTH_BIN
export GARTH_BUILD=$BUILD
export PYTHONDONTWRITEBYTECODE=1
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
unset MAKEFLAGS MAKELEVEL MFLAGS

passed=0 failed=0 skipped=0
failures=()

wanted() {
	local pattern

	[ $# -gt 1 ] || return 0
	for pattern in "${@:2}"; do
		case $1 in "$pattern" | "$pattern"/* | "$pattern"*) return 0 ;; esac
	done
	return 1
}

# kind/name and what starts it, one a line. Scripts named lib* or _* are parts of others.
list() {
	local kind src name

	for kind in $KINDS; do
		for src in tests/"$kind"/*_test.c; do
			[ -f "$src" ] || continue
			name=$(basename "$src" .c)
			echo "$kind/$name $src $BUILD/tests/$kind/$name"
		done
		for src in tests/"$kind"/*.sh tests/"$kind"/*.py; do
			[ -f "$src" ] || continue
			name=$(basename "$src")
			case $name in lib* | _* | conftest*) continue ;; esac
			case $name in
			*.sh) echo "$kind/$name $src /bin/bash $src" ;;
			*.py) echo "$kind/$name $src /usr/bin/python3 $src" ;;
			esac
		done
	done
}

# One line a case: "pass name", "fail name", "skip name reason", from either way of telling.
cases() {
	sed -n -E \
		-e 's/^(not )?ok [0-9]+ # SKIP (.*)$/skip \2/p; t' \
		-e 's/^ok [0-9]+ - (.*) # SKIP ?(.*)$/skip \1 \2/p; t' \
		-e 's/^ok [0-9]+ - (.*)$/pass \1/p; t' \
		-e 's/^.*not ok [0-9]+ - (test_.*)$/fail \1/p; t' \
		-e 's/^not ok [0-9]* ?-? ?(.*)$/fail \1/p; t' \
		-e 's/^PASS:? (.*)$/pass \1/p; t' \
		-e 's/^FAIL:? (.*)$/fail \1/p; t' \
		-e 's/^SKIP:? ([^ :]+):? ?(.*)$/skip \1 \2/p' "$1"
}

skip_allowed() {
	local id pattern rest

	[ -n "${CI:-}" ] || return 0
	id=$1
	while read -r pattern rest; do
		case $pattern in '' | '#'*) continue ;; esac
		# shellcheck disable=SC2254 # the list holds patterns
		case $id in $pattern) return 0 ;; esac
	done <tests/skips.txt
	return 1
}

fail() {
	failed=$((failed + 1))
	failures+=("$1")
}

count() {
	local id=$1 log=$2 what name rest

	n_pass=0 n_fail=0 n_skip=0
	while read -r what name rest; do
		case $what in
		pass) n_pass=$((n_pass + 1)) ;;
		fail)
			n_fail=$((n_fail + 1))
			fail "$id $name $rest"
			;;
		skip)
			if skip_allowed "$id/$name"; then
				n_skip=$((n_skip + 1))
			else
				n_fail=$((n_fail + 1))
				fail "$id $name was skipped, and tests/skips.txt doesn't allow it ($rest)"
			fi
			;;
		esac
	done < <(cases "$log")
	passed=$((passed + n_pass))
	skipped=$((skipped + n_skip))
	planned=$(sed -n -E 's/^1\.\.([0-9]+).*$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
}

# Also where a server was started again, and the test passed.
check_sanitizers() {
	local report

	[ -n "${GARTH_SAN:-}" ] || return 0
	report=$(grep -rhaE -m 1 --include='*log*' '(ERROR: AddressSanitizer|WARNING: ThreadSanitizer|: runtime error: )' \
		"$2" "$GARTH_TEST_TMP" 2>/dev/null | head -n 1)
	[ -z "$report" ] || {
		told=yes
		fail "$1 $report"
	}
}

# Mounts and processes that are named after the test's folder: a fault, and taken away.
check_left() {
	local id=$1 pid mount

	for pid in $(pgrep -f -- "$GARTH_TEST_TMP"); do
		[ "$pid" != $$ ] || continue
		told=yes
		fail "$id left a process: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c 1-120)"
		kill -9 "$pid" 2>/dev/null
	done
	for mount in $(awk -v d="$GARTH_TEST_TMP/" 'index($2, d) == 1 { print $2 }' /proc/self/mounts | tac); do
		told=yes
		fail "$id left a mount: ${mount#"$GARTH_TEST_TMP"/}"
		umount -l "$mount"
	done
}

run_one() {
	local id=$1 src=$2 log limit rc start line told=no

	shift 2
	log=$LOGS/${id//\//_}.log
	limit=$(head -n 30 "$src" | sed -n -E 's|^[ /*#]*timeout: ([0-9]+).*$|\1|p' | head -n 1)
	limit=$((${limit:-$DEFAULT_TIMEOUT} * ${GARTH_TEST_SLOW:-1}))
	GARTH_TEST_TMP=$(mktemp -d /tmp/garth-test.XXXXXX)
	chmod 755 "$GARTH_TEST_TMP" # servers in it have uids of their own
	export GARTH_TEST_TMP
	# Leaks are looked for by tracing oneself, which programs with rights of their own can't.
	case $id in unit/*) export ASAN_OPTIONS=detect_leaks=1 ;; *) export ASAN_OPTIONS=detect_leaks=0 ;; esac
	start=$SECONDS
	timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
	rc=$?
	count "$id" "$log"
	check_left "$id"
	check_sanitizers "$id" "$log"
	rm -rf --one-file-system "$GARTH_TEST_TMP"
	# What the cases don't tell: a program that died, or stopped before its plan was done.
	if [ $rc -eq 124 ] || [ $rc -eq 137 ]; then
		told=yes
		fail "$id was stopped after $limit s"
	elif [ $((n_pass + n_fail + n_skip)) -lt "$planned" ]; then
		told=yes
		fail "$id ended with status $rc after $((n_pass + n_fail + n_skip)) of $planned cases"
	elif [ $rc -ne 0 ] && [ $n_fail -eq 0 ]; then
		told=yes
		fail "$id ended with status $rc"
	elif [ $((n_pass + n_fail + n_skip)) -eq 0 ]; then
		told=yes
		fail "$id told of no case"
	fi
	line=ok
	[ $n_fail -eq 0 ] && [ $told = no ] || line=FAILED
	printf '%-6s  %-40s %4d passed %3d failed %3d skipped %4d s\n' \
		"$line" "$id" "$n_pass" "$n_fail" "$n_skip" $((SECONDS - start))
	[ $line = ok ] || { grep -E -v '^(ok|PASS|1\.\.)' "$log" | tail -n 25 | sed 's/^/        | /'; }
}

mkdir -p "$LOGS"
while read -r -a test; do
	wanted "${test[0]}" "$@" || continue
	if [ ${#test[@]} -eq 3 ] && [ ! -x "${test[2]}" ]; then
		printf '%-6s  %-40s is not built\n' FAILED "${test[0]}"
		fail "${test[0]} is not built"
		continue
	fi
	run_one "${test[@]}"
done < <(list)

if [ -n "${SUDO_UID:-}" ]; then
	chown -R "$SUDO_UID:${SUDO_GID:-0}" "$LOGS"
fi
if [ ${#failures[@]} -gt 0 ]; then
	echo "failed:"
	printf "  %s\n" "${failures[@]}" | cut -c 1-240
	echo "logs: $LOGS"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
