/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Apart from what signs: a command that only checks signatures starts without libcrypto
 * (DECISIONS D15). Not constant in time; nothing here is secret.
 */
#include "seal/crypto.h"

#include <sodium/crypto_sign_ed25519.h>

bool seal_verify(const unsigned char public_key[SEAL_KEY], const void *msg, size_t len,
	const unsigned char sig[SEAL_SIG])
{
	return !crypto_sign_ed25519_verify_detached(sig, msg, len, public_key);
}
