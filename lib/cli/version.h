/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_CLI_VERSION_H
#define CL_CLI_VERSION_H

/* The release, and the commit it was built from (set by the Makefile). */
#define CLOOP_VERSION "0.1.0"
/* Wire protocol between hub and agent, and the oldest one still spoken. */
#define CLOOP_PROTOCOL     1
#define CLOOP_MIN_PROTOCOL 1
/* Counts releases, so that two builds can be put in order. */
#define CLOOP_SEQUENCE 1

#endif
