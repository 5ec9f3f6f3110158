#!/bin/bash
# SPDX-License-Identifier: MIT
#
# banned.sh - calls that have no safe use here, and first lines that are missing.
# Not here: what clang-tidy and the compilers find (scripts/lint.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

BANNED='strcpy|strcat|strncpy|sprintf|vsprintf|gets|atoi|strtok|alloca|system|signal'
FOLDERS="core policy index fs exec net guest api cli tests bench"
bad=0

# shellcheck disable=SC2046,SC2086 # lists
mapfile -t files < <(find $(ls -d $FOLDERS 2>/dev/null) -name '*.[ch]' | LC_ALL=C sort)
for f in "${files[@]}"; do
	# Comments and strings go, lines stay.
	if sed -E -e 's/"([^"\\]|\\.)*"/""/g' -e 's,/\*.*\*/,,g' -e 's,^[ \t]*/?\*.*,,' -e 's,//.*,,' "$f" |
		grep -n -w -E "($BANNED)[[:space:]]*\(" | sed "s,^,banned: $f:," | grep . >&2; then
		bad=1
	fi
	if ! head -n 1 "$f" | grep -q 'SPDX-License-Identifier: MIT'; then
		echo "banned: $f: no SPDX line at its start" >&2
		bad=1
	fi
done
[ $bad -eq 0 ] || exit 1
echo "banned: ${#files[@]} files hold"
