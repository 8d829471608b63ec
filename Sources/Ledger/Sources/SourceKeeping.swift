public import Foundation
import PostgreSQL
public import Reconciliation

/// How far a source was read.
public struct SourceProgress: Sendable {
    /// In the words of its own database; `nil` if it is to be read from its beginning.
    public let watermark: String?
    /// Its files that were taken, as they were then.
    public let files: Set<SourceFile>
}

/// A file of a source, with what shows whether it changed.
public struct SourceFile: Sendable, Hashable {
    public let name: String
    public let size: Int64
    /// Microseconds since 1970.
    public let modified: Int64

    public init(name: String, size: Int64, modified: Int64) {
        self.name = name
        self.size = size
        self.modified = modified
    }
}

/// What a batch of a source leaves in the ledger beside its rows.
public struct SourceMark: Sendable {
    public let source: String
    /// How far the source is read with the batch; `nil` if that is not known yet.
    public var watermark: String?
    /// The file that ends with the batch.
    public var file: SourceFile?
    /// The rows before, among and behind those of the batch that can't be taken.
    public var refused: [RefusedRow] = []

    public init(source: String) {
        self.source = source
    }
}

extension LedgerSession {
    /// How far a source was read; from the beginning if something else was asked of it before.
    public func beginPull(
        of source: SourceSettings, definition: String, now: Date
    ) async throws(LedgerError) -> SourceProgress {
        try await translating {
            let row = try await connection.only(
                """
                WITH asked AS (
                    SELECT
                        \(source.name)::text AS source,
                        encode(sha256(convert_to(\(definition), 'UTF8')), 'hex') AS definition
                ), altered AS (
                    SELECT source FROM sources JOIN asked USING (source) WHERE sources.definition <> asked.definition
                ), files AS (
                    DELETE FROM source_files USING altered WHERE source_files.source = altered.source
                ), of_unknown_apps AS (
                    -- What is read anew says whether there are some.
                    DELETE FROM refused_rows USING altered
                    WHERE refused_rows.source = altered.source AND reason = \(RefusalReason.unknownApp.rawValue)
                )
                INSERT INTO sources AS known (source, kind, definition, tried_at)
                SELECT source, \(source.kind.rawValue), definition, \(now) FROM asked
                ON CONFLICT (source) DO UPDATE
                SET kind = EXCLUDED.kind, definition = EXCLUDED.definition, tried_at = EXCLUDED.tried_at, taken = 0,
                    already_there = 0, refused = 0, problem = 'it did not come to its end',
                    watermark = CASE WHEN known.definition = EXCLUDED.definition THEN known.watermark END,
                    pulled_at = CASE WHEN known.definition = EXCLUDED.definition THEN known.pulled_at END
                RETURNING watermark
                """)
            return SourceProgress(
                watermark: try row.decode("watermark"), files: try await filesTaken(of: source.name))
        }
    }

    private func filesTaken(of source: String) async throws -> Set<SourceFile> {
        let rows = try await connection.query(
            """
            SELECT name, size, (extract(epoch FROM modified_at) * 1000000)::bigint AS modified
            FROM source_files
            WHERE source = \(source)
            """)
        return Set(
            try rows.map {
                SourceFile(
                    name: try $0.decode("name"), size: try $0.decode("size"), modified: try $0.decode("modified"))
            })
    }

    /// Takes a batch of a source, and with it, in the same transaction, how far the source is read and what could not
    /// be taken.
    public func take(
        _ batch: ImportBatch, mark: SourceMark, now: Date
    ) async throws(LedgerError) -> ImportOutcome {
        try await translating {
            try await connection.transaction {
                let outcome = try await merge(batch)
                checkpoint(.sourceStored)
                try await keep(mark, batch, outcome, now: now)
                return outcome
            }
        }
    }

    private func keep(_ mark: SourceMark, _ batch: ImportBatch, _ outcome: ImportOutcome, now: Date) async throws {
        let contradicted = batch.lines.compactMap { line in
            outcome.contradicted[line.number].map { line.refused($0) }
        }
        let refused = mark.refused + contradicted
        let mended = Set(batch.lines.map(\.name)).subtracting(refused.map(\.id))
        _ = try await connection.execute(
            "DELETE FROM refused_rows WHERE source = \(mark.source) AND row_id = ANY (\(mended.sorted()))")
        _ = try await connection.execute(
            """
            INSERT INTO refused_rows (source, row_id, named_id, numbers, reason, what, refused_at)
            SELECT DISTINCT ON (row_id) \(mark.source), row_id, named_id, numbers::text[], reason, what, \(now)
            FROM unnest(
                \(refused.map(\.id)), \(refused.map(\.namedID)), \(refused.map { ArrayLiteral($0.numbers).text }),
                \(refused.map(\.reason.rawValue)), \(refused.map(\.text)))
                AS refused (row_id, named_id, numbers, reason, what)
            ORDER BY row_id
            ON CONFLICT (source, row_id) DO UPDATE
            SET named_id = EXCLUDED.named_id, numbers = EXCLUDED.numbers, reason = EXCLUDED.reason, what = EXCLUDED.what,
                refused_at = EXCLUDED.refused_at
            """)
        _ = try await connection.execute(
            """
            UPDATE sources
            SET watermark = coalesce(\(mark.watermark), watermark), taken = taken + \(Int64(outcome.taken)),
                already_there = already_there + \(Int64(outcome.alreadyThere)),
                refused = refused + \(Int64(refused.count))
            WHERE source = \(mark.source)
            """)
        if let file = mark.file { try await keep(file, of: mark.source, now: now) }
    }

    private func keep(_ file: SourceFile, of source: String, now: Date) async throws {
        _ = try await connection.execute(
            """
            INSERT INTO source_files (source, name, size, modified_at, taken_at)
            VALUES (
                \(source), \(file.name), \(file.size),
                to_timestamp(0) + \(file.modified) * interval '1 microsecond', \(now))
            ON CONFLICT (source, name) DO UPDATE
            SET size = EXCLUDED.size, modified_at = EXCLUDED.modified_at, taken_at = EXCLUDED.taken_at
            """)
    }

    /// Forgets the refused rows of a file that is about to be read anew.
    public func forgetRefusedRows(of source: String, file: String) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                "DELETE FROM refused_rows WHERE source = \(source) AND starts_with(row_id, \(file + ":"))")
        }
    }

    /// Writes down how a pull ended, and forgets what was refused long ago: it came under another id, or never will. A
    /// row that tells of a delivery of which the ledger does not know, by its id or by one of its numbers, is kept: it
    /// holds a redelivery back, whenever that purchase is found.
    ///
    /// - Parameter problem: why it did not come to its end; `nil` if it did.
    public func endPull(of source: SourceSettings, problem: String?, now: Date) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                """
                DELETE FROM refused_rows
                WHERE source = \(source.name) AND refused_at < \(now) - interval '30 days'
                    AND (
                        NOT \(source.kind.tellsOfDeliveries) OR (named_id IS NULL AND numbers = '{}')
                        OR (
                            SELECT bool_and(is_known)
                            FROM (
                                SELECT place <> 'white' FROM transactions
                                WHERE transaction_id = ANY (numbers || named_id)
                                UNION ALL
                                SELECT true FROM entitlements WHERE original_transaction_id = ANY (numbers || named_id)
                            ) AS deliveries (is_known)))
                """)
            _ = try await connection.execute(
                """
                INSERT INTO sources AS known (source, kind, definition, tried_at, problem)
                VALUES (\(source.name), \(source.kind.rawValue), '', \(now), \(problem))
                ON CONFLICT (source) DO UPDATE
                SET tried_at = EXCLUDED.tried_at, problem = EXCLUDED.problem,
                    -- Those of a night before, where this one did not get so far as to begin.
                    taken = CASE WHEN known.tried_at = EXCLUDED.tried_at THEN known.taken ELSE 0 END,
                    already_there = CASE WHEN known.tried_at = EXCLUDED.tried_at THEN known.already_there ELSE 0 END,
                    refused = CASE WHEN known.tried_at = EXCLUDED.tried_at THEN known.refused ELSE 0 END,
                    pulled_at = CASE WHEN EXCLUDED.problem IS NULL THEN EXCLUDED.tried_at ELSE known.pulled_at END
                """)
        }
    }

    /// What the pulls of a night came to, of the sources with these names; a source that it left alone is not among
    /// them.
    public func sourcePulls(_ names: [String], at now: Date) async throws(LedgerError) -> [SourcePull] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    source, taken, already_there, refused, problem,
                    (SELECT count(*) FROM refused_rows WHERE refused_rows.source = sources.source) AS refused_lately
                FROM unnest(\(names)) WITH ORDINALITY AS wanted (name, number)
                JOIN sources ON sources.source = name AND tried_at = \(now)
                ORDER BY wanted.number
                """)
            var pulls = try rows.map(SourcePull.init)
            for index in pulls.indices where pulls[index].refusedLately > 0 {
                pulls[index].refusedRows = try await refusedRows(of: pulls[index].name)
            }
            return pulls
        }
    }

    /// The most rows that are shown.
    private static let refusedRowsShown: Int64 = 100

    private func refusedRows(of source: String) async throws -> [RefusedRow] {
        try await connection.query(
            """
            SELECT row_id, named_id, reason, what
            FROM refused_rows
            WHERE source = \(source)
            ORDER BY refused_at DESC, row_id
            LIMIT \(Self.refusedRowsShown)
            """
        ).map {
            RefusedRow(
                id: try $0.decode("row_id"), namedID: try $0.decode("named_id"), reason: try $0.word("reason"),
                text: try $0.decode("what"))
        }
    }

    /// Up to when the sources with these names have told everything; `nil` if one never has.
    public func toldUpTo(_ names: [String]) async throws(LedgerError) -> Date? {
        try await translating {
            try await connection.only(
                """
                SELECT CASE WHEN count(pulled_at) = \(Int64(names.count)) THEN min(pulled_at) END AS told_up_to
                FROM sources
                WHERE source = ANY (\(names))
                """
            ).decode("told_up_to")
        }
    }
}

extension SourcePull {
    fileprivate init(_ row: Row) throws {
        self.init(
            name: try row.decode("source"), taken: try row.decode("taken"),
            alreadyThere: try row.decode("already_there"), refused: try row.decode("refused"),
            problem: try row.decode("problem"), refusedLately: try row.decode("refused_lately"))
    }
}
