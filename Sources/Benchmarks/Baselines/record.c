#include "CBaselines.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The session's own tables in which a batch lies, as the types of the schema have them. */
static const char staging[] =
    "CREATE TEMPORARY TABLE heard OF iap.verified ON COMMIT DELETE ROWS;"
    "CREATE TEMPORARY TABLE seen OF iap.sighted ON COMMIT DELETE ROWS";
static const char copyHeard[] =
    "COPY heard (transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,"
    " purchased_at, original_purchased_at, expires_at, is_trial, web_order_line_item_id, app_account_token,"
    " price_milliunits, currency, storefront, found_bundle_id, refunded_at, refund_reason, source, verified_at,"
    " exclusion, number) FROM STDIN (FORMAT binary)";
static const char copySeen[] =
    "COPY seen (numbers, receipt_id, user_id, order_id, is_named, in_receipt, uploaded_at) FROM STDIN (FORMAT binary)";
enum { columnsOfHeard = 23, columnsOfSeen = 7, sendAfter = 65536 };
static const int64_t day = 86400000000;

static void beginRow(Rows *rows, uint16_t columns) {
    columns = htobe16(columns);
    put(rows, &columns, sizeof columns);
}

/* One dimension of integers from a number on. */
static void putIntArray(Rows *rows, uint32_t first, uint32_t count) {
    enum { int4 = 23 };
    putCount(rows, 20 + 8 * count);
    putCount(rows, 1);
    putCount(rows, 0);
    putCount(rows, int4);
    putCount(rows, count);
    putCount(rows, 1);
    for (uint32_t index = 0; index < count; index++) putInt(rows, first + index);
}

typedef void PutRow(Rows *rows, const CBaselines_Recording *recording, int64_t receipt, int index, uint32_t number);

static void putHeard(Rows *rows, const CBaselines_Recording *recording, int64_t receipt, int index, uint32_t number) {
    char id[32];
    snprintf(
        id, sizeof id, "%016lld",
        (long long)(1000000000000000 + receipt * recording->transactionsOfReceipt + index));
    beginRow(rows, columnsOfHeard);
    putText(rows, id);
    putText(rows, "com.example.game");
    putText(rows, "Production");
    putText(rows, id);
    putText(rows, "gems.100");
    putText(rows, "consumable");
    putInt(rows, 1);
    putLong(rows, recording->submittedAt);
    putLong(rows, recording->submittedAt);
    putNull(rows);
    putBool(rows, 0);
    for (int empty = 0; empty < 8; empty++) putNull(rows);
    putText(rows, "verify_receipt");
    putLong(rows, recording->submittedAt + day);
    putNull(rows);
    putInt(rows, number);
}

static void putSeen(Rows *rows, const CBaselines_Recording *recording, int64_t receipt, int index, uint32_t number) {
    /* All of a receipt's were seen alike. */
    if (index > 0) return;
    char user[32];
    snprintf(user, sizeof user, "u%lld", (long long)receipt >> 6);
    beginRow(rows, columnsOfSeen);
    putIntArray(rows, number, (uint32_t)recording->transactionsOfReceipt);
    putLong(rows, receipt);
    putText(rows, user);
    putNull(rows);
    putBool(rows, 0);
    putBool(rows, 1);
    putLong(rows, recording->submittedAt);
}

static int sendRows(PGconn *connection, Rows *rows) {
    int sent = PQputCopyData(connection, rows->bytes, (int)rows->count) == 1;
    rows->count = 0;
    return sent;
}

static int copyBatch(
    PGconn *connection, const CBaselines_Recording *recording, const CBaselines_Batch *batch, const char *copy,
    PutRow *putRow) {
    PGresult *result = PQexec(connection, copy);
    int going = PQresultStatus(result) == PGRES_COPY_IN;
    PQclear(result);
    Rows rows = {0};
    uint32_t number = 0;
    put(&rows, "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
    for (size_t receipt = 0; going && receipt < batch->count; receipt++) {
        for (int index = 0; index < recording->transactionsOfReceipt; index++) {
            putRow(&rows, recording, batch->receiptIDs[receipt], index, number++);
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

static int isDone(PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static int execute(
    PGconn *connection, const CBaselines_Recording *recording, const CBaselines_Batch *batch, const char *statement) {
    enum { int8 = 20, int2 = 21, timestamptz = 1184 };
    uint64_t run = htobe64((uint64_t)recording->runID), now = htobe64((uint64_t)recording->now);
    uint16_t bucket = htobe16((uint16_t)batch->bucket);
    const Oid types[] = {int8, timestamptz, int2};
    const char *const values[] = {(const char *)&run, (const char *)&now, (const char *)&bucket};
    const int lengths[] = {sizeof run, sizeof now, sizeof bucket}, formats[] = {1, 1, 1};
    return isDone(PQexecParams(connection, statement, 3, types, values, lengths, formats, 1));
}

static int recordBatch(PGconn *connection, const CBaselines_Recording *recording, const CBaselines_Batch *batch) {
    int going = isDone(PQexec(connection, "BEGIN")) && copyBatch(connection, recording, batch, copyHeard, putHeard);
    if (recording->isSighting) going = going && copyBatch(connection, recording, batch, copySeen, putSeen);
    for (size_t index = 0; going && index < recording->statementCount; index++) {
        going = execute(connection, recording, batch, recording->statements[index]);
    }
    return going && isDone(PQexec(connection, "COMMIT"));
}

long CBaselines_record(
    const char *conninfo, const CBaselines_Recording *recording, const CBaselines_Batch *batches, size_t count,
    char *error, size_t errorSize) {
    PGconn *connection = PQconnectdb(conninfo);
    int going = PQstatus(connection) == CONNECTION_OK && isDone(PQexec(connection, staging));
    long recorded = 0;
    for (size_t index = 0; going && index < count; index++) {
        going = recordBatch(connection, recording, &batches[index]);
        recorded += (long)batches[index].count * recording->transactionsOfReceipt;
    }
    if (!going) snprintf(error, errorSize, "%s", PQerrorMessage(connection));
    PQfinish(connection);
    return going ? recorded : -1;
}
