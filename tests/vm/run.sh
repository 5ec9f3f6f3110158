#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - runs a command on another kernel than this one: Debian's own, in a virtual machine with cgroup v2 alone.
#   tests/vm/run.sh [COMMAND [ARG]...]     none: `garth doctor`, then the tests of mounts, sandboxes and the whole
# The machine sees this host's root read-only, in its place; /tmp is a fresh ext4; /run, /opt, /var/tmp and build/test-logs are empty.
# Its output is the command's; the exit status too. 125: the machine did not come so far.
# Environment: VM_KERNEL_DEB (default: the distribution's, downloaded once into build/vm, never installed), VM_APPEND (kernel
# parameters; lsm=yama: no Landlock), VM_MB (2048), VM_CPUS (2), VM_DISK_MB (4096), VM_TIMEOUT (3600), VM_ACCEL (tcg: slow, but everywhere; or kvm).
# Needs: qemu-system-x86 (with virtiofsd), busybox-static, cpio, e2fsprogs; root. Not among tests/run.sh's kinds: it runs that.
set -euo pipefail
cd "$(dirname "$0")/../.."

PACKAGE=linux-image-cloud-amd64
STORE=$PWD/build/vm
KERNEL=$STORE/$(basename "${VM_KERNEL_DEB:-kernel}" .deb)
MODULES="virtio_pci virtio_blk virtiofs ext4 virtio_rng"
WHERE=$(pwd -P)

die() {
	echo "vm: $*" >&2
	exit 125
}

find_program() { # NAME PATH...: the first that is there
	local name=$1 p

	shift
	for p in "$@"; do
		[ ! -x "$p" ] || { echo "$p" && return; }
	done
	die "there is no $name: install qemu-system-x86 and what it suggests"
}

fetch_kernel() { # what the distribution offers, unpacked
	local deb name

	[ ! -f "$KERNEL/version" ] || return 0
	rm -rf "$KERNEL" && mkdir -p "$KERNEL"
	deb=${VM_KERNEL_DEB:-}
	if [ -z "$deb" ]; then
		name=$(apt-cache depends "$PACKAGE" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
		[ -n "$name" ] || die "apt knows no $PACKAGE: apt-get update, or VM_KERNEL_DEB=FILE"
		(cd "$STORE" && apt-get download "$name" >/dev/null 2>&1) || die "can't download $name"
		deb=$(echo "$STORE/$name"_*.deb)
	fi
	dpkg-deb -x "$deb" "$KERNEL"
	[ -d "$KERNEL/lib" ] || ln -s usr/lib "$KERNEL/lib" # since Debian 13
	name=$(basename "$(echo "$KERNEL"/lib/modules/*)")
	busybox depmod -b "$KERNEL" "$name"
	echo "$name" >"$KERNEL/version"
}

# Modules with what they need, in the order in which they load: paths below the kernel's folder.
module_order() {
	awk -v want="$1" -F'[: ]+' '
		{ sub(/ +$/, ""); n = $1; sub(/.*\//, "", n); sub(/\.ko(\.xz)?$/, "", n); path[n] = $1
		  for (i = 2; i <= NF; i++) needs[n] = needs[n] " " $i }
		function add(n,   k, i, list, m) {
			if (n in done || !(n in path)) return
			done[n] = 1
			k = split(needs[n], list, " ")
			for (i = 1; i <= k; i++) { m = list[i]; sub(/.*\//, "", m); sub(/\.ko(\.xz)?$/, "", m); add(m) }
			print path[n]
		}
		END { k = split(want, w, " "); for (j = 1; j <= k; j++) add(w[j]) }' "$KERNEL/lib/modules/$VERSION/modules.dep"
}

# The first program of the machine: what it needs to see the host's root, then the second on that.
first_program() {
	cat <<'SH'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev
while read -r m; do insmod "/modules/$m"; done </modules/order
mount -t virtiofs -o ro host /root || exec poweroff -f
where=$(cat /where)
mkdir /keep && mount --bind "/root$where" /keep
mount -t ext4 /dev/vda /root/tmp && chmod 1777 /root/tmp || exec poweroff -f
case $where in /tmp/*) mkdir -p "/root$where" && mount --move /keep "/root$where" ;; *) umount /keep ;; esac
mount -t tmpfs -o mode=755 run /root/run && mkdir /root/run/vm && cp /bin/busybox /command /second /root/run/vm/
for d in proc sys dev; do mount --move /$d /root/$d; done
exec switch_root /root /run/vm/busybox sh /run/vm/second
SH
}

second_program() {
	cat <<'SH'
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
B=/run/vm/busybox
mkdir -p /dev/pts /dev/shm
ln -s /proc/self/fd /dev/fd && ln -s /proc/self/fd/0 /dev/stdin && ln -s /proc/self/fd/1 /dev/stdout && ln -s /proc/self/fd/2 /dev/stderr
for d in /opt /var/tmp; do mount -t tmpfs -o mode=1777 tmp $d; done
mount -t devpts -o ptmxmode=0666 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
$B ip link set lo up
$B stty -F /dev/ttyS1 raw -echo
echo 1 >/proc/sys/kernel/printk
status=125
. /run/vm/command </dev/null >/dev/ttyS1 2>&1
$B sync
$B stty -F /dev/ttyS2 raw -echo
echo "$status" >/dev/ttyS2
$B sleep 1
exec $B poweroff -f
SH
}

command_file() {
	local logs=$WHERE/build/test-logs

	echo "export PATH HOME=/tmp LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1"
	[ ! -d "$logs" ] || printf 'mount -t tmpfs logs %q\n' "$logs"
	printf 'cd %q\nstatus=0\n' "$WHERE"
	printf '%q ' "$@"
	echo '|| status=$?'
	echo 'cd /'
}

image() { # the initramfs
	local at=$TMP/initramfs m

	mkdir -p "$at"/{bin,proc,sys,dev,root,modules}
	cp "$(command -v busybox)" "$at/bin/busybox"
	first_program >"$at/init"
	second_program >"$at/second"
	command_file "$@" >"$at/command"
	echo "$WHERE" >"$at/where"
	chmod 755 "$at/init"
	for m in $(module_order "$MODULES"); do
		cp "$KERNEL/lib/modules/$VERSION/$m" "$at/modules/"
		case $m in *.xz) xz -d "$at/modules/$(basename "$m")" ;; esac
		basename "$m" .xz >>"$at/modules/order"
	done
	(cd "$at" && find . | cpio -o -H newc --quiet) >"$TMP/initramfs.cpio"
}

cleanup() {
	local p

	for p in $PIDS; do kill "$p" 2>/dev/null || true; done
	wait
	rm -rf "${TMP:?}"
}

[ "$(id -u)" -eq 0 ] || die "needs root: the machine's root is this host's"
QEMU=$(find_program qemu /usr/bin/qemu-system-x86_64)
FSD=$(find_program virtiofsd /usr/lib/qemu/virtiofsd /usr/libexec/virtiofsd)
command -v busybox cpio mkfs.ext4 >/dev/null || die "install busybox-static, cpio and e2fsprogs"
[ $# -gt 0 ] || set -- /bin/bash tests/vm/all.sh
TMP=$(mktemp -d /tmp/garth-vm.XXXXXX)
PIDS=
trap cleanup EXIT
trap 'exit 130' INT TERM
mkdir -p "$STORE"
fetch_kernel
VERSION=$(cat "$KERNEL/version")
image "$@"
truncate -s "${VM_DISK_MB:-4096}M" "$TMP/disk"
mkfs.ext4 -q -F "$TMP/disk"
"$FSD" --socket-path="$TMP/fs.sock" -o source=/ -o cache=auto -o xattr -o sandbox=chroot >"$TMP/fsd.log" 2>&1 &
PIDS=$!
for _ in $(seq 100); do [ -S "$TMP/fs.sock" ] && break || sleep 0.1; done
[ -S "$TMP/fs.sock" ] || die "virtiofsd: $(tail -n 1 "$TMP/fsd.log")"

timeout --foreground -k 10 "${VM_TIMEOUT:-3600}" "$QEMU" -nodefaults -no-user-config -no-reboot -display none \
	-machine "q35,accel=${VM_ACCEL:-tcg}" -cpu max,-arch-capabilities -smp "${VM_CPUS:-2}" -m "${VM_MB:-2048}" \
	-object "memory-backend-memfd,id=mem,size=${VM_MB:-2048}M,share=on" -numa node,memdev=mem \
	-kernel "$KERNEL/boot/vmlinuz-$VERSION" -initrd "$TMP/initramfs.cpio" \
	-append "console=ttyS0 quiet panic=-1 random.trust_cpu=on ${VM_APPEND:-}" \
	-chardev "socket,id=fs,path=$TMP/fs.sock" -device vhost-user-fs-pci,chardev=fs,tag=host \
	-drive "file=$TMP/disk,format=raw,if=none,id=disk,cache=unsafe" -device virtio-blk-pci,drive=disk \
	-device virtio-rng-pci \
	-serial "file:$TMP/kernel.log" -chardev stdio,id=out,signal=off -serial chardev:out -serial "file:$TMP/status" \
	</dev/null || true
[ -s "$TMP/status" ] || die "no status from the machine; its kernel's last words: $(tail -n 5 "$TMP/kernel.log" | tr '\r\n' '  ')"
if [ -n "${VM_KERNEL_LOG:-}" ]; then cp "$TMP/kernel.log" "$VM_KERNEL_LOG"; fi
exit "$(tr -d '\r\n' <"$TMP/status")"
