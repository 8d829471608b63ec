import Verification
import Commands
import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import TestSupport

/// A place where sales reports are read: a database, and a folder for the files.
struct SalesBooth {
    let database: ScratchDatabase
    let folder: URL
    var apps: [AppSettings] = []

    /// A report in a file of its own.
    @discardableResult
    func write(_ report: SalesText, as name: String = "report.txt", compressed: Bool = false) throws -> String {
        let bytes = compressed ? try Gzip.compressed(report.bytes) : report.bytes
        return try write(bytes, as: name)
    }

    @discardableResult
    func write(_ bytes: [UInt8], as name: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(bytes).write(to: file)
        return file.path(percentEncoded: false)
    }

    /// Reads files as the role that cron gives the job.
    func read(_ files: [String]) async throws -> SalesResult {
        let settings = JobSettings(database: database.conninfo(as: "iap_job"), apps: apps)
        return try await SalesJob(settings: settings).run(files, stop: StopSignal()) { _, _ in }
    }

    /// Reads one report, given as lines.
    func read(_ report: SalesText) async throws -> SalesResult { try await read([try write(report)]) }

    /// The rows of a query as text.
    func rows(_ sql: SQL, as role: String? = nil) async throws -> [String] {
        let connection =
            if let role { try await database.connect(as: role) } else { try await database.connect() }
        defer { connection.close() }
        return try await connection.query("SELECT row::text AS row FROM (\(sql)) AS row").map { try $0.decode("row") }
    }
}

/// Opens one, where the app com.a sells gems and com.b sells coins.
func withSalesBooth<Value>(_ body: (SalesBooth) async throws -> Value) async throws -> Value {
    try await withScratchDatabase { database async throws -> Value in
        let owner = try await database.connect()
        defer { owner.close() }
        try await owner.execute(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name)
            VALUES ('com.a', 'gems', 'consumable', 'Gems'), ('com.b', 'coins', 'consumable', 'Coins'),
                ('com.a', 'both', 'consumable', 'Both'), ('com.b', 'both', 'consumable', 'Both')
            """)
        return try await withTemporaryFolder { folder in
            try await body(SalesBooth(database: database, folder: folder))
        }
    }
}
