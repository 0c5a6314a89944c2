/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How commands talk to a workload's shim: a SOCK_SEQPACKET socket in its runtime folder
 * (which only its owner can enter), one JSON object a packet, descriptors beside it.
 *
 *   {"op":"attach"[,"replay":false]} + stdout, stderr [, stdin]
 *                                                -> {"ok":true}, and {"ended":{...}} at the end
 *   {"op":"wait"}                                -> {"ended":{...}} at the end
 *   {"op":"status"}                              -> {"ok":true, "state":...}
 *   {"op":"signal","signal":"interrupt"|"terminate"|"kill","cause":...} -> {"ok":true}
 *   {"op":"lease"}                               -> {"ok":true}: something was taken back, look
 * A refusal is {"error":{...}}.
 */
#ifndef CL_WORK_CONTROL_H
#define CL_WORK_CONTROL_H

#include "base/doc.h"

#include <stdint.h>

#define CONTROL_MAX 65536
#define CONTROL_FDS 3

/* A listening socket at `path` (which is replaced); CL_EOS. */
int control_listen(const char *path, int *fd, struct cl_err *e);
/*
 * Connects. CL_EUNAVAIL: nobody listens, or the socket's folder is one that somebody else than
 * root and the caller may write to.
 */
int control_connect(const char *path, int *fd, struct cl_err *e);
/* CL_EUNAVAIL: it hung up without an answer. */
int control_gone(struct cl_err *e);
/* Sends one object (borrowed) with nfds descriptors. CL_EOS. */
int control_send(int fd, json_t *msg, const int *fds, size_t nfds, struct cl_err *e);
/*
 * Receives one packet. *msg is owned, NULL when the peer has closed. At most
 * CONTROL_FDS descriptors are taken into fds[], *nfds of them, owned.
 */
int control_recv(int fd, json_t **msg, int fds[CONTROL_FDS], size_t *nfds, struct cl_err *e);

/* A supervisor answers at once; one that has not by then hangs, or its store does. */
#define CONTROL_ASK_MS 30000
/*
 * Connects, sends one request, reads its answer: 0, or the error the peer gave. CL_EBUSY where
 * it gave none in time.
 */
int control_ask(const char *path, json_t *msg, struct cl_err *e);
int control_ask_within(const char *path, json_t *msg, int64_t ms, struct cl_err *e);

#endif
