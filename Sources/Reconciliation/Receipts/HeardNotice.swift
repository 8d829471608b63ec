public import Foundation

/// What Apple told by itself of a transaction: a notification of version 2, and how sending it went.
public struct HeardNotice: Hashable, Sendable {
    /// The way by which it came.
    public enum Way: String, Hashable, Sendable, CaseIterable {
        /// Apple's endpoint Get Notification History.
        case history
        /// The app's server handed it on.
        case appServer = "app_server"
        /// `iap-reconcile notices`.
        case file
        /// Apple was asked about the customer, and told of it then.
        case question
    }

    public let uuid: String
    /// Apple's word, such as `ONE_TIME_CHARGE`.
    public let type: String
    public let subtype: String?
    public let signedAt: Date
    public let way: Way
    public let transaction: ScreenedTransaction
    /// The transaction as Apple signed it, which can be handed in as a receipt.
    public let signedTransaction: String?
    /// Apple's word on why it asks about the delivery, in a `CONSUMPTION_REQUEST`.
    public let consumptionReason: String?
    /// `nil` if Apple's history did not tell.
    public let sending: NoticeSending?

    public init(
        uuid: String, type: String, subtype: String?, signedAt: Date, way: Way, transaction: ScreenedTransaction,
        signedTransaction: String?, consumptionReason: String?, sending: NoticeSending?
    ) {
        self.uuid = uuid
        self.type = type
        self.subtype = subtype
        self.signedAt = signedAt
        self.way = way
        self.transaction = transaction
        self.signedTransaction = signedTransaction
        self.consumptionReason = consumptionReason
        self.sending = sending
    }
}

/// How sending a notification to the app's server has gone for Apple so far.
public struct NoticeSending: Hashable, Sendable {
    /// Whether the app's server took it.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// The app's server took it.
        case sent
        /// It did not yet, and Apple tries again.
        case retrying
        /// Apple has given up.
        case failed
    }

    public let state: State
    public let attempts: Int
    public let lastAttemptAt: Date?
    /// Apple's word, such as `TIMED_OUT`.
    public let lastResult: String?

    /// - Parameters:
    ///   - attempts: when each was made, and Apple's word on how it went.
    ///   - signedAt: when the notification was signed.
    ///   - now: the present. If no attempt or no time is left, Apple has given up.
    public init?(attempts: [(date: Date?, result: String)], signedAt: Date, now: Date) {
        guard !attempts.isEmpty else { return nil }
        let last = attempts.max { ($0.date ?? .distantPast) < ($1.date ?? .distantPast) }
        let isSent = attempts.contains { $0.result == "SUCCESS" }
        let mayComeAgain = attempts.count < Self.mostAttempts && now < signedAt.addingTimeInterval(Self.retryWindow)
        state = isSent ? .sent : mayComeAgain ? .retrying : .failed
        self.attempts = attempts.count
        lastAttemptAt = last?.date
        lastResult = last?.result
    }

    public init(state: State, attempts: Int, lastAttemptAt: Date?, lastResult: String?) {
        self.state = state
        self.attempts = attempts
        self.lastAttemptAt = lastAttemptAt
        self.lastResult = lastResult
    }

    /// Hours from each attempt to the next, if the app's server did not take a notification:
    /// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
    private static let pauses = [1, 12, 24, 48, 72]
    private static let mostAttempts = pauses.count + 1
    /// Seconds after which Apple tries no more.
    public static let retryWindow = TimeInterval(pauses.reduce(0, +) * 3600)
}
