public import Foundation

/// How hearing what Apple tells of an app goes.
public struct HearingFigures: Hashable, Sendable {
    public let bundleID: BundleID
    /// Up to when Apple's history of notifications was read.
    public let heardThrough: Date?
    /// When the latest notification was signed, whichever way it came.
    public let lastSignedAt: Date?
    /// Why Apple's history could not be read to its end.
    public let problem: String?
    /// The notifications that came and could not be taken, the most frequent reason first.
    public let notTaken: [NotTaken]
    /// How many notifications of the last three days Apple could not send, and its word on one of them.
    public let unsent: Int
    public let whyUnsent: String?
    /// How many purchases the app's server claimed since the latest notification.
    public let deliveredSince: Int

    public init(
        bundleID: BundleID, heardThrough: Date?, lastSignedAt: Date?, problem: String?,
        notTaken: [NotTaken], unsent: Int, whyUnsent: String?, deliveredSince: Int
    ) {
        self.bundleID = bundleID
        self.heardThrough = heardThrough
        self.lastSignedAt = lastSignedAt
        self.problem = problem
        self.notTaken = notTaken
        self.unsent = unsent
        self.whyUnsent = whyUnsent
        self.deliveredSince = deliveredSince
    }

    /// Notifications that could not be taken for one reason.
    public struct NotTaken: Hashable, Sendable {
        /// Apple's history, or the app's server.
        public let heardBy: HeardNotice.Way
        public let problem: String
        public let notices: Int

        public init(heardBy: HeardNotice.Way, problem: String, notices: Int) {
            self.heardBy = heardBy
            self.problem = problem
            self.notices = notices
        }
    }

    /// Whether purchases are delivered and Apple tells of none.
    ///
    /// Silence for a day is no sign if little is sold; many deliveries without any notification are. If the history
    /// could not be read, Apple may have told of them.
    public func isDrySpell(at now: Date) -> Bool {
        guard let lastSignedAt, problem == nil else { return false }
        return deliveredSince >= Self.tellingDeliveries && now.timeIntervalSince(lastSignedAt) > Self.silence
    }

    /// So many deliveries without a notification are no coincidence.
    private static let tellingDeliveries = 20
    /// Seconds without a notification.
    private static let silence: TimeInterval = 86_400
}
