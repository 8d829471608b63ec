public import Foundation

/// A delivery that the app's server was asked to make by itself, and has not made yet. Until it ends, whoever delivers
/// by hand delivers a second time. What no server took for a day is none: the support desk would wait for ever.
public struct OpenRedelivery: Hashable, Sendable {
    public let userID: String
    public let orderedAt: Date
    /// The job, or who of the support desk ordered it.
    public let orderedBy: String
    /// How often an app's server took it.
    public let tries: Int
    /// When it was last taken; `nil` if it was not yet.
    public let takenAt: Date?

    public init(userID: String, orderedAt: Date, orderedBy who: String, tries: Int, takenAt: Date?) {
        self.userID = userID
        self.orderedAt = orderedAt
        orderedBy = who
        self.tries = tries
        self.takenAt = takenAt
    }
}
