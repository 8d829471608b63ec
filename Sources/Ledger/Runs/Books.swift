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
        let row = try await connection.only(
            """
            SELECT run_id, \(ControlTotals.columns), closing_number IS NOT NULL AS is_closed
            FROM runs
            WHERE run_id = \(runID)
            """)
        // The totals of its books are empty until they are closed.
        var totals = try row.controlTotals()
        // They were closed before, and the word of their commit was lost.
        if try row.decode("is_closed", as: Bool.self) { return totals }
        let white = try await connection.only(
            """
            SELECT new, claimed, resolved, refunded, closing_white FROM \(isShadowed ? shadowTotals : "close_books(\(runID))")
            """)
        totals.new = try white.tally("new")
        totals.claimed = try white.tally("claimed")
        totals.resolved = try white.tally("resolved")
        totals.refunded = try white.tally("refunded")
        totals.closingWhite = try white.tally("closing_white")
        // Read only now: closing waits for another run that closes its own.
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

    private func lastClosing() async throws -> (number: Int64, white: Tally) {
        let rows = try await connection.query(
            """
            SELECT run_id, closing_number, closing_white
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
}

extension Tally {
    /// As the columns of `runs` hold it: transactions, units, hash.
    var figures: [Int64] { [Int64(transactions), Int64(units), hash] }
}

extension ControlTotals {
    /// The columns of `runs` that hold them.
    static let columns: SQL = """
        verified, newly_white, already_white, already_black, excluded, opening_white, new, claimed, resolved, refunded,
        closing_white
        """
}

extension Row {
    func controlTotals() throws -> ControlTotals {
        var totals = ControlTotals()
        totals.verified = try tally("verified")
        totals.newlyWhite = try tally("newly_white")
        totals.alreadyWhite = try tally("already_white")
        totals.alreadyBlack = try tally("already_black")
        totals.excluded = try tally("excluded")
        totals.openingWhite = try tally("opening_white")
        totals.new = try tally("new")
        totals.claimed = try tally("claimed")
        totals.resolved = try tally("resolved")
        totals.refunded = try tally("refunded")
        totals.closingWhite = try tally("closing_white")
        return totals
    }

    func tally(_ column: String) throws -> Tally {
        let figures = try decode(column, as: [Int64]?.self) ?? [0, 0, 0]
        guard figures.count == 3 else {
            throw LedgerError.failed(
                "\(place(of: column)) does not hold three figures: transactions, units and their hash; mend the row")
        }
        return Tally(transactions: Int(figures[0]), units: Int(figures[1]), hash: figures[2])
    }
}
