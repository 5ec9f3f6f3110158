#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 600
#
# 03-limits.sh - each limit of the policy's shape with its documented effect (docs/POLICY.md).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# step ARGS...: run as agent a, the step object in $TMP/step.json
step() { garth run -a a --json "$@" >"$TMP/step.json" 2>"$TMP/step.err" </dev/null; }
field() { json "$1" <"$TMP/step.json"; }
workspace() { # name, limits
	printf 'version: 1\nlimits: %s\nagents: { a: {}, small: { limits: { memory: 96MiB, pids: 8 } } }\n' "$2" >"$TMP/$1.yaml"
	garth init "$1" --policy "$TMP/$1.yaml" --agent a --agent small || exit 1
	export GARTH_WORKSPACE=$1
}

server_start
workspace steps '{ step: { timeout: 20s, timeout_max: 30s, memory: 256MiB, memory_max: 512MiB, pids: 32, cpus: 1, open_files: 64, log: 64KiB, tmp: 8MiB, file: 1MiB, code: 4KiB }, upload: 64KiB }'

# time
step --timeout 1s -- sleep 30
equal timeout_status $? 124
equal timeout_reason "$(field "j['reason']")" timeout
check timeout_is_punctual [ "$(field "900 <= j['wall_ms'] < 8000")" = True ]
status timeout_says_so 124 garth run -a a --timeout 1s -- sh -c 'trap "" TERM; sleep 30 & setsid sleep 30 & wait'
check timeout_line grep -q 'garth: ended: timeout' <<<"$ERR"
step --timeout 31s -- true
check timeout_past_its_max_is_refused [ $? -ne 0 ]
check timeout_refusal_names_the_most grep -q 30 "$TMP/step.err"

# memory
step -c 'x = bytearray(400 << 20); print(len(x))'
equal memory_status $? 137
equal memory_reason "$(field "j['reason']")" memory
check memory_peak_is_told [ "$(field "j['memory_peak_bytes'] > 100 << 20")" = True ]
step --memory 512M -c 'x = bytearray(300 << 20); print(len(x))'
equal more_memory_on_request $? 0
step --memory 1G -- true
check memory_past_its_max_is_refused [ $? -ne 0 ]
status memory_line 137 garth run -a a -c 'x = bytearray(400 << 20)'
check memory_line_says_limit grep -q 'garth: ended: memory (limit 256.0 MiB' <<<"$ERR"
garth run -a small --json -c 'x = bytearray(150 << 20)' >"$TMP/step.json" 2>/dev/null
equal an_agent_has_its_own_memory $? 137
step -c 'open("/dev/shm/x", "wb").write(bytes(400 << 20))'
equal shared_memory_counts "$(field "j['reason'] in ('memory', 'exited') and j['exit_code'] != 0")" True

# processes
fork='
import errno, os, time
n = 0
try:
    for i in range(200):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        n += 1
except OSError as e:
    print(n, errno.errorcode[e.errno])
'
step -c "$fork"
equal pids_is_eagain "$(field "j['stdout'].split()[1]")" EAGAIN
check pids_counts [ "$(field "24 <= int(j['stdout'].split()[0]) <= 32")" = True ]
equal a_handled_refusal_is_no_end "$(field "j['reason'], j['exit_code']")" "('exited', 0)"
check descendants_die_with_the_step [ "$(field "j['wall_ms'] < 10000")" = True ]
step -c "$(sed '/except/,$d; s/^try:/if True:/' <<<"$fork")"
equal pids_is_a_reason_where_the_program_fails "$(field "j['reason']")" pids

# cpu
step --cpus 0.5 -c '
import time, os
if os.fork() == 0:
    end = time.time() + 3
    while time.time() < end: pass
    os._exit(0)
end = time.time() + 3
while time.time() < end: pass
os.wait()'
check cpus_bound_the_whole_step [ "$(field "j['cpu_ms'] < 0.5 * j['wall_ms'] * 1.3 + 300")" = True ]

# descriptors, logs, /tmp, files, code, uploads
step -c '
import errno
files = []
try:
    while True: files.append(open("/dev/null"))
except OSError as e:
    print(len(files), errno.errorcode[e.errno])'
equal open_files_is_emfile "$(field "j['stdout'].split()[1], 40 < int(j['stdout'].split()[0]) <= 64")" "('EMFILE', True)"
step -c 'import sys; sys.stdout.write("x" * (1 << 20)); sys.stderr.write("done")'
equal log_is_cut_and_said "$(field "j['exit_code'], j['stdout_truncated'], j['stdout_bytes'], len(j['stdout']) <= 65536, j['stderr'], j['stderr_truncated']")" \
	"(0, True, 1048576, True, 'done', False)"
step -c '
import errno
try:
    with open("/tmp/x", "wb", buffering=0) as f:
        for i in range(64): f.write(bytes(1 << 18)); print(i)
except OSError as e:
    print(errno.errorcode[e.errno])'
check tmp_is_bounded [ "$(field "j['stdout'].split()[-1] in ('ENOSPC', 'EFBIG')")" = True ]
step -c '
import errno
n = 0
try:
    for i in range(64):
        with open(f"/tmp/{i}", "wb") as f: f.write(bytes(1 << 19))
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], n)'
equal tmp_is_enospc "$(field "j['stdout'].split()[0], 8 < int(j['stdout'].split()[1]) <= 16")" "('ENOSPC', True)"
for zone in output task agents/a; do
	step -c "
import errno
try:
    with open('/workspace/$zone/big', 'wb', buffering=0) as f:
        while True: f.write(bytes(1 << 18))
except OSError as e:
    print(errno.errorcode[e.errno])
import os
print(os.stat('/workspace/$zone/big').st_size <= 1 << 20)
os.unlink('/workspace/$zone/big')"
	equal "file_is_efbig_in_${zone/\//_}" "$(field "j['stdout'].split()")" "['EFBIG', 'True']"
done
step -c "open('/workspace/output/big', 'wb').write(bytes(2 << 20))"
equal too_large_a_file_has_a_hint "$(field "j['error']['name'], j['error']['hint']['code'], j['error']['hint']['data']")" "('OSError', 'file.toobig', {'limit_bytes': 1048576})"
step -- sh -c 'ulimit -S -f >/dev/null; head -c 2M /dev/zero >/workspace/output/big'
equal too_large_a_file_of_a_program_has_a_hint "$(field "j['error']['hint']['code'], 'file' in j['error']['hint']['text']")" "('file.toobig', True)"
rm_big() { step -- rm -f /workspace/output/big; }
rm_big
head -c 8000 /dev/zero | tr '\0' '#' >"$TMP/long.py"
step --python "$TMP/long.py"
check code_past_its_limit_is_refused [ $? -ne 0 ]
head -c 65537 /dev/zero >"$TMP/large"
status upload_past_its_limit_is_refused 1 garth put "$TMP/large"
head -c 65536 /dev/zero >"$TMP/large"
status upload_at_its_limit_is_taken 0 garth put "$TMP/large"

# quotas
quota='
import errno
n = 0
try:
    for i in range(400):
        with open(f"/workspace/output/q{i}", "wb", buffering=0) as f:
            f.write(bytes(SIZE))
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], n)
'
workspace bytes '{ workspace: { bytes: 4MiB } }'
step -c "${quota/SIZE/1 << 16}"
equal workspace_bytes_is_edquot "$(field "j['stdout'].split()[0], 20 < int(j['stdout'].split()[1]) <= 64")" "('EDQUOT', True)"
step -c "$(sed '/except/,$d; s/^try:/if True:/' <<<"${quota/SIZE/1 << 16}")"
equal disk_is_a_reason_where_the_program_fails "$(field "j['reason']")" disk
workspace files '{ workspace: { files: 100 } }'
step -c "${quota/SIZE/1}"
equal workspace_files_is_edquot "$(field "j['stdout'].split()[0], 50 < int(j['stdout'].split()[1]) <= 100")" "('EDQUOT', True)"
workspace agents '{ agent: { bytes: 2MiB, files: 50 } }'
step -c "${quota/SIZE/1}"
equal agent_files_is_edquot "$(field "j['stdout'].split()[0], 20 < int(j['stdout'].split()[1]) <= 50")" "('EDQUOT', True)"
equal another_agent_has_its_own "$(garth run -a small -c 'open("/workspace/output/mine", "w").write("x"); print("ok")')" ok

# sandboxes and the queue
workspace queue '{ workspace: { sandboxes: 1, steps_queued: 1 } }'
first=$(garth run -a a --detach -- sleep 20 | grep -o 's_[A-Za-z0-9]*' | head -n 1)
for _ in $(seq 50); do [ "$(garth step "$first" --json | json "j['state']")" = running ] && break || sleep 0.1; done
second=$(garth run -a a --detach -- true | grep -o 's_[A-Za-z0-9]*' | head -n 1)
equal the_second_waits "$(garth step "$second" --json | json "j['state']")" queued
status past_the_queue_is_busy 6 garth run -a a -- true
status kill_the_first 0 garth kill "$first"
for _ in $(seq 100); do
	state=$(garth step "$second" --json | json "j['state'], j['reason']")
	[ "$state" = "('ended', 'exited')" ] && break || sleep 0.1
done
equal the_second_then_runs "$state" "('ended', 'exited')"

# no network
equal no_interface_but_lo "$(garth run -a a -- ls /sys/class/net 2>/dev/null || garth run -a a -- sh -c 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "')" lo
server_stop
