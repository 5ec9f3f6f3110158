#!/bin/bash
# SPDX-License-Identifier: MIT
#
# embed.sh - writes C that holds files' bytes, for the build.
#   embed.sh migrations migrations/0001_x.sql ...    the table of index/migrations.h
#   embed.sh text HEADER NAME FILE                   NAME[] and NAME_len, declared in HEADER
# Not here: which files (Makefile).
set -euo pipefail
LC_ALL=C
export LC_ALL

# One char constant a byte, and a zero at the end that no length counts.
bytes() {
	od -An -v -tx1 -w16 "$1" | sed "s/ \([0-9a-f][0-9a-f]\)/'\\\\x\1',/g"
	echo "'\\0'"
}

text() {
	local header=$1 name=$2 file=$3

	printf '/* made from %s: change that */\n#include <stddef.h>\n#include "%s"\n\n' "$file" "$header"
	printf 'const char %s[] = {\n' "$name"
	bytes "$file"
	printf '};\nconst size_t %s_len = sizeof %s - 1;\n' "$name" "$name"
}

migrations() {
	local file base want=0

	printf '/* made from migrations/: change that */\n#include "index/migrations.h"\n\n'
	for file; do
		base=$(basename "$file" .sql)
		want=$((want + 1))
		if ! [[ $base =~ ^[0-9]{4}_[a-z0-9_]+$ ]] || [ "$((10#${base%%_*}))" -ne "$want" ]; then
			echo "embed.sh: $file: the next migration must be named $(printf %04d "$want")_name.sql" >&2
			return 1
		fi
		printf 'static const char sql_%d[] = {\n' "$want"
		bytes "$file"
		printf '};\n'
	done
	printf '\nconst struct migration migrations[] = {\n'
	want=0
	for file; do
		want=$((want + 1))
		printf '\t{ %d, "%s", sql_%d },\n' "$want" "$(basename "$file" .sql)" "$want"
	done
	printf '};\nconst unsigned migration_count = sizeof migrations / sizeof migrations[0];\n'
}

kind=$1
shift
case $kind in
text) text "$@" ;;
migrations) migrations "$@" ;;
*) echo "embed.sh: what is '$kind'?" >&2; exit 2 ;;
esac
