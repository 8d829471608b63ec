import PostgreSQL

/// Waits until something is so that another task or process makes so.
///
/// - Throws: `NeverSo` after ten minutes, so that what never comes fails the test in place of hanging it.
public func waitUntil(
    _ expected: String, isolation: isolated (any Actor)? = #isolation, _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(600)
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw NeverSo(expected: expected) }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// What a test waited for in vain.
public struct NeverSo: Error, CustomStringConvertible {
    let expected: String

    public var description: String { "waited in vain until \(expected)" }
}

extension ScratchDatabase {
    /// Until a session waits for a lock in this database: others of the cluster belong to other tests.
    public func waitUntilSomebodyWaitsForALock() async throws {
        let observer = try await connect()
        defer { observer.close() }
        try await waitUntil("a session of \(name) waits for a lock") {
            try await !observer.query(
                "SELECT FROM pg_stat_activity WHERE datname = \(name) AND wait_event_type = 'Lock'"
            ).isEmpty
        }
    }

    /// Until a session of this database is in `pg_sleep`.
    public func waitUntilSleeping(_ sessions: Int = 1) async throws {
        let observer = try await connect()
        defer { observer.close() }
        try await waitUntil("\(sessions) sessions of \(name) sleep") {
            try await observer.query(
                "SELECT FROM pg_stat_activity WHERE datname = \(name) AND wait_event = 'PgSleep'"
            ).count >= sessions
        }
    }
}
