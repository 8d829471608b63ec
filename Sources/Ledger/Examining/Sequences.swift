import PostgreSQL

extension LedgerSession {
    /// Checks that no sequence is behind what it has numbered. Logical replication leaves sequences where they were: the
    /// chain then never covers what gets a number of the trail for a second time, no run begins, and of the uploads those
    /// are refused whose receipt would get the number of another.
    ///
    /// - Throws: `LedgerError.schema` with those that are behind.
    public func checkSequences() async throws(LedgerError) {
        try await translating {
            let beyond = try await receiptNumberBeyond()
            // What a statement sees was numbered before it asks the sequence.
            let behind = try await connection.query(
                """
                SELECT sequence, drawn, given
                FROM (
                    VALUES
                        (
                            'iap.trail',
                            greatest(
                                (SELECT max(entry_id) FROM iap.transactions), (SELECT max(move_id) FROM iap.moves),
                                (SELECT max(event_id) FROM iap.events), (SELECT upto FROM audit.frontier))),
                        ('iap.receipt_number', \(beyond)::bigint),
                        ('iap.runs_run_id_seq', (SELECT max(run_id) FROM iap.runs)),
                        ('iap.sales_reports_report_id_seq', (SELECT max(report_id) FROM iap.sales_reports))
                ) AS numbered (sequence, given)
                CROSS JOIN LATERAL (
                    SELECT coalesce(pg_sequence_last_value(sequence::regclass), 0) AS drawn
                ) AS last
                WHERE given > drawn
                """)
            guard !behind.isEmpty else { return }
            let named = try behind.map { row in
                let sequence: String = try row.decode("sequence")
                let drawn: Int64 = try row.decode("drawn")
                let given: Int64 = try row.decode("given")
                return "\(sequence) stands at \(drawn), and \(given) is given"
            }
            throw LedgerError.schema(
                """
                Sequences are behind the tables, which came here without them (\(named.joined(separator: "; "))). Set \
                them before anybody writes: see “Move to another server” in docs/operate.md.
                """)
        }
    }
    /// The highest number of a receipt that its sequence has yet to give; `nil` where there is none.
    private func receiptNumberBeyond() async throws -> Int64? {
        // The sequence first: a receipt that comes after that has a higher number. Each bucket's key says that there is
        // none, so that nothing is read.
        let drawn: Int64 = try await connection.only(
            "SELECT coalesce(pg_sequence_last_value('iap.receipt_number'::regclass), 0) AS drawn"
        ).decode("drawn")
        let next = (drawn + 1) * Int64(Bucket.count)
        return try await connection.only(
            """
            SELECT max(receipt_id) / \(Int64(Bucket.count)) AS number
            FROM iap.receipts
            WHERE bucket = ANY (\(Array(Bucket.all))) AND receipt_id >= \(next)
            """
        ).decode("number")
    }
}
