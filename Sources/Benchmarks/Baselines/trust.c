#include "trust.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

X509_STORE *storeOfRoots(const char *rootsPEM, int64_t at) {
    X509_STORE *store = X509_STORE_new();
    BIO *file = BIO_new_mem_buf(rootsPEM, -1);
    X509 *root;
    while ((root = PEM_read_bio_X509(file, NULL, NULL, NULL)) != NULL) {
        X509_STORE_add_cert(store, root);
        X509_free(root);
    }
    BIO_free(file);
    ERR_clear_error();
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    X509_VERIFY_PARAM *parameters = X509_STORE_get0_param(store);
    X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY);
    X509_VERIFY_PARAM_set_auth_level(parameters, 0);
    if (at != 0) X509_VERIFY_PARAM_set_time(parameters, (time_t)at);
    return store;
}

static int hasExtension(X509 *certificate, const char *identifier) {
    ASN1_OBJECT *object = OBJ_txt2obj(identifier, 1);
    int place = X509_get_ext_by_OBJ(certificate, object, -1);
    ASN1_OBJECT_free(object);
    return place >= 0;
}

int hasMarkers(X509 *signer, X509 *intermediate) {
    return hasExtension(signer, "1.2.840.113635.100.6.11.1") && hasExtension(intermediate, "1.2.840.113635.100.6.2.1");
}
