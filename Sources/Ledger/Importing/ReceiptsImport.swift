import PostgreSQL

/// Takes staged receipts into the inbox, by the rules of `iap.submit_receipt`: the same payload of the same user of
/// the same app is one receipt, and each pair of transaction and order that it was uploaded for is one upload.
///
/// Of a receipt that is there what was not known is added, and the earlier time stays. It is looked at again if it comes
/// for another purchase or order, or a week after it last did.
struct ReceiptsImport {
    let connection: Connection

    /// The payloads' hashes, each computed once.
    static let keysDefinition = """
        CREATE TEMPORARY TABLE incoming_keys (
            line bigint NOT NULL, bucket smallint NOT NULL, payload_sha256 bytea NOT NULL
        ) ON COMMIT DELETE ROWS;
        """

    /// Gives how many lines told of an upload that was not known.
    func merge() async throws -> Int {
        try await hash()
        try await takeReceipts()
        let taken = try await takeUploads()
        try await lookAgain(at: taken)
        return taken.count
    }

    private func hash() async throws {
        try await connection.execute(
            """
            WITH hashed AS MATERIALIZED (
                SELECT line, sha256(convert_to(payload, 'UTF8')) AS payload_sha256 FROM incoming
            )
            INSERT INTO incoming_keys (line, bucket, payload_sha256)
            SELECT line, get_byte(payload_sha256, 0) % \(Int32(Bucket.count)), payload_sha256 FROM hashed
            """)
    }

    private func takeReceipts() async throws {
        let orderID: SQL = "coalesce(known.order_id, EXCLUDED.order_id)"
        let transactionID: SQL = "coalesce(known.transaction_id, EXCLUDED.transaction_id)"
        let submittedAt: SQL = "least(known.submitted_at, EXCLUDED.submitted_at)"
        let seal = ReceiptSeal.renewed(
            of: "known", orderID: orderID, transactionID: transactionID, submittedAt: submittedAt)
        try await connection.execute(
            """
            INSERT INTO receipts AS known (
                bucket, receipt_id, bundle_id, user_id, payload, payload_sha256, order_id, transaction_id, device,
                submitted_at, next_attempt_at, seal)
            SELECT
                -- In its column's compression, not in that of the staged table.
                bucket, receipt_id, bundle_id, receipt.user_id, incoming.payload || '', payload_sha256, receipt.order_id,
                receipt.transaction_id, receipt.device, receipt.submitted_at,
                -- Due in the next night, however fast the clock went that it was handed in by.
                least(receipt.submitted_at, iap.present()),
                audit.receipt_seal(
                    bucket, receipt_id, bundle_id, receipt.user_id, payload_sha256, receipt.order_id,
                    receipt.transaction_id, receipt.submitted_at, 'waiting', false)
            FROM (
                SELECT
                    bucket, payload_sha256, bundle_id, user_id, min(line) AS line,
                    nextval('receipt_number') * \(Int64(Bucket.count)) + bucket AS receipt_id,
                    (array_agg(order_id ORDER BY line) FILTER (WHERE order_id IS NOT NULL))[1] AS order_id,
                    (array_agg(transaction_id ORDER BY line) FILTER (WHERE transaction_id IS NOT NULL))[1]
                        AS transaction_id,
                    (array_agg(device ORDER BY line) FILTER (WHERE device IS NOT NULL))[1] AS device,
                    coalesce(min(submitted_at), now()) AS submitted_at
                FROM incoming
                JOIN incoming_keys USING (line)
                GROUP BY bucket, payload_sha256, bundle_id, user_id
            ) AS receipt
            JOIN incoming USING (line, bundle_id)
            ORDER BY bucket, payload_sha256, bundle_id, receipt.user_id
            ON CONFLICT (bucket, payload_sha256, bundle_id, user_id) DO UPDATE
            SET order_id = \(orderID),
                transaction_id = \(transactionID),
                device = CASE WHEN known.device_purged_at IS NULL THEN coalesce(known.device, EXCLUDED.device) END,
                submitted_at = \(submittedAt),
                seal = \(seal)
            WHERE (known.order_id IS NULL AND EXCLUDED.order_id IS NOT NULL)
                OR (known.transaction_id IS NULL AND EXCLUDED.transaction_id IS NOT NULL)
                OR (known.device IS NULL AND EXCLUDED.device IS NOT NULL AND known.device_purged_at IS NULL)
                OR EXCLUDED.submitted_at < known.submitted_at
            """)
    }

    /// Gives the receipts that came for what they had not come for, each as often as it did.
    private func takeUploads() async throws -> [Int64] {
        let rows = try await connection.query(
            """
            INSERT INTO uploads
            SELECT upload.*, audit.seal(ROW(upload.*, NULL)::iap.uploads)
            FROM (
                SELECT
                    receipts.bucket, receipts.receipt_id, incoming.transaction_id, incoming.order_id,
                    min(coalesce(incoming.submitted_at, now())), max(coalesce(incoming.submitted_at, now())), 1
                FROM incoming
                JOIN incoming_keys USING (line)
                JOIN receipts USING (bucket, payload_sha256, bundle_id)
                WHERE receipts.user_id IS NOT DISTINCT FROM incoming.user_id
                GROUP BY 1, 2, 3, 4
            ) AS upload
            ON CONFLICT (bucket, receipt_id, transaction_id, order_id) DO NOTHING
            RETURNING receipt_id
            """)
        return try rows.map { try $0.decode("receipt_id") }
    }

    /// Has receipts looked at again that a night has looked at before, as an upload would: those that came for what they
    /// had not come for, and those that a line says were handed in a week after they last were.
    private func lookAgain(at taken: [Int64]) async throws {
        let forAnother = Set(taken)
        let again = try await connection.query(
            """
            SELECT
                receipts.receipt_id,
                min(incoming.payload) FILTER (WHERE receipts.payload_purged_at IS NOT NULL) AS payload
            FROM incoming
            JOIN incoming_keys USING (line)
            JOIN receipts USING (bucket, payload_sha256, bundle_id)
            WHERE receipts.user_id IS NOT DISTINCT FROM incoming.user_id AND receipts.last_attempt_at IS NOT NULL
                AND (
                    receipts.receipt_id = ANY (\(forAnother.sorted()))
                    OR iap.is_handed_in_again(
                        receipts.submitted_at, receipts.uploaded_again_at, incoming.submitted_at))
            GROUP BY receipts.receipt_id
            ORDER BY receipts.receipt_id
            """)
        for row in again {
            let id = try row.decode("receipt_id", as: Int64.self)
            // A statement a row, by its key: the form that also runs where the inbox is distributed.
            _ = try await connection.query(
                """
                SELECT iap.look_again(
                    \(id.bucket), \(id), \(forAnother.contains(id)), iap.present(),
                    \(try row.decode("payload", as: String?.self)))
                """)
        }
    }
}
