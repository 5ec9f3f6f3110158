#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - `make bench`: compiles what measures, then measures. Options are run.py's.
#   GARTH_BENCH_DIR   where the server's data and the bare folder are (default /var/tmp): one disk for both
# Not here: what is measured (bench/run.py).
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
	echo "bench: garth up needs root: starting again through sudo"
	exec sudo --preserve-env=GARTH_BENCH_DIR,GARTH_BUILD -- "$PWD/bench/run.sh" "$@"
fi
build=${GARTH_BUILD:-build}
out=$build/bench
mkdir -p "$out"
cc=${CC:-gcc}
"$cc" -std=c17 -O2 -D_GNU_SOURCE -I. bench/step_bench.c -o "$out/step_bench" "$build/lib/libcore.a"
"$cc" -std=c17 -O2 -D_GNU_SOURCE -static bench/file_bench.c -o "$out/file_bench"
exec /usr/bin/python3 bench/run.py --build "$build" "$@"
