import Foundation
import PostgreSQL

/// Advisory locks of a session: PostgreSQL frees them the moment the session's connection ends, so a killed worker
/// holds nothing back, and a worker that lost its lock has lost the connection that it would commit with.
public enum LedgerLock: Hashable, Sendable {
    /// A bucket of the inbox, 0..<64.
    case bucket(Int)
    /// The night: held by an exclusive run alone, or by any number of shared ones.
    case night(isShared: Bool)
    /// A run's sign of life.
    case run(Int64)

    /// The job's number: "IAP" in ASCII.
    private static let job: Int32 = 0x49_41_50
    /// Signs of life count runs, and would meet the buckets' numbers.
    private static let lives: Int32 = 0x49_41_51
    /// Beyond the buckets' numbers.
    private static let nightNumber: Int32 = 1000
    /// Closing the books, one run at a time.
    static let books: (Int32, Int32) = (job, 1001)
    /// Changing the schema, one program at a time.
    static let migration: (Int32, Int32) = (job, 1002)
    /// Taking sales reports, one at a time.
    static let sales: (Int32, Int32) = (job, 1003)

    var numbers: (Int32, Int32) {
        switch self {
        case .bucket(let bucket): (Self.job, Int32(bucket))
        case .night: (Self.job, Self.nightNumber)
        case .run(let id): (Self.lives, Int32(truncatingIfNeeded: id))
        }
    }
}

extension LedgerSession {
    /// Takes the lock if nobody else holds it.
    public func tryLock(_ lock: LedgerLock) async throws(LedgerError) -> Bool {
        let (job, number) = lock.numbers
        return try await translating {
            let sql: SQL =
                if case .night(isShared: true) = lock {
                    "SELECT pg_try_advisory_lock_shared(\(job), \(number)) AS is_ours"
                } else {
                    "SELECT pg_try_advisory_lock(\(job), \(number)) AS is_ours"
                }
            return try await connection.only(sql).decode("is_ours", as: Bool.self)
        }
    }

    /// Frees a lock that this session holds.
    public func unlock(_ lock: LedgerLock) async throws(LedgerError) {
        let (job, number) = lock.numbers
        try await translating {
            let sql: SQL =
                if case .night(isShared: true) = lock {
                    "SELECT pg_advisory_unlock_shared(\(job), \(number))"
                } else {
                    "SELECT pg_advisory_unlock(\(job), \(number))"
                }
            _ = try await connection.query(sql)
        }
    }
}

extension Connection {
    /// The one row of a query that always gives one.
    func only(_ sql: SQL) async throws -> Row {
        let rows = try await query(sql)
        guard let row = rows.first, rows.count == 1 else {
            throw LedgerError.failed("a query that gives one row gave \(rows.count)")
        }
        return row
    }
}
