import AppStore
package import Foundation
package import Reconciliation

/// What Apple sent to an app's server, or tried to, as Apple keeps it: Get Notification History, for 180 days in
/// production and 30 in sandbox. Apple states no order of the notifications.
package struct NoticeHistory: Sendable {
    let client: ServerAPIClient

    /// Up to 20 notices.
    package struct Page: Sendable {
        package var notices: [Notice]
        /// Entries that are not Apple's or not this app's, or can't be used: a sentence for each, with nothing of a
        /// payload.
        package var unreadable: [String]
        /// Those of them that may be the app's, to be kept until they can be used.
        package var unusable: [UnusableNotice] = []
        /// The token for the next page; `nil` on the last one.
        package var next: String?
        /// Whether Apple says that there is more, and names no page that was not read. What stands on this one is Apple's
        /// word all the same.
        package var isCutOff = false

        package var hasMore: Bool { next != nil }
    }

    /// The result of asking for a page. No text holds anything of a payload, a token or the key.
    package enum Outcome: Sendable {
        case page(Page)
        /// Apple does not take, or no longer takes, the token: the caller begins anew with the first page.
        case pageTokenRefused
        /// Nothing was learnt; a later night may bring more.
        case problem(String)
        /// Asking again won't help until somebody corrects the setting that the sentence names.
        case needsConfiguration(String)
        /// Nothing was sent: Apple is down.
        case notTried
    }

    /// Asks for a page of what was sent from a moment on.
    ///
    /// - Parameters:
    ///   - start: Apple refuses a start before the time for which it keeps notifications.
    ///   - end: the same for each page; a future end counts as now.
    ///   - token: the `next` of the previous page, asked for with the same start and end; `nil` for the first page.
    /// - Throws: `CancellationError` if the run was asked to stop.
    package func page(
        from start: Date, to end: Date, token: String? = nil, in environment: Environment
    ) async throws(CancellationError) -> Outcome {
        let query = NotificationQuery(start: start, end: end)
        let outcome = try await client.notificationPage(
            query, after: token, in: environment.server)
        switch outcome {
        case .found(let page): return Self.outcome(of: page, after: token)
        case .notFound(let absence): return .problem("\(absence)")
        case .unverified(let payload): return .problem("\(payload)")
        case .tryAgain(.pageTokenRefused): return .pageTokenRefused
        case .tryAgain(let why): return .problem(why.text)
        case .needsConfiguration(let what): return .needsConfiguration(what)
        case .notTried: return .notTried
        }
    }

    private static func outcome(of found: NotificationPage, after token: String?) -> Outcome {
        // Another number under the app's own bundle id means that the setting is wrong, unless some have the right one.
        if !found.entries.contains(where: { $0.notification.appAppleID != nil }),
            let wrong = found.unverified.lazy.compactMap(\.flaw.error.wrongAppAppleID).first
        {
            return .needsConfiguration(wrong)
        }
        // None of it is Apple's, so what Apple had to say was not heard.
        if found.entries.isEmpty, let forged = found.unverified.first(where: { !$0.flaw.error.isOfApples }) {
            return .problem("\(forged.flaw)")
        }
        var page = Page(
            notices: [], unreadable: found.unverified.map { "\($0.flaw)" },
            unusable: found.unverified.filter { !$0.flaw.error.isOfAnother }.map {
                UnusableNotice(payload: $0.payload, flaw: NoticeFlaw($0.flaw.error))
            },
            next: found.hasMore && found.paginationToken != token ? found.paginationToken : nil)
        // Otherwise the same page would be asked for endlessly.
        page.isCutOff = found.hasMore && page.next == nil
        for entry in found.entries {
            do throws(NoticeFlaw) {
                page.notices.append(
                    try Notice(
                        entry.notification, attempts: entry.attempts.map(NoticeAttempt.init), payload: entry.payload))
            } catch {
                page.unreadable.append(error.text)
                page.unusable.append(UnusableNotice(payload: entry.payload, flaw: error))
            }
        }
        return .page(page)
    }
}

/// A notification in Apple's history that can't be used, as it was sent, and why.
package struct UnusableNotice: Hashable, Sendable {
    package let payload: String
    package let flaw: NoticeFlaw
}

extension NoticeFlaw {
    init(_ error: JWSError) {
        self.init(
            text: error.wrongAppAppleID ?? "\(error)", isFinal: error.isFinal, isOfAnother: error.isOfAnother)
    }
}

extension NoticeAttempt {
    fileprivate init(_ attempt: NotificationPage.Attempt) {
        self.init(date: attempt.date, result: attempt.result ?? "OTHER")
    }
}

extension JWSError {
    /// Whether Apple signed it, but for another app or environment. What names none, or one that is not known, may be
    /// the app's, and of a kind that only a later program can read.
    fileprivate var isOfAnother: Bool {
        switch self {
        case .bundleID(let found, _): found != nil
        case .environment(let found): found.flatMap(AppStoreEnvironment.init) != nil
        case .nested(_, let error): error.isOfAnother
        default: false
        }
    }

    /// Whether Apple signed it all the same.
    fileprivate var isOfApples: Bool {
        switch self {
        case .bundleID, .environment, .appAppleID: true
        case .nested(_, let error): error.isOfApples
        default: false
        }
    }

    /// A sentence that says that the app has another number in the store than `app_apple_id`; `nil` if that is not it.
    var wrongAppAppleID: String? {
        switch self {
        case .appAppleID(let found?, let expected):
            "app_apple_id is \(expected), and Apple signs \(found) for the app"
        case .nested(_, let error): error.wrongAppAppleID
        default: nil
        }
    }
}
