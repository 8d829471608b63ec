import Reconciliation
import Testing

@Suite struct ReceiptCountsTests {
    /// A receipt that is to be tried again waits for the next night as one does that was not tried.
    @Test func whatWasNotTriedOrIsToBeTriedAgainWaits() {
        let counts = ReceiptCounts(due: 20, verified: 8, tryAgain: 4, unusable: 2)
        #expect(counts.tried == 14 && counts.left == 6 && counts.waiting == 10)
    }

    /// Receipts may come in while a run goes on.
    @Test func moreMayBeTriedThanWereDue() {
        let counts = ReceiptCounts(due: 5, verified: 6, tryAgain: 1)
        #expect(counts.left == 0 && counts.waiting == 1)
    }
}
