import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Closes the books over the white table: what it held when the run before closed them, what moved since, and
    /// what it holds now; continues finance's journal and the chain over the trail.
    ///
    /// Books that this run closed already stay as they are.
    ///
    /// - Throws: `LedgerError.unbalanced` when the equation does not hold; then nothing is closed.
    public func closeBooks(of runID: Int64) async throws(LedgerError) -> ControlTotals {
        try await translating {
            try await connection.transaction { try await close(runID) }
        }
    }

    private func close(_ runID: Int64) async throws -> ControlTotals {
        // The word of their commit was lost.
        if let closed = try await closedTotals(of: runID) { return closed }
        var totals = try await recordedTotals(of: runID)
        let white = try await connection.only(
            """
            SELECT new, claimed, resolved, refunded, closing_white FROM \(isShadowed ? shadowTotals : "close_books(\(runID))")
            """)
        totals.new = try white.tally("new")
        totals.claimed = try white.tally("claimed")
        totals.resolved = try white.tally("resolved")
        totals.refunded = try white.tally("refunded")
        totals.closingWhite = try white.tally("closing_white")
        // Only now: closing waits for another run that closes its own.
        let before = try await lastClosing()
        totals.openingWhite = before.white
        let imbalances = totals.imbalances
        guard imbalances.isEmpty else { throw LedgerError.unbalanced(imbalances) }
        try await write(totals, number: before.number + 1, to: runID)
        checkpoint(.booksCommitting)
        return totals
    }

    /// A dry run's books: all that its shadows hold since the last run closed its own, and nothing written.
    private var shadowTotals: SQL {
        "white_totals((SELECT frontier FROM audit.frontier), 9223372036854775807, '{}')"
    }

    private func closedTotals(of runID: Int64) async throws -> ControlTotals? {
        let rows = try await connection.query(
            """
            SELECT
                verified, newly_white, already_white, already_black, excluded, opening_white, new, claimed, resolved,
                refunded, closing_white
            FROM runs
            WHERE run_id = \(runID) AND closing_number IS NOT NULL
            """)
        return try rows.first.map { try $0.controlTotals() }
    }

    private func lastClosing() async throws -> (number: Int64, white: Tally) {
        let rows = try await connection.query(
            """
            SELECT closing_number, closing_white
            FROM runs
            WHERE closing_number IS NOT NULL
            ORDER BY closing_number DESC
            LIMIT 1
            """)
        guard let row = rows.first else { return (0, Tally()) }
        return (try row.decode("closing_number"), try row.tally("closing_white"))
    }

    private func write(_ totals: ControlTotals, number: Int64, to runID: Int64) async throws {
        try await connection.execute(
            """
            UPDATE runs
            SET opening_white = \(totals.openingWhite.figures), new = \(totals.new.figures),
                claimed = \(totals.claimed.figures), resolved = \(totals.resolved.figures),
                refunded = \(totals.refunded.figures), closing_white = \(totals.closingWhite.figures),
                closing_number = \(number)
            WHERE run_id = \(runID)
            """)
    }

    /// The totals that a run's batches recorded; those of its books are still empty.
    func recordedTotals(of runID: Int64) async throws -> ControlTotals {
        let row = try await connection.only(
            """
            SELECT verified, newly_white, already_white, already_black, excluded FROM runs WHERE run_id = \(runID)
            """)
        var totals = ControlTotals()
        totals.verified = try row.tally("verified")
        totals.newlyWhite = try row.tally("newly_white")
        totals.alreadyWhite = try row.tally("already_white")
        totals.alreadyBlack = try row.tally("already_black")
        totals.excluded = try row.tally("excluded")
        return totals
    }
}

extension Tally {
    /// As the columns of `runs` hold it: transactions, units, hash.
    var figures: [Int64] { [Int64(transactions), Int64(units), hash] }
}

extension Row {
    func tally(_ column: String) throws -> Tally {
        let figures = try decode(column, as: [Int64]?.self) ?? [0, 0, 0]
        guard figures.count == 3 else { throw LedgerError.failed("\(column) does not hold three figures") }
        return Tally(transactions: Int(figures[0]), units: Int(figures[1]), hash: figures[2])
    }
}
