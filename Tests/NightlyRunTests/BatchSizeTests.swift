import Testing

@testable import NightlyRun

/// A batch is neither so small that the database is asked more often than it need be, nor so large that memory is not
/// enough.
@Suite struct BatchSizeTests {
    private func size(
        _ ceiling: Int = 512, bytes: Int? = nil, transactions: Int? = nil, of receipts: Int = 100
    ) -> Int {
        var size = BatchSize(ceiling: ceiling)
        if let bytes { size.learn(payloadBytes: bytes * receipts, of: receipts) }
        if let transactions { size.learn(transactions: transactions * receipts, of: receipts) }
        return size.receipts
    }

    @Test func beginsInTheMiddle() {
        #expect(size() == 128)
        #expect(size(20) == 20)
    }

    @Test func followsTheSizeOfTheReceipts() {
        #expect(size(bytes: 5_000) == 300)
        #expect(size(bytes: 8_400) == 178)
        #expect(size(bytes: 100) == 512)
        #expect(size(bytes: 16 << 20) == 1)
        #expect(size(20, bytes: 5_000) == 20)
    }

    @Test func followsWhatIsInThem() {
        #expect(size(bytes: 5_000, transactions: 1) == 300)
        #expect(size(bytes: 5_000, transactions: 50) == 50)
        #expect(size(bytes: 5_000, transactions: 30_000) == 1)
        #expect(size(transactions: 0) == 128)
    }

    @Test func anEmptyBatchTellsNothing() {
        var size = BatchSize(ceiling: 512)
        size.learn(payloadBytes: 500_000, of: 100)
        size.learn(payloadBytes: 0, of: 0)
        size.learn(transactions: 0, of: 0)
        #expect(size.receipts == 300)
    }
}
