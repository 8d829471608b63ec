package import Foundation
package import Job
package import Ledger
import Reconciliation
import Verification

/// Pulls what is new from a company's own databases and files, before the inbox is taken. A source that can't be read
/// is reported, and the night goes on with the rest.
package struct SourcePuller {
    let settings: JobSettings
    let stop: StopSignal
    let present: Date
    let log: @Sendable (LogEntry) -> Void

    package init(
        settings: JobSettings, stop: StopSignal, present: Date, log: @escaping @Sendable (LogEntry) -> Void
    ) {
        self.settings = settings
        self.stop = stop
        self.present = present
        self.log = log
    }

    /// Pulls all sources: products before what needs their prices, orders before what names them.
    ///
    /// - Parameter isUnderWay: becomes true once something may be taken.
    /// - Returns: how many rows came.
    package func pull(isUnderWay: inout Bool) async throws(LedgerError) -> Int {
        guard !settings.sources.isEmpty else { return 0 }
        let session = try await connect()
        defer { session.close() }
        let order: [ImportKind] = [.products, .orders, .receipts, .delivered, .entitlements]
        var rows = 0
        for kind in order {
            for source in settings.sources where source.kind == kind && !stop.isRequested {
                rows += try await pull(source, into: session, &isUnderWay)
                checkpoint(.sourceEnded)
            }
        }
        return rows
    }

    private func connect() async throws(LedgerError) -> LedgerSession {
        let ledger = LedgerSettings(
            database: settings.importDatabase ?? settings.database, statementTimeout: settings.statementTimeout,
            present: present)
        let session = try await LedgerSession.connect(ledger, waiting: settings.patience)
        do throws(LedgerError) {
            let missing = try await session.missingRights(of: .imports)
            guard missing.isEmpty else {
                throw LedgerError.forbidden(
                    "sources are pulled with the rights of iap_import, and the role lacks "
                        + missing.joined(separator: ", "))
            }
            return session
        } catch {
            session.close()
            throw error
        }
    }

    private func pull(
        _ source: SourceSettings, into session: LedgerSession, _ isUnderWay: inout Bool
    ) async throws(LedgerError) -> Int {
        let pull = Pull(
            source: source, settings: settings, session: session, stop: stop, log: log,
            rows: SourceRows(kind: source.kind, apps: Set(settings.apps.map(\.app.bundleID)), present: present))
        var problem: String?
        do {
            try await retryingConflicts { () async throws(LedgerError) in
                try await session.prepareImport(of: source.kind)
            }
            isUnderWay = true
            switch source.origin {
            case .query(let query): try await pull.pull(query)
            case .folder(let path): try await pull.pull(folder: path)
            }
        } catch let error as LedgerError {
            // A session that holds on to a purchase of the source holds up this source, but not the night.
            guard case .conflict(let why) = error else { throw error }
            problem = "another session's lock stays in the way: \(why)"
        } catch {
            problem = String(describing: error)
        }
        if let problem {
            log(LogEntry(.warning, "the source \(source.name) could not be pulled to its end: \(problem)"))
        }
        let ended = problem
        try await session.retryingImport(source.kind, settings: settings, log: log) { () async throws(LedgerError) in
            try await session.endPull(of: source, problem: ended, now: present)
        }
        return pull.read
    }
}
