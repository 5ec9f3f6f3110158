#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 180
#
# 06-client.sh - what the client owes to people and to scripts: colours and progress on a terminal alone, a step that ends with its
# client, folders there and back, an exported record that verifies elsewhere.
# Not here: exit codes and malformed answers (cli_peer.py).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

server_start
export GARTH_WORKSPACE=w GARTH_AGENT=a
status init 0 garth init w --agent a

# Without a workspace: which there are.
status ls_lists_workspaces 0 env -u GARTH_WORKSPACE garth ls
check ls_lists_names_and_agents grep -q -E '^w +a +0 +20' <<<"$OUT"
equal ls_lists_workspaces_as_json "$(env -u GARTH_WORKSPACE garth ls --json | json '[(i["name"], i["agents"], i["steps"]) for i in j["items"]]')" "[('w', ['a'], 0)]"
status ls_of_a_path_needs_a_workspace 2 env -u GARTH_WORKSPACE garth ls output
for args in --help --version 'ls --help'; do
	# shellcheck disable=SC2086
	status "a_full_disk_is_no_success_${args// /_}" 1 bash -c "garth $args >/dev/full"
done

# On a terminal: what was refused in red, and the hint; else only what the program wrote.
on_tty() { script -qec "$*" /dev/null </dev/null; }
red=$'\033[31m'
refused="garth run -- sh -c 'echo x 2>/dev/null >/workspace/input/x || echo no'"
check a_terminal_sees_the_refusal_in_red grep -q -F "${red}garth: refused: create input/x" <<<"$(on_tty "$refused")"
check no_color_is_obeyed grep -q '^garth: refused' <<<"$(NO_COLOR=1 on_tty "$refused")"
status a_pipe_sees_the_program_alone 0 bash -c "$refused"
equal a_pipe_sees_no_garth_line "$OUT$ERR" no
check a_terminal_sees_the_hint grep -q 'garth: hint: ' <<<"$(on_tty "garth run -c 'import nosuchmodule'")"
check violations_are_red_on_a_terminal grep -q -F "$red" <<<"$(on_tty garth violations)"
status violations 0 garth violations
check violations_are_plain_in_a_pipe bash -c '! grep -q "$(printf "\033")"' <<<"$OUT"

# Progress is for what takes a while, on a terminal.
slow="(echo 1; sleep 0.8; echo 2) | garth put - input/slow"
check an_upload_shows_progress_on_a_terminal grep -q 'input/slow  4 B  .*/s' <<<"$(on_tty "$slow" | tr '\r' '\n')"
status an_upload_in_a_script 0 bash -c "$slow"
equal an_upload_in_a_script_is_silent "$ERR" ""

# Folders there and back, with names that need care.
mkdir -p "$TMP/d/empty not" "$TMP/d/sub"
echo 1 >"$TMP/d/a b%20c?#&+.csv"
echo 2 >"$TMP/d/sub/é"
echo 3 >"$TMP/d/empty not/-x"
ln -s /etc/passwd "$TMP/d/link"
status put_folder 0 garth put -r "$TMP/d"
check put_says_that_links_are_skipped grep -q 'skipping link' <<<"$ERR"
status get_folder 0 garth get input/d "$TMP/back"
rm "$TMP/d/link"
check folders_are_equal diff -r "$TMP/d" "$TMP/back"
status get_into_a_folder 0 garth get input/d/sub/é "$TMP/back"
check it_keeps_its_name cmp "$TMP/back/é" "$TMP/d/sub/é"

# The step ends with the client that waits for it.
garth run --job gone -- sleep 25 &
client=$!
for _ in $(seq 50); do [ "$(garth ps --json | json 'len(j["items"])')" = 1 ] && break; sleep 0.1; done
equal the_step_runs "$(garth ps --json | json 'j["items"][0]["job"]')" gone
kill -TERM $client
wait $client 2>/dev/null
for _ in $(seq 50); do [ "$(garth ps --json | json 'len(j["items"])')" = 0 ] && break; sleep 0.1; done
equal the_step_ended_with_its_client "$(garth steps --json --limit 1 | json 'j["items"][0]["reason"]')" killed

# Detached it goes on.
step=$(garth run --detach -- sh -c 'echo out; echo err >&2; sleep 1; echo kept >/workspace/output/late')
for _ in $(seq 50); do [ "$(garth step "$step" --json | json 'j["state"]')" = ended ] && break; sleep 0.1; done
equal detached_step_ends "$(garth step "$step" --json | json 'j["reason"]')" exited
equal logs "$(garth logs "$step")" out
equal logs_stderr "$(garth logs "$step" --stderr)" err
check step_names_what_it_wrote grep -q 'wrote.*output/late' <<<"$(garth step "$step")"

# An export verifies elsewhere, and a changed byte is found.
mkdir "$TMP/copy"
status export 0 garth audit export "$TMP/x.tar"
check export_is_a_tar tar -xf "$TMP/x.tar" -C "$TMP/copy"
status a_copy_verifies_without_a_server 0 env -u GARTH_API_KEY GARTH_URL=http://127.0.0.1:1 garth audit verify "$TMP/copy/w"
object=$(find "$TMP/copy/w/objects" -type f -size +0 | head -n 1)
printf X | dd of="$object" bs=1 conv=notrunc status=none
status a_changed_object_is_found 1 garth audit verify "$TMP/copy/w"
check and_named grep -q "$(basename "$object")" <<<"$OUT"

status rm_asks_for_yes 2 garth rm w
status rm 0 garth rm w --yes
status it_is_gone 3 garth ls
server_stop
