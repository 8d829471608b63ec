public import Job
import Ledger
public import Reconciliation

/// The products for which the table `products` lacks a price.
public struct SuggestedProducts: Sendable {
    private let settings: JobSettings

    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// Finds them among all that was ever bought; those that were bought most come first.
    public func find() async throws(JobError) -> [UnpricedProduct] {
        try await withLedger(settings.ledger) { session async throws(LedgerError) in
            try await session.unpricedProducts(isOwedOnly: false)
        }
    }
}
