#include "CBaselines.h"
#include "trust.h"

#include <openssl/cms.h>
#include <openssl/err.h>

static int isMarked(CMS_ContentInfo *container) {
    X509 *signer = NULL;
    CMS_SignerInfo_get0_algs(sk_CMS_SignerInfo_value(CMS_get0_SignerInfos(container), 0), NULL, &signer, NULL, NULL);
    STACK_OF(X509) *certificates = CMS_get1_certs(container);
    X509 *intermediate = X509_find_by_subject(certificates, X509_get_issuer_name(signer));
    int marked = intermediate != NULL && hasMarkers(signer, intermediate);
    sk_X509_pop_free(certificates, X509_free);
    return marked;
}

static int isValid(const CBaselines_Text *receipt, X509_STORE *store, int checksChain) {
    const uint8_t *position = receipt->bytes;
    CMS_ContentInfo *container = d2i_CMS_ContentInfo(NULL, &position, (long)receipt->count);
    if (container == NULL) return 0;
    BIO *content = BIO_new(BIO_s_mem());
    unsigned flags = CMS_BINARY | (checksChain ? 0 : CMS_NO_SIGNER_CERT_VERIFY);
    int valid = CMS_verify(container, NULL, store, NULL, content, flags) == 1;
    if (valid && checksChain) valid = isMarked(container);
    BIO_free(content);
    CMS_ContentInfo_free(container);
    ERR_clear_error();
    return valid;
}

size_t CBaselines_appReceipts(
    const CBaselines_Text *receipts, size_t count, const char *rootsPEM, int64_t at, int checksChain) {
    X509_STORE *store = storeOfRoots(rootsPEM, at);
    size_t valid = 0;
    for (size_t index = 0; index < count; index++) valid += (size_t)isValid(&receipts[index], store, checksChain);
    X509_STORE_free(store);
    return valid;
}
