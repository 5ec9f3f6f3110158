#!/bin/bash
# SPDX-License-Identifier: MIT
#
# all.sh - what `make vm` runs in the virtual machine: `garth doctor`, then the tests that depend on the kernel.
# Everything is some ten times slower there, so they get ten times their time, and some do less.
# Not here: the machine (run.sh), the tests that are the same on every kernel (tests/unit).
set -uo pipefail
cd "$(dirname "$0")/../.."

uname -sr
build/bin/garth doctor --data /tmp/data --listen 127.0.0.1:0 || exit 1
export GARTH_TEST_SLOW=${GARTH_TEST_SLOW:-10} GARTH_TEST_STEPS=${GARTH_TEST_STEPS:-8}
if [ $# -eq 0 ]; then set -- mount exec e2e/01 e2e/02 e2e/03 e2e/04 e2e/many_steps; fi
exec tests/run.sh "$@"
