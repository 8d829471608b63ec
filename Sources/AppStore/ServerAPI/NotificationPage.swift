public import Foundation

/// Up to 20 notifications that Apple sent, or tried to send, to the app's server.
public struct NotificationPage: ServerAPIPage, Hashable {
    /// A notification and what became of it.
    public struct Entry: Sendable, Hashable {
        /// As it was sent.
        public var payload: String
        /// The notification, with the signed transaction as it was sent.
        public var notification: AppStoreNotification
        /// Apple's words on each attempt, such as `SUCCESS`, `TIMED_OUT`, in the order of the answer.
        public var attempts: [Attempt]
    }

    /// One attempt of Apple's to send a notification.
    public struct Attempt: Sendable, Hashable {
        public var date: Date?
        public var result: String?
    }

    /// An entry that is not accepted, and why.
    public struct UnverifiedEntry: Sendable, Hashable {
        /// As it was sent; empty if there is none.
        public var payload: String
        public var flaw: UnverifiedPayload
    }

    public var entries: [Entry]
    /// Entries that are not Apple's, or not of this app and environment. None of them hides the others, nor the pages
    /// that follow.
    public var unverified: [UnverifiedEntry]
    public var environment: ServerEnvironment
    public var hasMore: Bool
    public var paginationToken: String?

    public var continuation: String? { paginationToken }
}

/// Which notifications to ask for.
public struct NotificationQuery: Sendable, Hashable {
    /// Apple keeps 180 days, and 30 in sandbox.
    public var start: Date
    public var end: Date
    /// Only of this type, such as `ONE_TIME_CHARGE`.
    public var type: String?
    public var subtype: String?
    /// Only of this transaction's customer; can't be combined with a type.
    public var transactionID: String?
    /// Only those that never reached the server.
    public var onlyFailures: Bool

    public init(
        start: Date, end: Date, type: String? = nil, subtype: String? = nil, transactionID: String? = nil,
        onlyFailures: Bool = false
    ) {
        self.start = start
        self.end = end
        self.type = type
        self.subtype = subtype
        self.transactionID = transactionID
        self.onlyFailures = onlyFailures
    }

    /// The body of the request.
    fileprivate var body: Data {
        let fields = Fields(
            startDate: Self.milliseconds(start), endDate: Self.milliseconds(end), notificationType: type,
            notificationSubtype: subtype, transactionId: transactionID, onlyFailures: onlyFailures ? true : nil)
        // Strings, integers and Booleans always encode.
        return (try? JSONEncoder().encode(fields)) ?? Data()
    }

    private static func milliseconds(_ date: Date) -> Int64 { Int64((date.timeIntervalSince1970 * 1000).rounded()) }

    private struct Fields: Encodable {
        let startDate: Int64
        let endDate: Int64
        let notificationType: String?
        let notificationSubtype: String?
        let transactionId: String?
        let onlyFailures: Bool?
    }
}

extension ServerAPIClient {
    /// Get Notification History of one environment. If Apple no longer takes a page's token, the sequence ends with
    /// `tryAgain(.pageTokenRefused)`: the caller begins anew.
    public func notificationHistory(
        _ query: NotificationQuery, in environment: ServerEnvironment
    ) -> ServerAPIPages<NotificationPage> {
        ServerAPIPages(after: nil, in: environment) { (after, environment) async throws(CancellationError) in
            try await notificationPage(query, after: after, in: environment ?? .production)
        }
    }

    /// One page of Get Notification History.
    ///
    /// - Parameter token: `paginationToken` of the previous page, which was asked for with the same query.
    public func notificationPage(
        _ query: NotificationQuery, after token: String? = nil, in environment: ServerEnvironment
    ) async throws(CancellationError) -> ServerAPIOutcome<NotificationPage> {
        let request = ServerAPIRequest(
            .notificationHistory, path: "/inApps/v1/notifications/history", query: [("paginationToken", token)],
            body: query.body)
        return try await ask(request, in: environment) { try NotificationPage($0, $1) }
    }
}

extension NotificationPage {
    fileprivate init(_ body: Data, _ reader: ServerAPIReader) throws {
        let answer = try reader.decode(Body.self, from: body)
        self.init(
            entries: [], unverified: [], environment: reader.environment, hasMore: answer.hasMore,
            paginationToken: answer.paginationToken)
        for (index, item) in (answer.notificationHistory ?? []).enumerated() {
            do throws(UnverifiedPayload) {
                let place = "notificationHistory[\(index)].signedPayload"
                let notification = try reader.notification(item.signedPayload, at: place)
                entries.append(
                    Entry(payload: item.signedPayload, notification: notification, attempts: item.attempts))
            } catch {
                unverified.append(UnverifiedEntry(payload: item.signedPayload, flaw: error))
            }
        }
    }

    private struct Body: Decodable {
        let hasMore: Bool
        let paginationToken: String?
        /// Left out if there is none.
        let notificationHistory: [Item]?
    }

    /// An entry. Whatever it holds, the others are still decoded.
    private struct Item: Decodable {
        enum Key: CodingKey {
            case signedPayload, sendAttempts
        }

        /// Empty if there is none.
        let signedPayload: String
        let attempts: [Attempt]

        init(from decoder: any Decoder) {
            let item = try? decoder.container(keyedBy: Key.self)
            signedPayload = (try? item?.decode(String.self, forKey: .signedPayload)) ?? ""
            let attempts = try? item?.decode([SendAttempt].self, forKey: .sendAttempts)
            self.attempts = (attempts ?? []).map { attempt in
                Attempt(date: attempt.attemptDate.flatMap(AppleDate.milliseconds), result: attempt.sendAttemptResult)
            }
        }
    }

    private struct SendAttempt: Decodable {
        let attemptDate: Int64?
        let sendAttemptResult: String?
    }
}
