#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 300
#
# 01-first-step.sh - from `garth up` to the first download, as a newcomer types it, with the exit statuses of the contract.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

server_start
export GARTH_WORKSPACE=w GARTH_AGENT=a

check healthz curl -fsS "$GARTH_URL/healthz"
check version curl -fsS "$GARTH_URL/version"
status no_key_is_refused 22 curl -fsS "$GARTH_URL/v1/workspaces"

status init 0 garth init w --agent a --agent b
status init_again_is_a_conflict 5 garth init w
status a_name_with_slash_is_refused 2 garth init a/b
status an_unknown_command_is_usage 2 garth fly
status an_unknown_option_is_usage 2 garth run --fly -- true
status agent_add 0 garth agent add c
status agent_ls 0 garth agent ls
check agent_ls_names_them grep -q -w c <<<"$OUT"

echo "one,two" >"$TMP/t.csv"
status put 0 garth put "$TMP/t.csv"
check put_prints_path_and_hash grep -q "input/t.csv.*$(sha_of "$TMP/t.csv")\|$(sha_of "$TMP/t.csv").*input/t.csv" <<<"$OUT"
mkdir -p "$TMP/tree/deep" && echo 1 >"$TMP/tree/a" && echo 2 >"$TMP/tree/deep/b"
status put_a_folder 0 garth put -r "$TMP/tree" input/more/
status ls 0 garth ls input -l -R
check ls_shows_the_deep_file grep -q b <<<"$OUT"

status run_a_program 0 garth run -- /bin/sh -c 'pwd; id -u; echo oops >&2'
equal cwd_is_task "$(head -n 1 <<<"$OUT")" /workspace/task
equal stderr_is_apart "$ERR" oops
status run_passes_the_status 7 garth run -- /bin/sh -c 'exit 7'
status run_tells_a_signal 137 garth run -- /bin/sh -c 'kill -9 $$'
status run_not_found 127 garth run -- /no/such/program
status run_not_executable 126 garth run -- /etc/passwd
status run_code 0 garth run -c 'import sys; print(sys.argv, __file__)'
check code_has_its_path grep -q /run/garth/code/main.py <<<"$OUT"
equal run_bash_from_stdin "$(echo 'echo hi' | garth run --bash -)" hi
echo 'echo "from bash $0"' >"$TMP/s.sh"
status run_bash_file 0 garth run --bash "$TMP/s.sh"
check run_bash_file_says_so grep -q "from bash" <<<"$OUT"
equal stdin_reaches_the_step "$(echo hello | garth run --stdin -- cat)" hello
equal stdin_is_at_its_end_otherwise "$(echo hello | garth run -- wc -c)" 0
equal env_reaches_the_step "$(garth run --env 'K=a b' -- sh -c 'echo "$K"')" "a b"
equal cwd_option "$(garth run --cwd /workspace/output -- pwd)" /workspace/output
equal file_option "$(garth run --file in.csv="$TMP/t.csv" -- cat in.csv)" one,two
equal names_inside "$(garth run --job j -- sh -c 'echo $GARTH_WORKSPACE $GARTH_AGENT $GARTH_JOB')" "w a j"

status task_is_used 0 garth run -- sh -c 'echo x >/workspace/task/left'
equal task_is_emptied "$(garth run -- ls -A /workspace/task)" ""
status an_output 0 garth run -- sh -c 'echo result >/workspace/output/r.txt'
status get 0 garth get output/r.txt "$TMP/r.txt"
equal get_has_the_bytes "$(cat "$TMP/r.txt")" result
equal get_to_stdout "$(garth get output/r.txt -)" result
status get_what_is_not_there 3 garth get output/nothing "$TMP/x"
status get_with_dots_is_refused 2 garth get output/../input/t.csv "$TMP/x"

garth run --json -- sh -c 'echo out; echo err >&2; echo v2 >/workspace/output/r.txt; exit 3' >"$TMP/step.json"
equal json_run_passes_the_status $? 3
equal json_reason "$(json "j['state'], j['reason'], j['exit_code'], j['signal']" <"$TMP/step.json")" "('ended', 'exited', 3, None)"
equal json_output "$(json "j['stdout'], j['stderr'], j['stdout_truncated']" <"$TMP/step.json")" "('out\\n', 'err\\n', False)"
equal json_artifact "$(json "[(a['path'], a['agent'], a['version'] > 1, a['action'], a['state'], a['size']) for a in j['artifacts']]" <"$TMP/step.json")" \
	"[('output/r.txt', 'a', True, 'modified', 'sealed', 3)]"
equal json_hash "$(json "j['artifacts'][0]['sha256']" <"$TMP/step.json")" "$(printf 'v2\n' | sha256sum | cut -d' ' -f1)"
equal the_old_version_is_kept "$(garth get output/r.txt - --version 1)" result
step=$(json "j['step']" <"$TMP/step.json")
status step_shows_it 0 garth step "$step"
check step_names_the_file grep -q output/r.txt <<<"$OUT"
equal logs "$(garth logs "$step")" out
equal logs_stderr "$(garth logs "$step" --stderr)" err
status steps 0 garth steps
check steps_lists_it grep -q "$step" <<<"$OUT"

status link 0 garth link output/r.txt --expires 1h
equal link_needs_no_key "$(curl -fsS "$(grep -o 'http://[^ ]*' <<<"$OUT" | head -n 1)")" v2
equal http_by_path "$(curl -fsS -H "X-API-Key: $GARTH_API_KEY" "$GARTH_URL/v1/workspaces/w/output/r.txt")" v2

status detach 0 garth run --detach -- sh -c 'sleep 60'
step=$(grep -o 's_[A-Za-z0-9]*' <<<"$OUT" | head -n 1)
status ps 0 garth ps
check ps_shows_it grep -q "$step" <<<"$OUT"
status kill 0 garth kill "$step"
for _ in $(seq 100); do
	reason=$(garth step "$step" --json | json "j['reason']")
	[ "$reason" = None ] || break
	sleep 0.1
done
equal killed_is_its_reason "$reason" killed

status sandbox_create 0 garth sandbox create --lifetime 1m
sb=$(grep -o 'sb_[A-Za-z0-9]*' <<<"$OUT" | head -n 1)
status sandbox_first_step 0 garth run --sandbox "$sb" -- sh -c 'echo kept >/tmp/f; echo gone >/workspace/task/f'
equal sandbox_keeps_tmp_not_task "$(garth run --sandbox "$sb" -- sh -c 'cat /tmp/f; ls -A /workspace/task')" kept
status sandbox_ls 0 garth sandbox ls
check sandbox_ls_shows_it grep -q "$sb" <<<"$OUT"
status sandbox_rm 0 garth sandbox rm "$sb"
status run_in_a_sandbox_that_is_gone 3 garth run --sandbox "$sb" -- true

status key_create 0 garth key create --role reader
reader=$(GARTH_API_KEY=$GARTH_API_KEY garth key create --role reader --json | json "j['key']")
equal reader_reads_output "$(GARTH_API_KEY=$reader garth get output/r.txt -)" v2
GARTH_API_KEY=$reader status reader_runs_nothing 4 garth run -- true
GARTH_API_KEY=wrong status a_wrong_key_is_refused 4 garth steps

status rm_asks 2 garth rm w
status rm 0 garth rm w --yes
status rm_again 3 garth rm w --yes
server_stop
GARTH_URL=http://127.0.0.1:9 status no_server 7 garth steps
