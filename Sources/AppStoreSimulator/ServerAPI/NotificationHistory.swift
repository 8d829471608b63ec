import Foundation

/// The answer of Get Notification History: what the store told the app's server, as its purchases and refunds were.
struct NotificationHistory {
    /// As long as Apple keeps them, in seconds.
    private static func retention(in environment: StoreEnvironment) -> Double {
        environment == .production ? 180 * 86_400 : 30 * 86_400
    }

    private struct Body: Decodable {
        let startDate: Int64
        let endDate: Int64
        let notificationType: String?
        let notificationSubtype: String?
        let transactionId: String?
        let onlyFailures: Bool?
    }

    private let api: ServerAPI
    private let notifications: ArraySlice<StoreNotification>
    private let hasMore: Bool

    init(_ api: ServerAPI, _ request: ServerAPIRequest) throws(ServerAPIError) {
        guard let body = try? JSONDecoder().decode(Body.self, from: Data(request.body)) else { throw .badRequest }
        let start = Date(unixMilliseconds: body.startDate)
        let end = Date(unixMilliseconds: body.endDate)
        guard start < end else { throw .startDateAfterEndDate }
        guard start >= api.now.addingTimeInterval(-Self.retention(in: api.environment)) else {
            throw .startDateTooFarInPast
        }
        guard body.transactionId == nil || body.notificationType == nil else { throw .multipleFilters }
        let purchases =
            if let id = body.transactionId {
                try api.purchases(ofCustomer: id)
            } else {
                api.records.purchases(in: api.environment, bundleID: api.app.bundleID)
                    .filter { $0.at <= api.now }.map(api.known)
            }
        let all = purchases.flatMap(StoreNotification.about).filter {
            (start..<end).contains($0.at) && (body.notificationType ?? $0.type) == $0.type
                && (body.notificationSubtype ?? $0.subtype) == $0.subtype
                && (body.onlyFailures != true || $0.hasFailed)
        }
        .sorted { ($0.at, $0.known.transaction.id) < ($1.at, $1.known.transaction.id) }
        let first = try Self.first(request.first("paginationToken"))
        self.api = api
        notifications = all.dropFirst(first).prefix(ServerAPI.pageLength)
        hasMore = notifications.endIndex < all.endIndex
    }

    /// The number of the first notification that a token asks for.
    private static func first(_ token: String?) throws(ServerAPIError) -> Int {
        guard let token, !token.isEmpty else { return 0 }
        guard let bytes = Base64URL.bytes(token), let number = Int(String(decoding: bytes, as: UTF8.self)), number >= 0
        else { throw .invalidPaginationToken }
        return number
    }

    func answer() -> Answer {
        Answer { answer in
            answer.field("hasMore", bool: hasMore)
            if hasMore {
                answer.field("paginationToken", Base64URL.text(Array(String(notifications.endIndex).utf8)))
            }
            answer.array("notificationHistory") { list in
                for notification in notifications { list.object { write(notification, to: &$0) } }
            }
        }
    }

    private func write(_ notification: StoreNotification, to item: inout JSONText) {
        item.field("signedPayload", api.signed(notification))
        item.array("sendAttempts") { attempts in
            attempts.object {
                $0.field("attemptDate", number: notification.at.unixMilliseconds)
                $0.field("sendAttemptResult", notification.hasFailed ? "TIMED_OUT" : "SUCCESS")
            }
        }
    }
}
