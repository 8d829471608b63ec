import Ledger
import Reconciliation
import Testing

/// The notifications that the apps' servers handed on, as a night reads them.
@Suite struct HandedNoticesTests {
    /// Anybody may post large ones to an app's server.
    @Test(arguments: [(20, [2, 2]), (1, [1, 1, 1, 1]), (1000, [3, 1])])
    func asManyAreReadTogetherAsFitIntoMemory(payloadBytes: Int, pages: [Int]) async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let bundleID = try #require(BundleID("com.example.game"))
            for number in 0..<4 { try await session.submit(notification: "8 bytes\(number)", of: bundleID) }
            var read: [Int] = []
            var last: HandedNotice.Key?
            repeat {
                let page = try await session.handedNotices(
                    of: [bundleID], after: last, limit: 3, payloadBytes: payloadBytes)
                last = page.last?.key
                if !page.isEmpty { read.append(page.count) }
            } while last != nil
            #expect(read == pages)
        }
    }
}
