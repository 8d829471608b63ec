/// The result of notifying somebody.
public struct NotificationResult: Sendable, Equatable {
    /// A way of notifying.
    public enum Way: String, Sendable {
        case metrics, ping, webhook, mail
    }

    public let way: Way
    /// Why it failed; `nil` if it did not. Holds no secret and no address.
    public let failure: String?

    init(_ way: Way, failure: String? = nil) {
        self.way = way
        self.failure = failure
    }
}

/// Why somebody could not be notified, for people to read. Holds no secret and no address.
struct NotificationError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
