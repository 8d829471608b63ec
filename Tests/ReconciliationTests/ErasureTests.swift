import Reconciliation
import Testing

@Suite struct ErasureTests {
    /// A receipt that waits may hold a purchase.
    @Test(arguments: [([], 0, false), (["7"], 0, true), ([], 1, true)] as [([String], Int, Bool)])
    func whatIsOwedOrWaitsIsOpen(transactionIDs: [String], waiting: Int, isOpen: Bool) {
        #expect(OpenBusiness(transactionIDs: transactionIDs, waitingReceipts: waiting).isEmpty == !isOpen)
    }
}
