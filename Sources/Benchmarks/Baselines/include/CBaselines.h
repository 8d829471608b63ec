/* What plain C does with the same libraries: the limits that the benchmarks compare the job with. */
#ifndef C_BASELINES_H
#define C_BASELINES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *bytes;
    size_t count;
} CBaselines_Text;

/* How many of the app receipts (DER) OpenSSL accepts: CMS_verify with the chain to one of the roots (PEM) at that
   moment and Apple's markers, all of it for each receipt; or, without the chain, the signature alone. */
size_t CBaselines_appReceipts(
    const CBaselines_Text *receipts, size_t count, const char *rootsPEM, int64_t at, int checksChain);

/* How many signed transactions are accepted: header and payload decoded, the chain to one of the roots when it was
   signed and Apple's markers, then the signature; all of it for each. */
size_t CBaselines_signedTransactions(const CBaselines_Text *transactions, size_t count, const char *rootsPEM);

/* The signatures of signed transactions with their key, ready to be verified; nothing where one can't be read. */
typedef struct CBaselines_Signatures CBaselines_Signatures;
CBaselines_Signatures *CBaselines_prepareSignatures(const CBaselines_Text *transactions, size_t count);
/* How many of them are right. */
size_t CBaselines_verifySignatures(const CBaselines_Signatures *signatures);
void CBaselines_freeSignatures(CBaselines_Signatures *signatures);

/* A batch of receipts of one bucket, in the order of their ids. */
typedef struct {
    int16_t bucket;
    const int64_t *receiptIDs;
    size_t count;
} CBaselines_Batch;

/* How batches are recorded. Moments are microseconds since 2000, as PostgreSQL counts. */
typedef struct {
    int64_t runID;
    int64_t now;
    /* When each receipt was handed in, and all that it holds was bought; a day before it was verified. */
    int64_t submittedAt;
    int transactionsOfReceipt;
    /* Whether it is staged in which receipt each transaction was seen. */
    int isSighting;
    /* What is done with a staged batch. $1 stands for the run, $2 for the present, $3 for the bucket. */
    const char *const *statements;
    size_t statementCount;
} CBaselines_Recording;

/* Records batches as the job does, each in a database transaction: binary COPY into temporary tables `heard` and
   `seen`, then the statements. Returns how many transactions were copied, or -1 with the reason in `error`. */
long CBaselines_record(
    const char *conninfo, const CBaselines_Recording *recording, const CBaselines_Batch *batches, size_t count,
    char *error, size_t errorSize);

#endif
