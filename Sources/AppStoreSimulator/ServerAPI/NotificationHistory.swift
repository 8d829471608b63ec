import Foundation

/// The answer of Get Notification History: what the store told the app's server, or tried to.
struct NotificationHistory {
    /// The seconds for which Apple keeps notifications.
    private static func retention(in environment: StoreEnvironment) -> Double {
        environment == .production ? 180 * 86_400 : 30 * 86_400
    }

    private struct Body: Decodable {
        let startDate: Int64?
        let endDate: Int64?
        let notificationType: String?
        let notificationSubtype: String?
        let transactionId: String?
        let onlyFailures: Bool?
    }

    private let api: ServerAPI
    private let notifications: [StoreNotification]
    /// The place of the next notification, and the window, which must be the same for each page.
    private let token: String?

    init(_ api: ServerAPI, _ request: ServerAPIRequest) throws(ServerAPIError) {
        guard let body = try? JSONDecoder().decode(Body.self, from: Data(request.body)) else { throw .badRequest }
        let window = try Self.window(body, api)
        let first = try Self.first(request.first("paginationToken"), of: body)
        guard first == nil || api.fault != .expiredToken else { throw .paginationTokenExpired }
        let all =
            if let id = body.transactionId {
                StoreNotification.about(try api.purchases(ofCustomer: id).map(\.purchase), api.records)
            } else {
                api.notices()
            }
        var found: [StoreNotification] = []
        var place = max(first ?? 0, all.firstPlace { $0.at >= window.lowerBound })
        let end = all.firstPlace { $0.at >= window.upperBound || $0.at > api.now }
        var next: Int?
        while place < end, next == nil {
            if Self.admits(all[place], body, api) {
                if found.count < ServerAPI.pageLength { found.append(all[place]) } else { next = place }
            }
            place += 1
        }
        self.api = api
        notifications = found
        token = next.map { Base64URL.text(Array(Self.token($0, body).utf8)) }
    }

    // MARK: What is asked for

    private static func window(_ body: Body, _ api: ServerAPI) throws(ServerAPIError) -> Range<Date> {
        guard let first = body.startDate, first >= 0 else { throw .invalidStartDate }
        guard let last = body.endDate, last >= 0 else { throw .invalidEndDate }
        let (start, end) = (Date(unixMilliseconds: first), Date(unixMilliseconds: last))
        guard start < end else { throw .startDateAfterEndDate }
        guard start >= api.now.addingTimeInterval(-retention(in: api.environment)) else { throw .startDateTooFarInPast }
        guard body.transactionId == nil || body.notificationType == nil else { throw .multipleFilters }
        guard body.notificationType.map(StoreNotification.isType) ?? (body.notificationSubtype == nil) else {
            throw .invalidNotificationType
        }
        return start..<end
    }

    private static func admits(_ notification: StoreNotification, _ body: Body, _ api: ServerAPI) -> Bool {
        guard body.notificationType.map({ $0 == notification.kind.rawValue }) ?? true,
            body.notificationSubtype.map({ $0 == notification.subtype }) ?? true
        else { return false }
        guard body.onlyFailures ?? false else { return true }
        return !api.records.notices.attempts(of: notification, by: api.now).contains(where: \.isTaken)
    }

    private static func token(_ place: Int, _ body: Body) -> String {
        "\(place) \(body.startDate ?? 0) \(body.endDate ?? 0)"
    }

    /// The place of the first notification that a token refers to.
    private static func first(_ text: String?, of body: Body) throws(ServerAPIError) -> Int? {
        guard let text, !text.isEmpty else { return nil }
        guard let token = Base64URL.bytes(text).map({ String(decoding: $0, as: UTF8.self) }),
            let place = token.split(separator: " ").first.flatMap({ Int($0) }), place >= 0,
            token == Self.token(place, body)
        else { throw .invalidPaginationToken }
        return place
    }

    // MARK: What is answered

    func answer() -> Answer {
        Answer { answer in
            answer.field("hasMore", bool: token != nil)
            if let token { answer.field("paginationToken", token) }
            answer.array("notificationHistory") { list in
                for (number, notification) in notifications.enumerated() {
                    let isForeign = number == 0 && api.fault == .foreign
                    list.object { write(notification, as: isForeign ? "com.example.puzzle" : nil, to: &$0) }
                }
            }
        }
    }

    private func write(_ notification: StoreNotification, as bundleID: String?, to item: inout JSONText) {
        item.field("signedPayload", api.signed(notification, as: bundleID))
        item.array("sendAttempts") { attempts in
            for attempt in api.records.notices.attempts(of: notification, by: api.now) {
                attempts.object {
                    $0.field("attemptDate", number: attempt.at.unixMilliseconds)
                    $0.field("sendAttemptResult", attempt.result)
                }
            }
        }
    }
}

extension [StoreNotification] {
    /// The first place at which a condition holds that also holds for all later ones.
    fileprivate func firstPlace(where holds: (StoreNotification) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
