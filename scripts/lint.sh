#!/bin/bash
# SPDX-License-Identifier: MIT
#
# lint.sh - clang-format, clang-tidy, cppcheck, gcc -fanalyzer over the C files that are named.
#   CFLAGS=... lint.sh FILE...        LINT='format tidy' takes a part of it
# Results are kept by content in build/lint, so a second run looks only at what changed.
# A suppression stands on its line in the code, with why.
# Not here: sizes (shape.sh), layers (layers.py), banned calls (banned.sh).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

scripts/deps.sh --check lint || exit 2
parts=${LINT:-format clang tidy cppcheck analyzer}
cache=build/lint
TIDY='-*,bugprone-*,clang-analyzer-*,-bugprone-easily-swappable-parameters'
# Not these: they ask for C11 Annex K, which glibc doesn't have; names that are reserved only in C++;
# tables of pointers, bytes with a length, whole milliseconds in a double are no slips; the rest is decided by -Wconversion already.
TIDY+=',-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling'
TIDY+=',-bugprone-reserved-identifier,-bugprone-narrowing-conversions'
TIDY+=',-bugprone-implicit-widening-of-multiplication-result,-bugprone-assignment-in-if-condition'
TIDY+=',-clang-analyzer-optin.performance.Padding,-bugprone-not-null-terminated-result,-bugprone-sizeof-expression,-bugprone-integer-division'
read -r -a flags <<<"${CFLAGS//\\/}"
# clang knows most of gcc's flags; those it doesn't are of no interest to it here.
clang_flags=()
for f in "${flags[@]}"; do
	case $f in
	-Werror | -O2 | -g | -fstack-* | -fcf-* | -mbranch* | -Wno-unused-result | -ftrivial* | -D_FORTIFY* | -U_FORTIFY*) ;;
	*) clang_flags+=("$f") ;;
	esac
done

format() { clang-format --dry-run -Werror "$1" 2>&1; }
tidy() {
	clang-tidy --quiet --warnings-as-errors='*' --checks="$TIDY" "$1" -- "${clang_flags[@]}" 2>/dev/null
}
# The other compiler's warnings; it alone takes `(void)f()` for an answer where a result must be looked at.
clang_warns() { clang "${clang_flags[@]}" -Werror -Wunused-result -Wno-missing-field-initializers -fsyntax-only "$1" 2>&1; }
# ctuuninitvar and autoVariables take an initializing call, and a pointer that is gone before its frame, for faults;
# it doesn't read the libraries' headers, so it knows no json_array_foreach.
cppcheck_one() {
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,portability \
		--suppress=missingIncludeSystem --suppress=ctuuninitvar --suppress=autoVariables --suppress=unknownMacro --suppress=normalCheckLevelMaxBranches \
		-D_GNU_SOURCE -D__x86_64__ -D__linux__ -I. "$1" 2>&1
}
# Without optimization, which would fold `p && !q` into something it can no longer follow. Leaks are left to clang-tidy and ASan: gcc 12 loses track of owners in loops.
analyzer() {
	gcc "${flags[@]}" -O0 -U_FORTIFY_SOURCE -fanalyzer -Wno-analyzer-too-complex -Wno-analyzer-malloc-leak -c "$1" -o /dev/null 2>&1
}

mkdir -p $cache
bad=0
for file; do
	key=$({ gcc "${flags[@]}" -E -P "$file" 2>/dev/null; cat "$file" scripts/lint.sh .clang-format; } \
		2>/dev/null | sha256sum | cut -c 1-32)
	for part in $parts; do
		# of a header only the layout: the rest is seen where it is included
		[[ $file != *.h || $part == format ]] || continue
		[ ! -e "$cache/$key.$part" ] || continue
		case $part in
		format) run=format ;; clang) run=clang_warns ;; tidy) run=tidy ;; cppcheck) run=cppcheck_one ;; analyzer) run=analyzer ;;
		*) echo "lint: no part '$part'" >&2; exit 2 ;;
		esac
		if out=$($run "$file"); then
			: >"$cache/$key.$part"
		else
			echo "lint: $part: $file"
			# the findings; LINT_LONG=1 for the way to each
			printf '%s\n' "$out" | { [ -n "${LINT_LONG:-}" ] && cat || grep -E '(error|warning):|\((error|warning|portability)\)' | grep -v ': note:' | sort -u; } | head -n 60
			bad=1
		fi
	done
done
[ $bad -eq 0 ] && echo "lint: $# files hold"
exit $bad
