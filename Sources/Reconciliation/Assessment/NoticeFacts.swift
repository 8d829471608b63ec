public import Foundation

/// What Apple told by itself of a transaction.
public struct NoticeFacts: Hashable, Sendable {
    /// How sending the notification of the purchase to the app's server went; `nil` if that is not known.
    public var sending: NoticeSending.State?
    /// Whether Apple's history of notifications was read long enough after the purchase to hold one of it, and holds
    /// none.
    public var isMissing: Bool
    /// Whether nobody but Apple ever told of it: it came in no upload, and the app's server never named it.
    public var isOnlyWitness: Bool
    /// When Apple asked whether it was delivered, because the customer says that it was not.
    public var askedAt: Date?

    /// Apple decides on a refund twelve hours after it asked whether the purchase was delivered:
    /// https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information
    public static func deadline(askedAt moment: Date) -> Date { moment.addingTimeInterval(12 * 3600) }

    public init(
        sending: NoticeSending.State? = nil, isMissing: Bool = false, isOnlyWitness: Bool = false, askedAt: Date? = nil
    ) {
        self.sending = sending
        self.isMissing = isMissing
        self.isOnlyWitness = isOnlyWitness
        self.askedAt = askedAt
    }
}
