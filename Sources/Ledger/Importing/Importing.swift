public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// The moment that the schema's functions take for the present, by PostgreSQL's clock, which all hosts share.
    public func present() async throws(LedgerError) -> Date {
        try await translating {
            try await connection.only("SELECT iap.present() AS present").decode("present", as: Date.self)
        }
    }

    /// Makes the session ready to take lines of one kind, and of no other. Call it again after a reconnect: the staging
    /// table is the session's.
    public func prepareImport(of kind: ImportKind) async throws(LedgerError) {
        try await translating {
            try await connection.executeScript(unsafe: ImportStaging(kind).definition)
        }
    }

    /// Takes a batch in one database transaction. What is there already is left as it is, so that taking a batch
    /// again changes nothing: a crash, before or after the commit, is mended by importing the file again.
    ///
    /// A rehearsal does the same and rolls it back.
    ///
    /// - Throws: `LedgerError.conflict` when another session's lock was in the way and the batch should be taken
    ///   again.
    public func take(_ batch: ImportBatch, isRehearsal: Bool) async throws(LedgerError) -> ImportOutcome {
        try await translating {
            try await connection.transaction(isRehearsal: isRehearsal) { try await merge(batch) }
        }
    }

    /// Writes into the audit trail that a file was imported, by the database's login.
    public func noteImport(of kind: ImportKind, file: String, taken: Int, refused: Int) async throws(LedgerError) {
        try await translating {
            _ = try await connection.query(
                """
                SELECT log_event(
                    'imported', session_user, NULL, now(),
                    jsonb_build_object(
                        'what', \(kind.rawValue), 'file', \(file), 'taken', \(taken), 'refused', \(refused)))
                """)
        }
    }

    func merge(_ batch: ImportBatch) async throws -> ImportOutcome {
        if batch.lines.isEmpty { return ImportOutcome(of: batch, taken: 0, contradicted: [:]) }
        try await stage(batch)
        let staged = batch.lines.count
        let taken: Int
        var contradicted: [Int: Contradiction] = [:]
        switch batch.kind {
        case .receipts: taken = try await ReceiptsImport(connection: connection).merge()
        case .entitlements: taken = try await EntitlementsImport(connection: connection).merge()
        case .products: taken = try await ProductsImport(connection: connection).merge()
        case .orders:
            (taken, contradicted) = try await OrdersImport(connection: connection, staged: staged).merge()
        case .delivered:
            (taken, contradicted) = try await DeliveriesImport(connection: connection, staged: staged).merge()
        }
        return ImportOutcome(of: batch, taken: taken, contradicted: contradicted)
    }

    private func stage(_ batch: ImportBatch) async throws {
        let copied = try await connection.copyIn(into: ImportStaging(batch.kind).target, rows: batch.lines) {
            $0.append(to: &$1)
        }
        guard copied == batch.lines.count else {
            throw LedgerError.failed("staged \(copied) of \(batch.lines.count) lines")
        }
    }
}
