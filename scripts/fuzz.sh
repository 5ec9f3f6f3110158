#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fuzz.sh - builds and runs each tests/fuzz/*_fuzz.c for a while.
#   CFLAGS=... LIBS=... fuzz.sh SECONDS
# A target is linked with core, policy and the parser of guest/, where the parsers of C bytes are.
# Not here: inputs that once failed; each of those is a row of a unit test.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=$1
command -v clang >/dev/null || scripts/deps.sh lint
mkdir -p build/fuzz
export LSAN_OPTIONS=suppressions=$PWD/tests/fuzz/lsan.txt:print_suppressions=0
read -r -a flags <<<"$CFLAGS"
read -r -a libs <<<"$LIBS"
for src in tests/fuzz/*_fuzz.c; do
	name=$(basename "$src" .c)
	# A target that needs more says so in a line of its own: ` * sources: a.c b.c`
	read -r -a more <<<"$(sed -n 's|^ \* sources: ||p' "$src")"
	sources=(core/*.c policy/*.c guest/body.c "${more[@]}")
	echo "fuzz: $name, $seconds s"
	mkdir -p "build/fuzz/$name.corpus"
	clang "${flags[@]}" "$src" "${sources[@]}" -o "build/fuzz/$name" "${libs[@]}"
	if ! "build/fuzz/$name" -max_total_time="$seconds" -artifact_prefix="build/fuzz/$name-" \
		-print_final_stats=0 "build/fuzz/$name.corpus" >"build/fuzz/$name.log" 2>&1; then
		grep -v "^#[0-9]" "build/fuzz/$name.log" | tail -n 40
		exit 1
	fi
done
