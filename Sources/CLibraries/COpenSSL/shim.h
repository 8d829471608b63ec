#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* OpenSSL's stacks and OPENSSL_free are macros, which Swift does not import. */

static inline STACK_OF(X509) *COpenSSL_newCertificates(void) {
    return sk_X509_new_null();
}

/* The stack does not count a reference: the certificate must outlive it. */
static inline int COpenSSL_addCertificate(STACK_OF(X509) *certificates, X509 *certificate) {
    return sk_X509_push(certificates, certificate);
}

static inline int COpenSSL_certificateCount(const STACK_OF(X509) *certificates) {
    return sk_X509_num(certificates);
}

static inline X509 *COpenSSL_certificate(const STACK_OF(X509) *certificates, int index) {
    return sk_X509_value(certificates, index);
}

static inline void COpenSSL_freeCertificates(STACK_OF(X509) *certificates) {
    sk_X509_free(certificates);
}

/* Frees the stack and the reference that it counts for each certificate. */
static inline void COpenSSL_freeCertificatesAndReferences(STACK_OF(X509) *certificates) {
    sk_X509_pop_free(certificates, X509_free);
}

static inline int COpenSSL_signerCount(const STACK_OF(CMS_SignerInfo) *signers) {
    return sk_CMS_SignerInfo_num(signers);
}

static inline CMS_SignerInfo *COpenSSL_signer(const STACK_OF(CMS_SignerInfo) *signers, int index) {
    return sk_CMS_SignerInfo_value(signers, index);
}

/* What a memory BIO holds; it stays the BIO's. */
static inline long COpenSSL_contents(BIO *memory, const unsigned char **bytes) {
    return BIO_get_mem_data(memory, (char **)bytes);
}

static inline void COpenSSL_free(void *memory) {
    OPENSSL_free(memory);
}
