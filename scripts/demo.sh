#!/bin/bash
# SPDX-License-Identifier: MIT
#
# demo.sh - installs and builds what is missing, then runs the example, whole.
# Not here: the example itself (examples/weather).
set -euo pipefail
cd "$(dirname "$0")/.."

example=examples/weather/run.sh
if [ ! -f "$example" ]; then
	echo "make demo: there is no $example yet" >&2
	exit 1
fi
scripts/deps.sh build demo
make --no-print-directory "-j$(nproc)" all >build/demo-make.log 2>&1 || {
	cat build/demo-make.log >&2
	exit 1
}
export GARTH_BIN=$PWD/build/bin
export PATH=$GARTH_BIN:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "make demo: mounts and namespaces need root, and there is no sudo: run this as root" >&2
		exit 1
	}
	echo "make demo: mounts and namespaces need root: going on through sudo"
	exec sudo --preserve-env=GARTH_BIN env PATH="$PATH" /usr/bin/python3 scripts/reroot.py /bin/bash "$example" "$@"
fi
# In a chroot the kernel refuses user namespaces; elsewhere reroot.py does nothing.
exec /usr/bin/python3 scripts/reroot.py /bin/bash "$example" "$@"
