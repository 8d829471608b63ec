#include "CBaselines.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Rows of binary COPY under way to the server. */
typedef struct {
    char *bytes;
    size_t count, room;
} Rows;

static void put(Rows *rows, const void *bytes, size_t count) {
    if (rows->count + count > rows->room) {
        rows->room = (rows->count + count) * 2;
        rows->bytes = realloc(rows->bytes, rows->room);
    }
    memcpy(rows->bytes + rows->count, bytes, count);
    rows->count += count;
}

static void putCount(Rows *rows, uint32_t count) {
    count = htobe32(count);
    put(rows, &count, sizeof count);
}

static void putShort(Rows *rows, uint16_t value) {
    value = htobe16(value);
    putCount(rows, sizeof value);
    put(rows, &value, sizeof value);
}

static void putInt(Rows *rows, uint32_t value) {
    value = htobe32(value);
    putCount(rows, sizeof value);
    put(rows, &value, sizeof value);
}

static void putLong(Rows *rows, int64_t value) {
    uint64_t octets = htobe64((uint64_t)value);
    putCount(rows, sizeof octets);
    put(rows, &octets, sizeof octets);
}

static void putBool(Rows *rows, int value) {
    char octet = (char)value;
    putCount(rows, 1);
    put(rows, &octet, 1);
}

static void putText(Rows *rows, const char *text) {
    size_t count = strlen(text);
    putCount(rows, (uint32_t)count);
    put(rows, text, count);
}

static void putNull(Rows *rows) {
    putCount(rows, UINT32_MAX);
}

static const char copy[] =
    "COPY iap.verified (bucket, receipt_id, user_id, order_id, is_named, in_receipt, uploaded_at, is_best, exclusion,"
    " transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,"
    " purchased_at, original_purchased_at, expires_at, refunded_at, refund_reason, ownership, is_trial,"
    " web_order_line_item_id, app_account_token, price_milliunits, currency, storefront, found_bundle_id, source,"
    " verified_at) FROM STDIN (FORMAT binary)";
enum { columns = 31, sendAfter = 65536 };

/* Microseconds since 2000, as PostgreSQL counts. */
static int64_t now(void) {
    return ((int64_t)time(NULL) - 946684800) * 1000000;
}

static void putTransaction(Rows *rows, int16_t bucket, int64_t receipt, int transactionsOfReceipt, int index) {
    char id[32], user[32];
    snprintf(id, sizeof id, "%016lld", (long long)(1000000000000000 + receipt * transactionsOfReceipt + index));
    snprintf(user, sizeof user, "u%lld", (long long)receipt);
    int64_t verified = now(), uploaded = verified - 86400000000;
    uint16_t count = htobe16(columns);
    put(rows, &count, sizeof count);
    putShort(rows, (uint16_t)bucket);
    putLong(rows, receipt);
    putText(rows, user);
    putNull(rows);
    putBool(rows, 0);
    putBool(rows, 1);
    putLong(rows, uploaded);
    putBool(rows, 1);
    putNull(rows);
    putText(rows, id);
    putText(rows, "com.example.game");
    putText(rows, "Production");
    putText(rows, id);
    putText(rows, "gems.100");
    putText(rows, "consumable");
    putInt(rows, 1);
    putLong(rows, uploaded);
    putLong(rows, uploaded);
    for (int empty = 0; empty < 4; empty++) putNull(rows);
    putBool(rows, 0);
    for (int empty = 0; empty < 6; empty++) putNull(rows);
    putText(rows, "verify_receipt");
    putLong(rows, verified);
}

static int sendRows(PGconn *connection, Rows *rows) {
    int sent = PQputCopyData(connection, rows->bytes, (int)rows->count) == 1;
    rows->count = 0;
    return sent;
}

static int copyBatch(PGconn *connection, const CBaselines_Batch *batch, int transactionsOfReceipt) {
    PGresult *result = PQexec(connection, copy);
    int going = PQresultStatus(result) == PGRES_COPY_IN;
    PQclear(result);
    Rows rows = {0};
    put(&rows, "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
    for (size_t receipt = 0; going && receipt < batch->count; receipt++) {
        for (int index = 0; index < transactionsOfReceipt; index++) {
            putTransaction(&rows, batch->bucket, batch->receiptIDs[receipt], transactionsOfReceipt, index);
        }
        if (rows.count >= sendAfter) going = sendRows(connection, &rows);
    }
    put(&rows, "\377\377", 2);
    going = going && sendRows(connection, &rows) && PQputCopyEnd(connection, NULL) == 1;
    free(rows.bytes);
    while ((result = PQgetResult(connection)) != NULL) {
        going = going && PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
    return going;
}

static int execute(PGconn *connection, const char *statement, const char *bucket) {
    int takesBucket = bucket != NULL && strstr(statement, "$1") != NULL;
    PGresult *result = PQexecParams(connection, statement, takesBucket, NULL, &bucket, NULL, NULL, 1);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static int recordBatch(
    PGconn *connection, const CBaselines_Batch *batch, int transactionsOfReceipt, const char *const *statements,
    size_t statementCount) {
    char bucket[8];
    snprintf(bucket, sizeof bucket, "%d", batch->bucket);
    int going = execute(connection, "BEGIN", NULL) && copyBatch(connection, batch, transactionsOfReceipt);
    for (size_t index = 0; going && index < statementCount; index++) {
        going = execute(connection, statements[index], bucket);
    }
    return going && execute(connection, "COMMIT", NULL);
}

long CBaselines_record(
    const char *conninfo, const CBaselines_Batch *batches, size_t count, int transactionsOfReceipt,
    const char *const *statements, size_t statementCount, char *error, size_t errorSize) {
    PGconn *connection = PQconnectdb(conninfo);
    int going = PQstatus(connection) == CONNECTION_OK;
    long recorded = 0;
    for (size_t index = 0; going && index < count; index++) {
        going = recordBatch(connection, &batches[index], transactionsOfReceipt, statements, statementCount);
        recorded += (long)batches[index].count * transactionsOfReceipt;
    }
    if (!going) snprintf(error, errorSize, "%s", PQerrorMessage(connection));
    PQfinish(connection);
    return going ? recorded : -1;
}
