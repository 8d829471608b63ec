public import Foundation
import PostgreSQL
public import Reconciliation

/// Advisory locks of a session: PostgreSQL frees them the moment the session's connection ends, so a killed worker
/// holds nothing back, and a worker that lost its lock has lost the connection that it would commit with.
public enum LedgerLock: Hashable, Sendable {
    /// A bucket of the inbox, one of `Bucket.all`.
    case bucket(Int)
    /// The night: held by an exclusive run alone, or by any number of shared ones.
    case night(isShared: Bool)
    /// A run's sign of life.
    case run(Int64)
    /// Taking sales reports, one at a time.
    case sales
    /// Judging cases, one run after the other: what is stored last is then judged last, too.
    case sweep

    /// Beyond the buckets' numbers.
    private static let nightNumber: Int32 = 1000
    private static let salesNumber: Int32 = 1001
    private static let sweepNumber: Int32 = 1002
    /// Signs of life count runs, from here on.
    private static let livesNumber: Int32 = 1 << 16

    /// Changing the schema, one program at a time: there is no space of numbers for it before there is a schema.
    static let migration: (Int32, Int32) = (0x49_41_50, 1)

    var number: Int32 {
        switch self {
        case .bucket(let bucket): Int32(bucket)
        case .night: Self.nightNumber
        case .sales: Self.salesNumber
        case .sweep: Self.sweepNumber
        case .run(let id): Self.livesNumber + Int32(truncatingIfNeeded: id % 1_000_000_000)
        }
    }
}

extension LedgerSession {
    /// The space of the ledger's advisory locks, drawn at random for each database and readable by the job alone:
    /// nobody else holds a lock that it waits for, except somebody who looks for it in `pg_locks`.
    func lockSpace() async throws -> Int32 {
        if let space { return space }
        let drawn = try await connection.only("SELECT space FROM iap.lock_space").decode("space", as: Int32.self)
        space = drawn
        return drawn
    }

    /// Takes the lock if nobody else holds it.
    public func tryLock(_ lock: LedgerLock) async throws(LedgerError) -> Bool {
        try await translating {
            let call = try await call("pg_try_advisory_lock", lock)
            return try await connection.only("SELECT \(call) AS is_ours").decode("is_ours", as: Bool.self)
        }
    }

    /// Frees a lock that this session holds.
    public func unlock(_ lock: LedgerLock) async throws(LedgerError) {
        try await translating {
            let call = try await call("pg_advisory_unlock", lock)
            _ = try await connection.query("SELECT \(call)")
        }
    }

    /// Takes those buckets of the inbox that nobody else holds.
    public func tryLock(buckets: [Int]) async throws(LedgerError) -> Set<Int> {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT bucket FROM unnest(\(buckets.map(Int32.init))) AS wanted (bucket)
                WHERE pg_try_advisory_lock(\(try await lockSpace()), bucket)
                """)
            return Set(try rows.map { Int(try $0.decode("bucket", as: Int32.self)) })
        }
    }

    /// Frees buckets that this session holds.
    public func unlock(buckets: [Int]) async throws(LedgerError) {
        try await translating {
            _ = try await connection.query(
                """
                SELECT pg_advisory_unlock(\(try await lockSpace()), bucket)
                FROM unnest(\(buckets.map(Int32.init))) AS held (bucket)
                """)
        }
    }

    /// Whether the lock is held by another session that does none of the job's work: it has done nothing for so many
    /// seconds, for its program hangs, or it is another login's, which could keep the lock and look busy for ever.
    public func isHeldIdly(_ lock: LedgerLock, for seconds: TimeInterval) async throws(LedgerError) -> Bool {
        try await translating {
            let (space, number) = (try await lockSpace(), lock.number)
            return try await connection.only(
                """
                SELECT coalesce(bool_or(
                    usename <> current_user
                    OR state <> 'active' AND state_change < clock_timestamp() - \(seconds) * interval '1 second'
                ), false) AS is_idle
                FROM pg_locks
                JOIN pg_stat_activity USING (pid)
                WHERE \(Self.holds(space, number))
                """
            ).decode("is_idle", as: Bool.self)
        }
    }

    private static func holds(_ space: Int32, _ number: Int32) -> SQL {
        """
        locktype = 'advisory' AND granted AND datname = current_database()
            AND database = datid AND classid = \(Int64(UInt32(bitPattern: space)))::oid
            AND objid = \(Int64(UInt32(bitPattern: number)))::oid AND pid <> pg_backend_pid()
        """
    }

    private func call(_ function: String, _ lock: LedgerLock) async throws -> SQL {
        let suffix = if case .night(isShared: true) = lock { "_shared" } else { "" }
        return "\(identifier: function + suffix)(\(try await lockSpace()), \(lock.number))"
    }

    /// Who holds a lock: the sessions that have it.
    public func holders(of lock: LedgerLock) async throws(LedgerError) -> [LockHolder] {
        try await translating {
            let (space, number) = (try await lockSpace(), lock.number)
            return try await connection.query(
                """
                SELECT DISTINCT
                    pid, usename AS login, backend_start AS since,
                    usename = current_user AND application_name = current_setting('application_name') AS is_job,
                    NULL AS prepared
                FROM pg_locks
                JOIN pg_stat_activity USING (pid)
                WHERE \(Self.holds(space, number))
                ORDER BY pid
                """
            ).map(LockHolder.init)
        }
    }

    /// The other sessions that have something of the ledger, or of the inbox, locked in a transaction that is open
    /// longer than the job waits for a row, prepared transactions among them: the longest first. A whole table may be
    /// locked of any that the job writes. On a cluster a worker alone writes an upload: who is about to upload is known
    /// by the sequence that gives the number.
    public func holdersOfRows() async throws(LedgerError) -> [LockHolder] {
        try await translating {
            try await connection.query(
                """
                SELECT DISTINCT
                    pid, usename AS login, xact_start AS since, false AS is_job, NULL AS prepared
                FROM pg_locks
                JOIN pg_stat_activity USING (pid)
                WHERE (
                        relation IN (
                            'iap.transactions'::regclass, 'iap.cases'::regclass, 'iap.receipts'::regclass,
                            'iap.receipt_number'::regclass)
                        AND mode IN ('RowShareLock', 'RowExclusiveLock')
                        OR relation IN (
                            SELECT oid FROM pg_class
                            WHERE relnamespace IN ('iap'::regnamespace, 'audit'::regnamespace))
                        AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
                    AND granted
                    AND datname = current_database() AND database = datid
                    AND (usename <> current_user OR application_name <> current_setting('application_name'))
                    AND xact_start IS NOT NULL
                UNION ALL
                SELECT 0, owner, prepared, false, gid
                FROM pg_prepared_xacts
                WHERE database = current_database()
                ORDER BY since
                LIMIT 10
                """
            ).map(LockHolder.init)
        }
    }
}

extension LockHolder {
    fileprivate init(_ row: Row) throws {
        self.init(
            processID: try row.decode("pid", as: Int32.self), login: try row.decode("login", as: String?.self) ?? "",
            since: try row.decode("since", as: Date?.self), isJob: try row.decode("is_job", as: Bool?.self) ?? false,
            prepared: try row.decode("prepared", as: String?.self))
    }
}
