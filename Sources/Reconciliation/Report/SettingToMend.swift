/// A setting because of which purchases are not looked at, until somebody mends it.
public struct SettingToMend: Hashable, Sendable {
    /// What is wrong with the setting.
    public enum Cause: String, Hashable, Sendable, CaseIterable {
        /// Apple refuses what the configuration says of the app: a shared secret, a key.
        case refused
        /// The configuration has no section for the app.
        case noSection = "no_section"
        /// `iap.products` has no row of the app: types and prices are not known.
        case noProducts = "no_products"
    }

    public var cause: Cause
    /// As the receipts say it; it may be no bundle id at all.
    public var bundleID: String
    /// Receipts that wait for it, paid transactions that are not looked at, and notifications that the app's server
    /// handed on.
    public var receipts: Int
    public var transactions: Int
    public var notices: Int
    /// What Apple says; `nil` if it has not been asked.
    public var detail: String?

    public init(
        cause: Cause, bundleID: String, receipts: Int, transactions: Int, notices: Int = 0, detail: String? = nil
    ) {
        self.cause = cause
        self.bundleID = bundleID
        self.receipts = receipts
        self.transactions = transactions
        self.notices = notices
        self.detail = detail
    }
}
