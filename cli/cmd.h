/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd.h - the commands of `garth`: each takes its own argv (argv[0] is its name) and gives back the exit code (cli/exit.h).
 */
#ifndef GARTH_CLI_CMD_H
#define GARTH_CLI_CMD_H

int cmd_up(int argc, char **argv);
int cmd_down(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_init(int argc, char **argv);
int cmd_rm(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_put(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_link(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_sandbox(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_kill(int argc, char **argv);
int cmd_logs(int argc, char **argv);
int cmd_steps(int argc, char **argv);
int cmd_step(int argc, char **argv);
int cmd_lineage(int argc, char **argv);
int cmd_violations(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_key(int argc, char **argv);

#endif
