/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures of bindings and labels (DECISIONS K8): whoever can write state.db decides neither
 * where a project's work runs nor which grants an executor's labels match.
 */
#ifndef SEAL_FLEET_H
#define SEAL_FLEET_H

#include "seal/ring.h"
#include "store/fleet.h"

/* Fill the signature of everything else in the row. CL_EDATA for labels that are no UTF-8. */
int seal_binding_sign(const struct seal_signer *k, struct store_binding *b, struct cl_err *e);
int seal_labels_sign(const struct seal_signer *k, struct store_labels *l, struct cl_err *e);
/* True when the row is exactly as it was signed. */
bool seal_binding_verify(const unsigned char public_key[SEAL_KEY], const struct store_binding *b);
bool seal_labels_verify(const unsigned char public_key[SEAL_KEY], const struct store_labels *l);

/* What is signed; owned, NULL where a text is no UTF-8. */
char *seal_binding_message(const struct store_binding *b);
char *seal_labels_message(const struct store_labels *l);

#endif
