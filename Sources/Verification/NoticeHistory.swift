import AppStore
package import Foundation
package import Reconciliation

/// A notification of Apple's (version 2), with what it carries, all of it verified.
package struct Notice: Sendable {
    package let uuid: String
    /// Apple's word, such as `ONE_TIME_CHARGE`.
    package let type: String
    package let subtype: String?
    package let signedAt: Date
    package let environment: Environment
    /// `nil` where it is about none, or one that can't be used.
    package let transaction: VerifiedTransaction?
    /// When Apple signed the transaction in it.
    package let transactionSignedAt: Date?
    /// The transaction as Apple signed it.
    package let signedTransaction: String?
    /// Why Apple asks about the delivery, in a `CONSUMPTION_REQUEST`.
    package let consumptionReason: String?
    /// When Apple tried to send it, and its word on how that went; empty where nobody tells.
    package let attempts: [(date: Date?, result: String)]
}

/// Why a notification can't be taken.
package struct NoticeFlaw: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// What Apple tells of its own notifications of an app: Get Notification History.
package struct NoticeHistory: Sendable {
    let client: ServerAPIClient

    /// Up to twenty notices.
    package struct Page: Sendable {
        package let notices: [Notice]
        /// What could not be taken of the page, in a sentence each.
        package let unreadable: [String]
        /// By which the next page is asked for; `nil` on the last.
        package let token: String?
    }

    /// What asking for a page came to.
    package enum Outcome: Sendable {
        case page(Page)
        /// Apple doesn't take the token any more: it is to be read from the first page on.
        case tokenRefused
        /// Nothing was learnt, for the reason in a sentence.
        case problem(String)
    }

    /// Asks for a page of the notifications between two moments, those of the end left out.
    ///
    /// - Parameter token: that of the page before; `nil` for the first.
    package func page(
        from start: Date, to end: Date, token: String?, in environment: Environment
    ) async throws(CancellationError) -> Outcome {
        let outcome = try await client.notificationPage(
            NotificationQuery(start: start, end: end), token: token,
            in: environment == .production ? .production : .sandbox)
        switch outcome {
        case .found(let page):
            guard !page.hasMore || (page.paginationToken != nil && page.paginationToken != token) else {
                return .problem("Apple says that there is more, and not where")
            }
            return .page(Page(page))
        case .tryAgain(.pageTokenRefused): return .tokenRefused
        // Where a token was sent, it is that which is invalid (4000006).
        case .notFound(.invalidTransactionID): return token == nil ? .problem("\(outcome)") : .tokenRefused
        case .notFound(let absence): return .problem("\(absence)")
        case .unverified(let payload): return .problem("\(payload)")
        case .tryAgain(let why): return .problem(why.text)
        case .needsConfiguration(let what): return .problem(what)
        case .notTried: return .problem("Apple can't be reached")
        }
    }
}

extension NoticeHistory.Page {
    fileprivate init(_ page: NotificationPage) {
        var notices: [Notice] = []
        var unreadable = page.unverified.map { "\($0)" }
        for entry in page.entries {
            do {
                notices.append(
                    try Notice(
                        entry.notification, entry.signedTransaction,
                        attempts: entry.attempts.compactMap { attempt in attempt.result.map { (attempt.date, $0) } }))
            } catch {
                unreadable.append(error.description)
            }
        }
        self.init(notices: notices, unreadable: unreadable, token: page.hasMore ? page.paginationToken : nil)
    }
}

extension Notice {
    fileprivate init(
        _ notification: AppStoreNotification, _ signedTransaction: String?, attempts: [(date: Date?, result: String)]
    ) throws(NoticeFlaw) {
        guard let uuid = notification.uuid, (1...64).contains(uuid.utf8.count), let type = notification.type,
            let signedAt = notification.signedDate
        else { throw NoticeFlaw("a notification of Apple's has no id, no type or no date") }
        self.uuid = uuid
        self.type = type
        self.signedAt = signedAt
        self.attempts = attempts
        self.signedTransaction = signedTransaction
        subtype = notification.subtype
        environment = notification.environment == AppStoreEnvironment.production.rawValue ? .production : .sandbox
        consumptionReason = notification.consumptionRequestReason
        transactionSignedAt = notification.transaction?.signedDate
        do {
            transaction = try notification.transaction.map {
                VerifiedTransaction(try Transaction($0), source: .serverAPI)
            }
        } catch {
            throw NoticeFlaw("the notification \(uuid): \(error)")
        }
    }
}

extension AppleServices {
    /// Apple's history of an app's notifications; `nil` where the app has no key.
    package func noticeHistory(of app: AppSettings) -> NoticeHistory? {
        serverAPI[app.app.bundleID].map(NoticeHistory.init)
    }

    /// Whether any of these apps has a key by which it can be heard.
    package func canHear(_ apps: [AppSettings]) -> Bool { apps.contains { noticeHistory(of: $0) != nil } }

    /// Verifies a notification that an app's server got and handed on (`signedPayload`).
    package func notice(handedOn payload: String, for app: AppSettings) -> Result<Notice, NoticeFlaw> {
        let environment: AppStoreEnvironment = app.app.environment == .production ? .production : .sandbox
        do {
            let found = try signed.notificationWithProof(
                payload.trimmingCharacters(in: .whitespacesAndNewlines),
                expecting: JWSExpectation(
                    bundleID: app.app.bundleID.text, appAppleID: app.serverAPI?.appAppleID,
                    environments: [environment]))
            return .success(try Notice(found.notification, found.signedTransaction, attempts: []))
        } catch let error as JWSError {
            return .failure(NoticeFlaw("\(error)"))
        } catch let flaw as NoticeFlaw {
            return .failure(flaw)
        } catch {
            return .failure(NoticeFlaw("\(error)"))
        }
    }
}
