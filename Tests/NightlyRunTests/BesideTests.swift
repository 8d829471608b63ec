import Foundation
import Ledger
import Testing

@testable import NightlyRun

@Suite struct BesideTests {
    /// The run then does over its own connection what it would have had done beside.
    @Test func saysWhereNoConnectionIsFree() async throws {
        let beside = Beside(ledger: LedgerSettings(database: "host=/nowhere dbname=iap"), patience: 60)
        #expect(try await beside.run { _ in true } == nil)
        #expect(await !beside.isOpen)
    }
}
