import Foundation
import Ledger
import Testing

@testable import NightlyRun

@Suite struct NotingTests {
    /// The run then notes over its own connection.
    @Test func saysWhereNoConnectionIsFree() async throws {
        let noting = Noting(
            apps: [], ledger: LedgerSettings(database: "host=/nowhere dbname=iap"), patience: 60, now: Date())
        #expect(try await noting.note() == false)
    }
}
