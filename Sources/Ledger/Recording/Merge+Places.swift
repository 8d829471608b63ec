import PostgreSQL
import Reconciliation

/// What the control totals rest on.
extension Merge {
    /// Where every transaction of the batch is now, counted from the tables themselves. White comes first, where most of
    /// a night's are; nothing is in two of them, which each night's checks make sure of.
    func places() async throws -> Places {
        let rows = try await connection.query(
            """
            SELECT
                place,
                count(*) FILTER (WHERE is_best) AS transactions,
                coalesce(sum(quantity) FILTER (WHERE is_best), 0) AS units,
                coalesce(bit_xor(hash) FILTER (WHERE is_best), 0) AS hash,
                array_agg(DISTINCT receipt_id) AS receipt_ids
            FROM (
                SELECT
                    receipt_id,
                    is_best,
                    quantity,
                    hashtextextended(transaction_id, 0) AS hash,
                    CASE
                        WHEN EXISTS (
                            SELECT FROM white
                            WHERE white.transaction_id = verified.transaction_id
                                AND white.bundle_id = verified.bundle_id
                                AND white.environment = verified.environment) THEN 'white'
                        WHEN EXISTS (
                            SELECT FROM black
                            WHERE black.transaction_id = verified.transaction_id
                                AND black.bundle_id = verified.bundle_id
                                AND black.environment = verified.environment) THEN 'black'
                        WHEN EXISTS (
                            SELECT FROM excluded
                            WHERE excluded.transaction_id = verified.transaction_id
                                AND excluded.bundle_id = verified.bundle_id
                                AND excluded.environment = verified.environment) THEN 'excluded'
                        ELSE 'nowhere'
                    END AS place
                FROM verified
                WHERE bucket = \(bucket)
            ) AS placed
            GROUP BY place
            """)
        var places = Places()
        for row in rows {
            let name = try row.decode("place", as: String.self)
            guard let place = Place(rawValue: name) else { throw LedgerError.failed("no place is called \(name)") }
            places.tallies[place] = try Tally(sum: row)
            if place == .white { places.watched = Set(try row.decode("receipt_ids", as: [Int64].self)) }
        }
        return places
    }

    enum Place: String {
        case white, black, excluded, nowhere
    }

    struct Places {
        var tallies: [Place: Tally] = [:]
        /// The receipts of the batch that hold a white transaction.
        var watched: Set<Int64> = []
    }
}
