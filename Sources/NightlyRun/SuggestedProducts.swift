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
        do {
            let session = try await LedgerSession.connectToCurrentSchema(
                LedgerSettings(database: settings.database, statementTimeout: settings.statementTimeout))
            defer { session.close() }
            return try await session.unpricedProducts(isOwedOnly: false)
        } catch {
            throw JobError(error)
        }
    }
}
