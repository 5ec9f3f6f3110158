/* SPDX-License-Identifier: MIT */
/*
 * api/handlers.h - every handler that the table of routes names. Each answers its request once, now or later (api/req.h).
 */
#ifndef GARTH_API_HANDLERS_H
#define GARTH_API_HANDLERS_H

struct req;

/* meta.c */
void h_healthz(struct req *r);
void h_readyz(struct req *r);
void h_version(struct req *r);
void h_openapi(struct req *r);
void h_metrics(struct req *r);
/* key_http.c */
void h_key_list(struct req *r);
void h_key_create(struct req *r);
void h_key_delete(struct req *r);
/* workspace.c */
void h_ws_list(struct req *r);
void h_ws_create(struct req *r);
void h_ws_get(struct req *r);
void h_ws_delete(struct req *r);
/* agent.c */
void h_agent_list(struct req *r);
void h_agent_create(struct req *r);
/* policy_http.c */
void h_policy_get(struct req *r);
void h_policy_put(struct req *r);
void h_policy_explain(struct req *r);
/* download.c, upload.c */
void h_file_get(struct req *r);
void h_output_get(struct req *r);
void h_file_put_head(struct req *r);
void h_file_put(struct req *r);
/* record_http.c, lineage.c */
void h_artifacts(struct req *r);
void h_violations(struct req *r);
void h_lineage(struct req *r);
/* sandbox_http.c */
void h_sandbox_list(struct req *r);
void h_sandbox_create(struct req *r);
void h_sandbox_get(struct req *r);
void h_sandbox_delete(struct req *r);
/* step_http.c */
void h_step_list(struct req *r);
void h_step_create(struct req *r);
void h_step_get(struct req *r);
void h_step_kill(struct req *r);
void h_step_stdout(struct req *r);
void h_step_stderr(struct req *r);
/* link_http.c, audit.c */
void h_link_create(struct req *r);
void h_audit_verify(struct req *r);
void h_audit_export(struct req *r);

#endif
