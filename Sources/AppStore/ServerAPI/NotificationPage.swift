public import Foundation

/// Up to 20 notifications that Apple sent, or tried to send, to the app's server.
public struct NotificationPage: ServerAPIPage, Hashable {
    /// A notification and what became of it.
    public struct Entry: Sendable, Hashable {
        public var notification: AppStoreNotification
        /// Its transaction as Apple signed it: a proof that can be handed in as a receipt.
        public var signedTransaction: String?
        /// Apple's words on each attempt, such as `SUCCESS`, `TIMED_OUT`, in the order of the answer.
        public var attempts: [Attempt]
    }

    public struct Attempt: Sendable, Hashable {
        public var date: Date?
        public var result: String?
    }

    public var entries: [Entry]
    /// Entries that are not Apple's, or not of this app and environment: one of them must not hide the others.
    public var unverified: [UnverifiedPayload]
    public var environment: ServerEnvironment
    public var hasMore: Bool
    public var paginationToken: String?

    public var continuation: String? { paginationToken }
}

/// Which notifications are asked for.
public struct NotificationQuery: Sendable, Hashable {
    /// Apple keeps 180 days, and 30 in sandbox.
    public var start: Date
    public var end: Date
    /// Of this type alone, such as `ONE_TIME_CHARGE`.
    public var type: String?
    public var subtype: String?
    /// Of this transaction's customer alone; not together with a type.
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
        // Texts, integers and Booleans always encode.
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
    /// Get Notification History of one environment.
    public func notificationHistory(
        _ query: NotificationQuery, in environment: ServerEnvironment
    ) -> ServerAPIPages<NotificationPage> {
        ServerAPIPages(after: nil, in: environment) { (after, environment) async throws(CancellationError) in
            try await notificationPage(query, token: after, in: environment ?? .production)
        }
    }

    /// One page of Get Notification History.
    public func notificationPage(
        _ query: NotificationQuery, token: String?, in environment: ServerEnvironment
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
        var entries: [Entry] = []
        var unverified: [UnverifiedPayload] = []
        for (index, entry) in (answer.notificationHistory ?? []).enumerated() {
            do {
                let found = try reader.notification(
                    entry.signedPayload, at: "notificationHistory[\(index)].signedPayload")
                let attempts = (entry.sendAttempts ?? []).map { attempt in
                    Attempt(
                        date: attempt.attemptDate.flatMap(AppleDate.milliseconds), result: attempt.sendAttemptResult)
                }
                entries.append(
                    Entry(
                        notification: found.notification, signedTransaction: found.signedTransaction,
                        attempts: attempts))
            } catch {
                unverified.append(error)
            }
        }
        self.init(
            entries: entries, unverified: unverified, environment: reader.environment, hasMore: answer.hasMore,
            paginationToken: answer.paginationToken)
    }

    private struct Body: Decodable {
        let hasMore: Bool
        let paginationToken: String?
        let notificationHistory: [Item]?

        struct Item: Decodable {
            let signedPayload: String
            let sendAttempts: [SendAttempt]?
        }

        struct SendAttempt: Decodable {
            let attemptDate: Int64?
            let sendAttemptResult: String?
        }
    }
}
