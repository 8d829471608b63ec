public import Foundation

/// What becomes of the notifications that the store sends to the apps' servers: which exist, and how the URL takes
/// them. Each is drawn from the notification alone.
public struct NoticePolicy: Hashable, Sendable {
    /// One attempt to send, in Apple's words.
    struct Attempt: Hashable {
        let at: Date
        let result: String

        static let taken = "SUCCESS"
        var isTaken: Bool { result == Self.taken }
    }

    /// Hours from the notification to each attempt: Apple tries again 1, 12, 24, 48 and 72 hours after the previous
    /// one.
    private static let attempts: [Double] = [0, 1, 13, 37, 85, 157]
    private static let failures = [
        "TIMED_OUT", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "NO_RESPONSE", "SOCKET_ISSUE", "TLS_ISSUE", "PREMATURE_CLOSE",
    ]

    /// The share that never exists, and so is neither sent nor in the history.
    public var missingShare = 0.0
    /// The share that the URL takes only at a later attempt, and the share that it never takes.
    public var delayedShare = 0.0
    public var refusedShare = 0.02
    /// The most seconds by which a notification follows its event.
    public var mostDelay = 0.0
    /// When the URL takes nothing, and every attempt fails.
    public var deafness: Range<Date>?
    /// Whether the job hears of a notification only when the URL takes it, because nobody reads the history.
    package var isHeardWhenTaken = false
    /// When the apps begin to have a URL.
    public var since = Date.distantPast

    public init() {}

    /// When the notification of an event appears, if it ever does.
    func moment(of kind: StoreNotification.Kind, _ transactionID: String, at happened: Date) -> Date? {
        let hash = StoreNotification.hash(kind, transactionID)
        guard happened >= since, Mix.share(Mix.value(hash, 1)) >= missingShare else { return nil }
        return happened + (Mix.share(Mix.value(hash, 2)) * mostDelay).rounded()
    }

    /// When the job can hear of an event, if it ever can.
    package func heard(_ kind: StoreNotification.Kind, _ transactionID: String, at happened: Date) -> Date? {
        guard let signedAt = moment(of: kind, transactionID, at: happened) else { return nil }
        return isHeardWhenTaken
            ? takenAt(StoreNotification.hash(kind, transactionID), signedAt: signedAt) : signedAt
    }

    /// When the URL takes a notification, if it ever does.
    func takenAt(_ hash: UInt64, signedAt: Date) -> Date? {
        attempts(hash, signedAt: signedAt, by: .distantFuture).last.flatMap { $0.isTaken ? $0.at : nil }
    }

    /// The attempts to send a notification, up to a moment.
    func attempts(of notification: StoreNotification, by now: Date) -> [Attempt] {
        attempts(notification.hash, signedAt: notification.at, by: now)
    }

    private func attempts(_ hash: UInt64, signedAt: Date, by now: Date) -> [Attempt] {
        let share = Mix.share(Mix.finish(hash))
        let first =
            if share < refusedShare {
                Self.attempts.count
            } else {
                share < refusedShare + delayedShare ? 1 + Int(Mix.value(hash, 3) % 5) : 0
            }
        var made: [Attempt] = []
        for (number, hours) in Self.attempts.enumerated() where !(made.last?.isTaken ?? false) {
            let moment = signedAt + hours * 3_600
            guard moment <= now else { break }
            let isTaken = number >= first && !(deafness?.contains(moment) ?? false)
            let failure = Self.failures[Int(Mix.value(hash, 4, UInt64(number)) % UInt64(Self.failures.count))]
            made.append(Attempt(at: moment, result: isTaken ? Attempt.taken : failure))
        }
        return made
    }
}
