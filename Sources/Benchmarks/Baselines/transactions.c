#include "CBaselines.h"
#include "trust.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { certificatesBelowRoot = 2, halfSignature = 32 };

/* A JWS taken apart. */
typedef struct {
    const uint8_t *input;
    size_t inputCount;
    char *header;
    char *payload;
    uint8_t *signature;
} Parts;

/* Base64 of either alphabet, without padding; the text ends with a 0. */
static char *decoded(const uint8_t *digits, size_t count) {
    size_t padded = (count + 3) / 4 * 4;
    uint8_t *plain = malloc(padded);
    for (size_t index = 0; index < padded; index++) {
        uint8_t digit = index < count ? digits[index] : '=';
        plain[index] = digit == '-' ? '+' : digit == '_' ? '/' : digit;
    }
    char *text = malloc(padded / 4 * 3 + 1);
    int length = EVP_DecodeBlock((unsigned char *)text, plain, (int)padded);
    free(plain);
    if (length < 0) {
        free(text);
        return NULL;
    }
    text[(size_t)length - (padded - count)] = 0;
    return text;
}

static int takeApart(const CBaselines_Text *jws, Parts *parts) {
    const uint8_t *end = jws->bytes + jws->count;
    const uint8_t *first = memchr(jws->bytes, '.', jws->count);
    const uint8_t *second = first == NULL ? NULL : memchr(first + 1, '.', (size_t)(end - first - 1));
    if (second == NULL) return 0;
    parts->input = jws->bytes;
    parts->inputCount = (size_t)(second - jws->bytes);
    parts->header = decoded(jws->bytes, (size_t)(first - jws->bytes));
    parts->payload = decoded(first + 1, (size_t)(second - first - 1));
    parts->signature = (uint8_t *)decoded(second + 1, (size_t)(end - second - 1));
    return parts->header != NULL && parts->payload != NULL && parts->signature != NULL;
}

static void freeParts(Parts *parts) {
    free(parts->header);
    free(parts->payload);
    free(parts->signature);
}

/* The certificates that the header's x5c lists, without the last, a root. */
static int readCertificates(const char *header, X509 *certificates[certificatesBelowRoot]) {
    const char *text = strstr(header, "\"x5c\":[");
    for (int index = 0; index < certificatesBelowRoot; index++) {
        const char *begin = text == NULL ? NULL : strchr(text + (index == 0 ? 7 : 0), '"');
        const char *end = begin == NULL ? NULL : strchr(begin + 1, '"');
        if (end == NULL) return 0;
        size_t count = (size_t)(end - begin - 1);
        char *der = decoded((const uint8_t *)begin + 1, count);
        const unsigned char *position = (const unsigned char *)der;
        certificates[index] = der == NULL ? NULL : d2i_X509(NULL, &position, (long)(count / 4 * 3));
        free(der);
        if (certificates[index] == NULL) return 0;
        text = end + 1;
    }
    return 1;
}

static int holdsChain(X509 *certificates[certificatesBelowRoot], X509_STORE *store, time_t at) {
    STACK_OF(X509) *further = sk_X509_new_null();
    sk_X509_push(further, certificates[1]);
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_STORE_CTX_init(context, store, certificates[0], further);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context), at);
    int holds = X509_verify_cert(context) == 1 && hasMarkers(certificates[0], certificates[1]);
    X509_STORE_CTX_free(context);
    sk_X509_free(further);
    return holds;
}

/* r and s as OpenSSL reads them. */
static unsigned char *derSignature(const uint8_t *raw, int *count) {
    ECDSA_SIG *pair = ECDSA_SIG_new();
    ECDSA_SIG_set0(pair, BN_bin2bn(raw, halfSignature, NULL), BN_bin2bn(raw + halfSignature, halfSignature, NULL));
    unsigned char *der = NULL;
    *count = i2d_ECDSA_SIG(pair, &der);
    ECDSA_SIG_free(pair);
    return der;
}

static int isRight(EVP_PKEY *key, const unsigned char *der, int count, const uint8_t *input, size_t inputCount) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int right = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestVerify(context, der, (size_t)count, input, inputCount) == 1;
    EVP_MD_CTX_free(context);
    return right;
}

static int isAccepted(const CBaselines_Text *jws, X509_STORE *store) {
    Parts parts = {0};
    X509 *certificates[certificatesBelowRoot] = {0};
    int accepted = 0;
    if (takeApart(jws, &parts) && readCertificates(parts.header, certificates)) {
        const char *date = strstr(parts.payload, "\"signedDate\":");
        time_t at = date == NULL ? 0 : (time_t)(strtoll(date + 13, NULL, 10) / 1000);
        if (holdsChain(certificates, store, at)) {
            int count = 0;
            unsigned char *der = derSignature(parts.signature, &count);
            accepted = isRight(X509_get0_pubkey(certificates[0]), der, count, parts.input, parts.inputCount);
            OPENSSL_free(der);
        }
    }
    for (int index = 0; index < certificatesBelowRoot; index++) X509_free(certificates[index]);
    freeParts(&parts);
    ERR_clear_error();
    return accepted;
}

size_t CBaselines_signedTransactions(const CBaselines_Text *transactions, size_t count, const char *rootsPEM) {
    X509_STORE *store = storeOfRoots(rootsPEM, 0);
    size_t accepted = 0;
    for (size_t index = 0; index < count; index++) accepted += (size_t)isAccepted(&transactions[index], store);
    X509_STORE_free(store);
    return accepted;
}

typedef struct {
    unsigned char *der;
    int derCount;
    const uint8_t *input;
    size_t inputCount;
} Signature;

struct CBaselines_Signatures {
    X509 *signer;
    Signature *list;
    size_t count;
};

CBaselines_Signatures *CBaselines_prepareSignatures(const CBaselines_Text *transactions, size_t count) {
    CBaselines_Signatures *signatures = calloc(1, sizeof *signatures);
    signatures->list = calloc(count, sizeof *signatures->list);
    int readable = 1;
    for (; readable && signatures->count < count; signatures->count++) {
        Parts parts = {0};
        Signature *signature = &signatures->list[signatures->count];
        readable = takeApart(&transactions[signatures->count], &parts);
        if (readable && signatures->signer == NULL) {
            X509 *certificates[certificatesBelowRoot] = {0};
            readable = readCertificates(parts.header, certificates);
            signatures->signer = certificates[0];
            X509_free(certificates[1]);
        }
        if (readable) signature->der = derSignature(parts.signature, &signature->derCount);
        signature->input = parts.input;
        signature->inputCount = parts.inputCount;
        freeParts(&parts);
    }
    if (readable) return signatures;
    CBaselines_freeSignatures(signatures);
    return NULL;
}

size_t CBaselines_verifySignatures(const CBaselines_Signatures *signatures) {
    EVP_PKEY *key = X509_get0_pubkey(signatures->signer);
    size_t right = 0;
    for (size_t index = 0; index < signatures->count; index++) {
        const Signature *signature = &signatures->list[index];
        right += (size_t)isRight(key, signature->der, signature->derCount, signature->input, signature->inputCount);
    }
    return right;
}

void CBaselines_freeSignatures(CBaselines_Signatures *signatures) {
    for (size_t index = 0; index < signatures->count; index++) OPENSSL_free(signatures->list[index].der);
    X509_free(signatures->signer);
    free(signatures->list);
    free(signatures);
}
