#!/bin/bash
# SPDX-License-Identifier: MIT
#
# deps.sh - installs what garth is built, tested and shown with; does nothing where all is there.
#   deps.sh [build] [test] [demo] [lint]     (no name: build)
#   deps.sh --check GROUP...                 only says what is missing; exit 1 if something is
# Packages come from the host's own apt. libfuse is taken from the distribution where that has
# FUSE_MIN; else it is built once, static, into build/deps, from the Debian source package.
# Not here: why each is needed (docs/DEPENDENCIES.md).
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
# The system's python3 and meson, not whatever a developer has first in PATH.
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin

FUSE_MIN=3.17
FUSE_SUITE=trixie
FUSE_VERSION=3.17.2
FUSE_ORIG=fuse3_3.17.2.orig.tar.gz
FUSE_SHA256=3d932431ad94e86179e5265cddde1d67aa3bb2fb09a5bd35c641f86f2b5ed06f
DEPS=$PWD/build/deps

# pkg-config name, least version
MODULES="libfyaml 0.7.12
libmicrohttpd 0.9.75
jansson 2.14
sqlite3 3.40.1
libseccomp 2.5.4
libcrypto 3.0.0
libcurl 7.88.1"

BUILD_PKGS="make gcc libc6-dev pkg-config libfyaml-dev libmicrohttpd-dev libjansson-dev libsqlite3-dev
	libseccomp-dev libssl-dev libcurl4-openssl-dev"
FUSE_BUILD_PKGS="dpkg-dev meson ninja-build python3 debian-archive-keyring ca-certificates"
TEST_PKGS="libcmocka-dev python3 python3-venv python3-yaml sqlite3 curl inotify-tools pmccabe attr procps git e2fsprogs mount"
DEMO_PKGS="python3 python3-pandas python3-matplotlib"
LINT_PKGS="clang clang-format clang-tidy cppcheck"

say() { echo "deps: $*"; }
die() {
	echo "deps: $*" >&2
	exit 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -- "$@"
	else
		die "'$*' needs root, and there is no sudo: run this as root"
	fi
}

missing_packages() {
	local pkg

	for pkg; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$pkg" 2>/dev/null)" = installed ] || echo "$pkg"
	done
}

have_distribution_fuse() { pkg-config --atleast-version=$FUSE_MIN fuse3 2>/dev/null; }
have_built_fuse() { [ "$(cat "$DEPS/fuse/version" 2>/dev/null)" = "$FUSE_VERSION" ]; }
distribution_offers_fuse() {
	local v

	v=$(apt-cache policy libfuse3-dev 2>/dev/null | sed -n 's/^  Candidate: //p')
	[ -n "$v" ] && [ "$v" != "(none)" ] && dpkg --compare-versions "$v" ge $FUSE_MIN
}

# What a build needs, by pkg-config alone: also right where packages were not what brought it.
check_build() {
	local name min bad=0

	for name in make gcc pkg-config; do
		command -v $name >/dev/null || { echo "missing: $name"; bad=1; }
	done
	[ $bad -eq 0 ] || return 1
	# shellcheck disable=SC2086 # word splitting makes the list
	if ! pkg-config --exists $(sed 's/ / >= /' <<<"$MODULES" | tr '\n' ' '); then
		while read -r name min; do
			pkg-config --atleast-version="$min" "$name" || echo "missing: $name >= $min"
		done <<<"$MODULES"
		bad=1
	fi
	have_distribution_fuse || have_built_fuse || { echo "missing: fuse3 >= $FUSE_MIN"; bad=1; }
	return $bad
}

packages_of() {
	case $1 in
	build) echo "$BUILD_PKGS" ;;
	test) echo "$TEST_PKGS" ;;
	demo) echo "$DEMO_PKGS" ;;
	lint) echo "$LINT_PKGS" ;;
	*) die "no group '$1' (build, test, demo, lint)" ;;
	esac
}

apt_updated=no
apt_update_once() {
	[ $apt_updated = no ] || return 0
	say "apt-get update"
	as_root apt-get update -q >/dev/null || die "apt-get update failed: is the package mirror reachable?"
	apt_updated=yes
}

install_packages() {
	[ $# -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "install these yourself (there is no apt here): $*"
	apt_update_once
	say "installing $*"
	as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
		apt-get install -y -q --no-install-recommends "$@" >/dev/null ||
		die "apt-get install failed"
}

# The host's own mirror of Debian, as apt has it configured.
debian_mirror() {
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian|Debian|main|//p' | head -n 1
}

fetch_fuse() {
	local dir=$1 mirror opts

	mirror=$(debian_mirror)
	if [ -z "$mirror" ]; then
		apt_update_once
		mirror=$(debian_mirror)
	fi
	[ -n "$mirror" ] || die "apt knows no mirror of Debian here; install fuse3 >= $FUSE_MIN yourself"
	mkdir -p "$dir/lists/partial" "$dir/parts" "$dir/cache/archives/partial"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $FUSE_SUITE main" \
		>"$dir/sources.list"
	# Lists of its own: nothing of the other suite can reach the host.
	opts=(-q -o "Dir::State::Lists=$dir/lists" -o "Dir::Etc::SourceList=$dir/sources.list"
		-o "Dir::Etc::SourceParts=$dir/parts" -o "Dir::Cache=$dir/cache"
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root
		-o Acquire::AllowInsecureRepositories=false)
	(
		cd "$dir"
		apt-get update "${opts[@]}" >log 2>&1 &&
			apt-get source "${opts[@]}" --download-only "fuse3/$FUSE_SUITE" >>log 2>&1
	) || { cat "$dir/log" >&2; die "the source package fuse3 of $FUSE_SUITE could not be fetched"; }
	[ -f "$dir/$FUSE_ORIG" ] || die "$FUSE_SUITE has another fuse3 than $FUSE_VERSION: raise the pin in scripts/deps.sh"
	echo "$FUSE_SHA256  $dir/$FUSE_ORIG" | sha256sum -c --quiet - ||
		die "$FUSE_ORIG is not the file that was pinned"
}

build_fuse() (
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	say "building libfuse $FUSE_VERSION (the distribution's is older than $FUSE_MIN)"
	fetch_fuse "$dir"
	cd "$dir"
	# --no-check: apt has checked the archive's signature down to these files.
	dpkg-source --no-check -x fuse3_*.dsc src >log 2>&1 || { cat log >&2; die "dpkg-source failed"; }
	{
		meson setup build src --prefix="$DEPS/fuse" --libdir=lib --buildtype=release \
			-Ddefault_library=static -Dexamples=false -Dutils=false -Dtests=false \
			-Dudevrulesdir= -Dinitscriptdir= &&
			ninja -C build install
	} >log 2>&1 || { cat log >&2; die "libfuse $FUSE_VERSION did not build"; }
	echo "$FUSE_VERSION" >"$DEPS/fuse/version"
)

ensure_fuse() {
	if have_distribution_fuse || have_built_fuse; then
		return 0
	fi
	if command -v apt-get >/dev/null && distribution_offers_fuse; then
		install_packages libfuse3-dev
		have_distribution_fuse && return 0
	fi
	# shellcheck disable=SC2046,SC2086 # lists
	install_packages $(missing_packages $FUSE_BUILD_PKGS)
	build_fuse
}

check=no
if [ "${1-}" = --check ]; then
	check=yes
	shift
fi
[ $# -gt 0 ] || set -- build

if [ $check = yes ]; then
	for group; do
		if [ "$group" = build ]; then
			check_build || die "run 'make deps' first"
		else
			# shellcheck disable=SC2046 # list
			set -- $(missing_packages $(packages_of "$group"))
			[ $# -eq 0 ] || die "missing packages: $* (scripts/deps.sh $group installs them)"
		fi
	done
	exit 0
fi

want=
for group; do
	# packages only where pkg-config misses something, so a build from own libraries stays possible
	if [ "$group" = build ] && check_build >/dev/null; then
		continue
	fi
	want="$want $(packages_of "$group")"
done
# shellcheck disable=SC2046,SC2086 # lists
install_packages $(missing_packages $want)
for group; do
	if [ "$group" = build ]; then
		ensure_fuse
		check_build || die "still missing after the installation (see above)"
	fi
done
