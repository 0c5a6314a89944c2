/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is this text an RSA private key, and of how many bits? PEM (RFC 7468) around PKCS#1
 * (RFC 8017 A.1.2) or PKCS#8 (RFC 5208), in DER. Enough to refuse at mint what no run could
 * sign with; signing itself is OpenSSL's.
 */
#include "base/b64.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"

#include <string.h>

struct der {
	const unsigned char *p;
	size_t n;
};

/* Takes one element of this tag off the front; *in then starts behind it. */
static bool take(struct der *in, unsigned char tag, struct der *out)
{
	size_t len, head = 2;

	if (in->n < 2 || in->p[0] != tag)
		return false;
	len = in->p[1];
	if (len >= 0x80) {
		size_t bytes = len & 0x7f;

		if (!bytes || bytes > 3 || in->n < 2 + bytes)
			return false;
		len = 0;
		for (size_t i = 0; i < bytes; i++)
			len = len << 8 | in->p[2 + i];
		head += bytes;
	}
	if (len > in->n - head)
		return false;
	*out = (struct der){in->p + head, len};
	in->p += head + len;
	in->n -= head + len;
	return true;
}

#define SEQUENCE 0x30
#define INTEGER  0x02
#define OID      0x06
#define OCTETS   0x04

/* The bits of the modulus of an RSAPrivateKey of two primes, or 0. */
static unsigned pkcs1_bits(struct der in)
{
	struct der key, part[9];
	unsigned bits;

	if (!take(&in, SEQUENCE, &key) || in.n)
		return 0;
	for (size_t i = 0; i < 9; i++)
		if (!take(&key, INTEGER, &part[i]) || !part[i].n)
			return 0;
	while (part[1].n && !*part[1].p)
		part[1].p++, part[1].n--;
	if (key.n || part[0].n != 1 || *part[0].p || !part[1].n || part[1].n > 4096)
		return 0;
	bits = (unsigned)part[1].n * 8;
	for (unsigned char top = *part[1].p; !(top & 0x80); top = (unsigned char)(top << 1))
		bits--;
	return bits;
}

static unsigned pkcs8_bits(struct der in)
{
	static const unsigned char rsa[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01};
	struct der info, version, algorithm, oid, key;

	if (!take(&in, SEQUENCE, &info) || in.n || !take(&info, INTEGER, &version) ||
		!take(&info, SEQUENCE, &algorithm) || !take(&algorithm, OID, &oid) ||
		!take(&info, OCTETS, &key))
		return 0;
	return oid.n == sizeof(rsa) && !memcmp(oid.p, rsa, sizeof(rsa)) ? pkcs1_bits(key) : 0;
}

static const struct {
	const char *begin, *end;
	unsigned (*bits)(struct der in);
} forms[] = {
	{"-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", pkcs1_bits},
	{"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", pkcs8_bits},
};

unsigned sec_rsa_bits(const char *pem)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		cleanup_buf struct cl_buf der = CL_BUF_SECRET;
		const char *from = strstr(pem, forms[i].begin), *to;

		to = from ? strstr(from, forms[i].end) : NULL;
		if (!to)
			continue;
		from += strlen(forms[i].begin);
		(void)cl_buf_reserve(&der, (size_t)(to - from));
		if (!cl_b64_decode(CL_B64, from, (size_t)(to - from), true, &der))
			return 0;
		return forms[i].bits((struct der){(const unsigned char *)der.p, der.len});
	}
	return 0;
}
