#!/bin/bash
# SPDX-License-Identifier: MIT
#
# up.sh - garth up, down and doctor: starting, stopping, restarting what was killed, and refusing with one sentence.
# timeout: 300
set -u

BIN=${GARTH_BIN:-build/bin}
TMP=$(mktemp -d /tmp/garth-up-XXXXXX)
G=$BIN/garth
export GARTH_LOG=warn
failed=0

pass() { echo "PASS $1"; }
fail() {
	echo "FAIL $1: $2"
	failed=1
}
# check NAME CONDITION...: the condition is a command
check() {
	local name=$1
	shift
	if "$@"; then pass "$name"; else fail "$name" "$*"; fi
}
server_of() { printf %s "$(realpath "$1")" | sha256sum | cut -c1-16; }
start() { "$G" up --data "$1" --listen 127.0.0.1:0 --detach "${@:2}" >"$TMP/ready" 2>"$TMP/err"; }
url() { sed -n 's/^garth: ready //p' "$TMP/ready"; }
healthy() { [ "$(curl -s -m 2 -o /dev/null -w '%{http_code}' "$1/healthz")" = 200 ]; }
until_healthy() {
	local i
	for i in $(seq 150); do
		healthy "$1" && return 0
		sleep 0.1
	done
	return 1
}
up_pid() { cut -d' ' -f1 "/run/garth/$(server_of "$1")/up.pid"; }
child() { pgrep -P "${1:-0}" -x "$2" 2>/dev/null; }
# nothing of a data folder is left: mounts, cgroups, processes
clean() {
	local left=0
	grep -q " $1/" /proc/self/mountinfo && left=1
	compgen -G "/sys/fs/cgroup/*/garth/$(server_of "$1")" >/dev/null && left=1 # v1
	[ ! -e "/sys/fs/cgroup/garth/$(server_of "$1")" ] || left=1                # v2
	pgrep -f -- "--data $1 " >/dev/null && left=1
	return $left
}
# refused NAME WORD COMMAND...: exit 1, and one sentence that has the word
refused() {
	local name=$1 word=$2
	shift 2
	"$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	local rc=$?
	if [ $rc -eq 1 ] && [ "$(wc -l <"$TMP/err")" -eq 1 ] && grep -q -- "$word" "$TMP/err" && [ ! -s "$TMP/out" ]; then
		pass "$name"
	else
		fail "$name" "exit $rc, said: $(head -c 300 "$TMP/err")"
	fi
}
finish() {
	local d
	for d in "$TMP"/*/; do
		[ -f "$d/version" ] && "$G" down --data "$d" 2>/dev/null
	done
	umount "$TMP/small" 2>/dev/null
	rm -rf "$TMP"
}
trap finish EXIT

A=$TMP/a B=$TMP/b

start "$A"
check up_detach_is_ready_and_serves healthy "$(url)"
A_URL=$(url)
check admin_key_is_private [ "$(stat -c %a:%u "$A/admin.key")" = 600:0 ]
check admin_key_is_known_by_its_hash grep -q " $(tr -d '\n' <"$A/admin.key" | sha256sum | cut -c1-64) " "$A/keys"
check keys_hold_no_key [ "$(grep -c "$(cat "$A/admin.key")" "$A/keys")" = 0 ]
refused up_twice_is_refused "running already" "$G" up --data "$A" --listen 127.0.0.1:0
refused up_busy_port_is_refused "is busy" "$G" up --data "$B" --listen "${A_URL#http://}"

start "$B"
check two_servers_side_by_side healthy "$(url)"
B_URL=$(url)
check two_servers_have_ranges_of_their_own [ "$(head -1 "$A/ids")" != "$(head -1 "$B/ids")" ]
"$G" down --data "$B"
check down_of_one_leaves_the_other healthy "$A_URL"
check down_leaves_nothing clean "$B"
check down_has_stopped_serving [ "$(curl -s -m 2 -o /dev/null -w '%{http_code}' "$B_URL/healthz")" = 000 ]
"$G" down --data "$B" 2>/dev/null
check down_without_a_server_is_7 [ $? -eq 7 ]

# a workspace, so that there is something to lose
export GARTH_URL=$A_URL GARTH_API_KEY
GARTH_API_KEY=$(cat "$A/admin.key")
"$G" init w --agent a >/dev/null
runs() { [ "$("$G" run -w w -a a -- echo yes 2>/dev/null)" = yes ]; }
until_runs() {
	local i
	for i in $(seq 75); do
		runs && return 0
		sleep 0.2
	done
	return 1
}
check step_runs runs
fs=$(child "$(child "$(child "$(up_pid "$A")" garthd)" garth-keeper)" garth-fs)
check threads_have_names [ "$(cat /proc/"$fs"/task/*/comm | sort -u | tr '\n' ' ')" = "desk fuse garth-fs index logs mender retain sealer teller trash " ]
mode=$(stat -f -c %T "$A/mnt/w")
check workspace_is_mounted [ "$mode" = fuseblk -o "$mode" = fuse ]
check workspace_mount_is_closed_to_users [ "$(setpriv --reuid 12345 --regid 12345 --clear-groups ls "$A/mnt/w" 2>/dev/null)" = "" ]

U=$(up_pid "$A")
for name in garth-api garthd; do
	old=$(child "$U" "$name")
	kill -9 "$old"
	for _ in $(seq 100); do
		new=$(child "$U" "$name")
		[ -n "$new" ] && [ "$new" != "$old" ] && break
		sleep 0.1
	done
	check "killed_${name}_comes_back" until_healthy "$A_URL"
	check "killed_${name}_steps_run_again" until_runs
done

kill -9 "$U"
sleep 0.5
check killed_supervisor_takes_all_with_it [ -z "$(pgrep -f -- "--data $A ")" ]
R=/run/garth/$(server_of "$A")
mkdir -p "$R/etc.9/x"
: >"$R/gone.ring"
start "$A"
check killed_supervisor_next_start_serves healthy "$(url)"
check next_start_cleans_the_run_folder [ ! -e "$R/etc.9" -a ! -e "$R/gone.ring" -a -e "$R/w.ring" ]
GARTH_URL=$(url)
check killed_supervisor_steps_run_again until_runs
"$G" down --data "$A"
check killed_supervisor_nothing_is_left clean "$A"
check down_removes_the_run_folder [ ! -e "$R" ]

# foreground: ^C ends it in order, with 0
"$G" up --data "$A" --listen 127.0.0.1:0 >"$TMP/ready" 2>"$TMP/err" &
fg=$!
for _ in $(seq 100); do
	[ -n "$(url)" ] && break
	sleep 0.1
done
check foreground_says_ready healthy "$(url)"
GARTH_URL=$(url)
step=$("$G" run --detach -w w -a a -- sleep 60)
for _ in $(seq 50); do
	"$G" ps -w w | grep -q running && break
	sleep 0.1
done
kill -INT $fg
wait $fg
check foreground_interrupt_is_0 [ $? -eq 0 ]
check foreground_leaves_nothing clean "$A"

# systemd's way to hear that it is ready
/usr/bin/python3 - "$TMP/notify" >"$TMP/heard" <<'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(20)
print(s.recv(100).decode())
PY
py=$!
while [ ! -S "$TMP/notify" ]; do sleep 0.05; done
NOTIFY_SOCKET=$TMP/notify start "$A"
wait $py
check notify_says_ready [ "$(cat "$TMP/heard")" = READY=1 ]
GARTH_URL=$(url)
"$G" step "$step" --json >"$TMP/out"
check a_stop_says_so_in_the_record [ "$(/usr/bin/python3 -c 'import json, sys; j = json.load(sys.stdin); print(j["reason"], j["detail"])' <"$TMP/out")" = "lost the server was stopped" ]
"$G" down --data "$A"

# what can't start says why, in one sentence
echo 99 >"$A/version"
refused newer_data_folder_is_refused "newer garth" "$G" up --data "$A" --listen 127.0.0.1:0
echo 1 >"$A/version"
cat >"$TMP/few.yaml" <<'YAML'
ids: [3000000000, 8192]
YAML
refused too_few_ids_are_refused "too few ids" "$G" up --config "$TMP/few.yaml" --data "$TMP/c" --listen 127.0.0.1:0
cat >"$TMP/bad.yaml" <<'YAML'
data: /nowhere
limits:
  sandboxen: 3
YAML
refused unknown_key_names_its_line "line 3, column 3" "$G" up --config "$TMP/bad.yaml"
refused no_fuse_is_refused "/dev/fuse" unshare -m sh -c 'mount -t tmpfs x /dev && exec "$@"' sh "$G" up --data "$TMP/c" --listen 127.0.0.1:0
refused read_only_cgroups_are_refused cgroup unshare -m sh -c \
	'awk "\$3 ~ /^cgroup/ {print \$2}" /proc/mounts | while read -r m; do mount -o remount,bind,ro "$m"; done; exec "$@"' \
	sh "$G" up --data "$TMP/c" --listen 127.0.0.1:0
mkdir "$TMP/small"
mount -t tmpfs -o size=4m x "$TMP/small"
refused full_disk_is_refused "is full" "$G" up --data "$TMP/small/d" --listen 127.0.0.1:0
umount "$TMP/small"
refused not_root_is_refused "needs root" setpriv --reuid 12345 --regid 12345 --clear-groups "$G" up --data "$TMP/c"
"$G" up --listen nonsense 2>/dev/null
check bad_argument_is_2 [ $? -eq 2 ]

"$G" doctor --data "$A" --listen 127.0.0.1:0 >"$TMP/out"
check doctor_finds_nothing_missing [ $? -eq 0 ]
check doctor_says_a_line_each [ "$(grep -c -E '^(ok|warn) ' "$TMP/out")" = "$(wc -l <"$TMP/out")" ]
"$G" doctor --data "$A" --listen 127.0.0.1:0 --json | /usr/bin/python3 -c \
	'import json, sys; d = json.load(sys.stdin); assert d["ok"] and {"cgroups", "landlock", "seccomp", "ids"} <= {c["name"] for c in d["checks"]}'
check doctor_speaks_json [ $? -eq 0 ]
"$G" doctor --data /proc/nowhere --json | grep -q '"ok": false'
check doctor_refuses_a_bad_store [ $? -eq 0 ]

exit $failed
