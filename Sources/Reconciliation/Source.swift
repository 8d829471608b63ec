/// Who said what is known of a transaction, from the poorest to the best. A poorer source never overwrites what a
/// better one said.
public enum Source: String, Hashable, Sendable, Codable, CaseIterable, Comparable {
    /// The app's own server, through `iap.admit`.
    case appServer = "app_server"
    /// Apple's signature, checked on this machine: proof of purchase, but not that there was no refund since.
    case local
    /// Apple's `verifyReceipt`.
    case verifyReceipt = "verify_receipt"
    /// The App Store Server API.
    case serverAPI = "server_api"

    public static func < (a: Source, b: Source) -> Bool { a.rank < b.rank }
}
