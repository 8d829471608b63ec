public import Foundation
import PostgreSQL
public import Reconciliation

/// Who runs, and when: what a run's row says of it from its start.
public struct RunStart: Sendable {
    /// The moment that the run takes for the present.
    public let asOf: Date
    public let startedAt: Date
    public let host: String
    public let processID: Int32
    public let programVersion: String

    public init(
        asOf: Date, startedAt: Date, host: String, processID: Int32, programVersion: String
    ) {
        self.asOf = asOf
        self.startedAt = startedAt
        self.host = host
        self.processID = processID
        self.programVersion = programVersion
    }
}

/// How a run ended, as its row says it: with a reason in a sentence if it did not do everything.
public enum RunEnd: Sendable {
    case complete
    case endedEarly(ExitCode, String)
    case failed(ExitCode, String)

    public var state: PastRun.State {
        switch self {
        case .complete: .complete
        case .endedEarly: .endedEarly
        case .failed: .failed
        }
    }

    public var reason: String? {
        switch self {
        case .complete: nil
        case .endedEarly(_, let reason), .failed(_, let reason): reason
        }
    }

    var exitCode: ExitCode {
        switch self {
        case .complete: .done
        case .endedEarly(let exitCode, _), .failed(let exitCode, _): exitCode
        }
    }
}

extension LedgerSession {
    /// Opens a run's row and takes its sign of life, a lock that ends with this session.
    public func begin(_ run: RunStart) async throws(LedgerError) -> Int64 {
        let runID: Int64 = try await translating {
            try await connection.transaction {
                let row = try await connection.only(
                    """
                    INSERT INTO runs (as_of, started_at, host, process_id, program_version)
                    VALUES (
                        \(run.asOf), \(run.startedAt), \(run.host), \(run.processID), \(run.programVersion))
                    RETURNING run_id
                    """)
                let runID = try row.decode("run_id", as: Int64.self)
                try await note("run_started", runID: runID, at: run.startedAt, details: ["host": run.host])
                return runID
            }
        }
        // A dry run's number is its own affair: a real run may have it later.
        if isShadowed { return runID }
        guard try await tryLock(.run(runID)) else {
            let holders = try await holders(of: .run(runID))
            throw .failed("run \(runID) has just begun, and yet another session holds its lock: \(holders.named)")
        }
        return runID
    }

    /// Notes how many receipts are due in a run.
    public func noteDue(_ receipts: Int, of runID: Int64) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                "UPDATE runs SET receipts_due = \(Int64(receipts)) WHERE run_id = \(runID)")
        }
    }

    /// Checks that a run's row is still there, on a connection that was opened after it.
    ///
    /// - Throws: `LedgerError.forgottenRun` if it is not. What was then recorded under its number would be the next
    ///   run's, which is given that number again.
    public func findAgain(_ runID: Int64) async throws(LedgerError) {
        try await translating {
            let rows = try await connection.query("SELECT run_id FROM runs WHERE run_id = \(runID)")
            guard rows.isEmpty else { return }
            throw LedgerError.forgottenRun(
                """
                PostgreSQL came back without run \(runID): it is as it was before that began, as after a failover to a \
                standby that lagged behind. What was recorded since is due again: run it again.
                """)
        }
    }

    /// Ends a run's row; one that ended keeps its end.
    public func end(_ runID: Int64, as end: RunEnd, at finishedAt: Date) async throws(LedgerError) {
        try await translating {
            try await connection.transaction {
                let ended = try await connection.execute(
                    """
                    UPDATE runs
                    SET state = \(end.state.rawValue), exit_code = \(end.exitCode.rawValue), reason = \(end.reason),
                        finished_at = \(finishedAt)
                    WHERE run_id = \(runID) AND state IN ('running', 'abandoned')
                    """)
                // It may have ended already, if the word of its commit was lost.
                guard ended > 0 else { return }
                try await note(
                    "run_finished", runID: runID, at: finishedAt,
                    details: ["state": end.state.rawValue, "exit_code": String(end.exitCode.rawValue)])
            }
        }
    }

    /// Ends the rows of runs that were killed, which are those whose sign of life is free to take. Gives their ids.
    public func abandonDeadRuns(at now: Date) async throws(LedgerError) -> [Int64] {
        let running: [Int64] = try await translating {
            try await connection.query("SELECT run_id FROM runs WHERE state = 'running' ORDER BY run_id")
                .map { try $0.decode("run_id", as: Int64.self) }
        }
        var dead: [Int64] = []
        for runID in running where try await tryLock(.run(runID)) {
            try await abandon(runID, at: now)
            try await unlock(.run(runID))
            dead.append(runID)
        }
        return dead
    }

    private func abandon(_ runID: Int64, at now: Date) async throws(LedgerError) {
        try await translating {
            try await connection.transaction {
                try await connection.execute(
                    """
                    UPDATE runs
                    SET state = 'abandoned', finished_at = \(now), reason = 'it was killed'
                    WHERE run_id = \(runID) AND state = 'running'
                    """)
                try await note("run_abandoned", runID: runID, at: now)
            }
        }
    }

    /// Keeps what the report's head says beside the totals, so that the report can be written again.
    public func keep(_ head: RunReport, of runID: Int64) async throws(LedgerError) {
        try await translating {
            let kept = KeptHead(head)
            try await connection.execute(
                """
                UPDATE runs
                SET cases = \(try String(json: kept.cases))::text::jsonb,
                    stages = \(try String(json: kept.stages))::text::jsonb,
                    told = \(try String(json: kept.told))::text::jsonb
                WHERE run_id = \(runID)
                """)
        }
    }

    /// Adds to the audit trail.
    func note(
        _ kind: String, by actor: String = "iap-reconcile", runID: Int64?, at now: Date, details: [String: String] = [:]
    ) async throws {
        _ = try await connection.query(
            "SELECT log_event(\(kind), \(actor), \(runID), \(now), \(try String(json: details))::text::jsonb)")
    }
}
