import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import Ledger

/// After an upgrade of the operating system text may be ordered otherwise than in the indexes.
@Suite struct CollationTests {
    @Test(arguments: [false, true])
    func anotherOrderThanTheIndexesHaveIsSeen(isUpgraded: Bool) async throws {
        let cluster = try await ScratchCluster.shared()
        let admin = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        defer { admin.close() }
        let name = "sorted_\(UUID().uuidString)"
        try await admin.execute(
            "CREATE DATABASE \(identifier: name) TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'")
        if isUpgraded {
            try await admin.execute("UPDATE pg_database SET datcollversion = '1' WHERE datname = \(name)")
        }
        let conninfo = cluster.superuserConninfo(database: name)
        let session = try await LedgerSession.connect(LedgerSettings(database: conninfo))
        _ = try await session.migrate()
        #expect(try await session.examine().isSortedOtherwise == isUpgraded)
        session.close()
        try await admin.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
    }
}
