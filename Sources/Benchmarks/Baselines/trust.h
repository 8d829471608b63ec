/* The checks of a chain that receipts and signed transactions share. */
#ifndef TRUST_H
#define TRUST_H

#include <openssl/x509.h>

/* A store that holds the roots, and judges chains at that moment unless it is 0. */
X509_STORE *storeOfRoots(const char *rootsPEM, int64_t at);

/* Whether signer and intermediate bear Apple's markers. */
int hasMarkers(X509 *signer, X509 *intermediate);

#endif
