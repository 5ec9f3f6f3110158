#!/bin/bash
# SPDX-License-Identifier: MIT
#
# shape.sh - it fits on a screen: functions of at most 60 lines and complexity 15, files of at most 600.
# Exceptions: tests/shape-exceptions.txt, `file function reason` or `file - reason`, at most 3.
# Not here: layout (clang-format).
set -euo pipefail
cd "$(dirname "$0")/.."

MAX_LINES=60 MAX_COMPLEXITY=15 MAX_FILE=600 MAX_EXCEPTIONS=3
FOLDERS="core policy index fs exec net guest api cli tests bench"
exceptions=tests/shape-exceptions.txt

# shellcheck disable=SC2086 # a list
folders=$(ls -d $FOLDERS 2>/dev/null || true)
# shellcheck disable=SC2086 # a list
files() { find $folders -name "$1" | LC_ALL=C sort; }
listed() { grep -v -e '^#' -e '^$' "$exceptions" || true; }

command -v pmccabe >/dev/null || {
	echo "shape: pmccabe is missing (make deps installs it)" >&2
	exit 2
}
if [ "$(listed | wc -l)" -gt $MAX_EXCEPTIONS ]; then
	echo "shape: more than $MAX_EXCEPTIONS exceptions" >&2
	exit 1
fi

{
	files '*.c' | xargs -r pmccabe | awk -F '\t' -v L=$MAX_LINES -v C=$MAX_COMPLEXITY '{
		file = $6; sub(/\([0-9]+\):.*/, "", file)
		name = $6; sub(/^.*\): */, "", name)
		if ($5 > L) printf "%s %s has %d lines (%d)\n", file, name, $5, L
		if ($1 > C) printf "%s %s has complexity %d (%d)\n", file, name, $1, C
	}'
	{ files '*.[ch]'; files '*.py'; files '*.sh'; ls scripts/* Makefile; } | while read -r f; do
		n=$(wc -l <"$f")
		[ "$n" -le $MAX_FILE ] || echo "$f - has $n lines ($MAX_FILE)"
	done
} | {
	bad=0
	while read -r file name rest; do
		if listed | awk -v f="$file" -v n="$name" '$1 == f && $2 == n { ok = 1 } END { exit !ok }'; then
			continue
		fi
		echo "shape: $file: $name $rest" >&2
		bad=1
	done
	[ $bad -eq 0 ] || exit 1
	echo "shape: holds"
}
