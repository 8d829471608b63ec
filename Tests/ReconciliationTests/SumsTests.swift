import Reconciliation
import Testing

/// Figures that several batches or pages of a night come to. None of them is alike, so that each must keep its place.
@Suite struct SumsTests {
    private func ids(_ texts: String...) throws -> [TransactionID] {
        try texts.map { try #require(TransactionID($0)) }
    }

    @Test func whatWasAskedIsAddedUp() throws {
        var sum = AskingTotals(asked: 1, unknown: 2, unanswered: 3)
        sum.locked = try ids("1")
        var further = AskingTotals(asked: 10, unknown: 20, unanswered: 40)
        further.locked = try ids("2")
        sum += further
        var expected = AskingTotals(asked: 11, unknown: 22, unanswered: 43)
        expected.locked = try ids("1", "2")
        #expect(sum == expected)
    }

    @Test func whatWasHeardIsAddedUp() throws {
        var sum = NoticeTotals(fresh: 1, unknown: 2)
        sum.locked = try ids("1")
        var further = NoticeTotals(fresh: 10, unknown: 30)
        further.locked = try ids("2")
        sum += further
        var expected = NoticeTotals(fresh: 11, unknown: 32)
        expected.locked = try ids("1", "2")
        #expect(sum == expected)
        // What was locked comes in the end, or is locked still.
        var again = NoticeTotals(fresh: 100, unknown: 200)
        again.locked = try ids("2")
        sum.add(takenAgain: again)
        expected = NoticeTotals(fresh: 111, unknown: 232)
        expected.locked = try ids("2")
        #expect(sum == expected)
    }

    @Test func whatWasPurgedIsAddedUp() {
        var sum = Purged(payloads: 1, devices: 2, orders: 3, notices: 4)
        sum += Purged(payloads: 10, devices: 30, orders: 50, notices: 70)
        #expect(sum == Purged(payloads: 11, devices: 32, orders: 53, notices: 74))
        #expect(sum.total == 170)
    }
}
