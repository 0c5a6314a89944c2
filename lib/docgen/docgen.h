/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_DOCGEN_H
#define CL_DOCGEN_H

#include <jansson.h>
#include <stdio.h>

/* obj[key] as a string, "" when it is not there. Borrowed. */
const char *dg_str(json_t *o, const char *key);

/* Text for an mdoc(7) line, and a quoted argument of a macro. */
void dg_text(const char *s);
void dg_arg(const char *s);
/* The part of a prose file that stands before what the table has, or behind it. */
enum dg_part { DG_HEAD, DG_TAIL };
void dg_prose(const char *path, enum dg_part part);

/*
 * The mdoc(7) page of one command on stdout; `prose` is a file with DESCRIPTION and more, or
 * NULL. `pages` ("cloop-egress.1") are all there are: a page points to no other of ours.
 */
void dg_man(json_t *spec, const char *prose, char *const *pages, size_t npages);
/* cloop-config.yaml(5) on stdout; `keys` has a row of the table of keys on each line. */
void dg_config(FILE *keys, const char *prose);
/* Completion of all commands on stdout. */
void dg_bash(json_t *const *specs, size_t n);
void dg_zsh(json_t *const *specs, size_t n);
void dg_fish(json_t *const *specs, size_t n);

#endif
