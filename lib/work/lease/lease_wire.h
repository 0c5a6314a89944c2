/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A lease as bytes: what a process that holds the key writes into a pipe, and what it is in the
 * memory of who reads it. One format for both, so what a workload is given always came through
 * this parser. Pure but for the locked memory it keeps.
 *
 *	"cloop-lease 1\n", then records: a letter, and as many fields as the letter has, each a
 *	length (4 bytes, big endian), so many bytes, and a NUL. L first, E last.
 */
#ifndef WORK_LEASE_WIRE_H
#define WORK_LEASE_WIRE_H

#include "work/lease/lease.h"

#define LEASE_WIRE_MAX (16u << 20)

/* The bytes of a lease of that id ("" with nothing in it). *out is SEAL_BUF_INIT. CL_EOS. */
int lease_pack(const struct sec_lease *l, const char *id, struct seal_buf *out, struct cl_err *e);
/*
 * Takes the bytes over (also when it fails) and makes a lease of them. CL_EDATA, slug
 * "bad_lease", for anything that lease_pack does not write.
 */
int lease_parse(struct seal_buf *take_bytes, struct lease **out, struct cl_err *e);

#endif
