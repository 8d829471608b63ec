/// The result of asking the App Store Server API. No text in it holds anything of a payload, the token or the key.
public enum ServerAPIOutcome<Value: Sendable>: Sendable {
    /// Apple's answer; all its signatures are right.
    case found(Value)
    /// Apple knows none, in either environment. A purchase of the last hours may yet be found on a later night.
    case notFound(ServerAPIAbsence)
    /// Apple's answer holds something that is not signed as it must be; none of the answer is used.
    case unverified(UnverifiedPayload)
    /// Nothing was learnt, and tonight's attempts are used up: ask again.
    case tryAgain(TryAgain)
    /// Asking again won't help until somebody corrects the setting that the sentence names.
    case needsConfiguration(String)
    /// Nothing was sent: the circuit is open, as Apple is down.
    case notTried
}

extension ServerAPIOutcome: Equatable where Value: Equatable {}

extension ServerAPIOutcome {
    /// What was found.
    public var value: Value? {
        if case .found(let value) = self { value } else { nil }
    }

    /// The same outcome with another value in place of what was found.
    public func map<Other: Sendable>(_ transform: (Value) -> Other) -> ServerAPIOutcome<Other> {
        switch self {
        case .found(let value): .found(transform(value))
        case .notFound(let absence): .notFound(absence)
        case .unverified(let payload): .unverified(payload)
        case .tryAgain(let why): .tryAgain(why)
        case .needsConfiguration(let what): .needsConfiguration(what)
        case .notTried: .notTried
        }
    }
}

/// What Apple does not know, by its error codes.
public enum ServerAPIAbsence: Int, Error, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// The id is not one of the App Store's, in either environment.
    case invalidTransactionID = 4_000_006
    case account = 4_040_001
    case originalTransactionID = 4_040_005
    case transactionID = 4_040_010
    /// Look Up Order ID answered status 1: there is no such order id, or it is another app's.
    case orderID = 1

    public var description: String {
        switch self {
        case .invalidTransactionID: "Apple says that the transaction id can't be one (4000006)"
        case .account: "Apple found no such account (4040001)"
        case .originalTransactionID: "Apple found no such original transaction id (4040005)"
        case .transactionID: "Apple found no such transaction id (4040010)"
        case .orderID: "Apple found no such order id for the app (status 1)"
        }
    }
}

/// A signed payload of an answer that is not accepted.
public struct UnverifiedPayload: Error, Sendable, Hashable, CustomStringConvertible {
    /// Its position in the answer, such as `signedTransactions[3]`.
    public let place: String
    public let error: JWSError

    public var description: String { "Apple's answer can't be trusted: \(place): \(error)" }
}
