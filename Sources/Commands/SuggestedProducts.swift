public import Job
import Ledger
public import Reconciliation

/// Which products the table `products` lacks a price for.
public struct SuggestedProducts: Sendable {
    private let settings: JobSettings

    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// Of all that was ever bought, those that were bought most first.
    public func find() async throws(JobError) -> [UnpricedProduct] {
        try await withLedger(settings.ledger) { session async throws(LedgerError) in
            try await session.unpricedProducts(isOwedOnly: false)
        }
    }
}
