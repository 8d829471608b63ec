import Foundation

/// The App Store Server API as a function: from a request of an app to the answer, at one moment.
struct ServerAPI {
    /// Apple's page length.
    static let pageLength = 20

    var signer: PayloadSigner
    let records: StoreRecords
    let app: SimulatedApp
    let environment: StoreEnvironment
    let now: Date
    /// All past and future notifications of the app, in chronological order.
    var notices: () -> [StoreNotification] = { [] }
    /// The fault in the content of the answer, if there is one.
    var fault: Fault?

    func answer(to request: ServerAPIRequest) -> Answer {
        do throws(ServerAPIError) {
            return switch request.endpoint {
            case .transaction: try transaction(request.id)
            case .history: try history(request)
            case .subscriptions: try SubscriptionStatuses(self, request).answer()
            case .lookup: lookUp(order: request.id)
            case .refunds: try refunds(request)
            case .notifications: try NotificationHistory(self, request).answer()
            }
        } catch {
            return Answer(error)
        }
    }

    // MARK: The endpoints

    private func transaction(_ id: String) throws(ServerAPIError) -> Answer {
        guard records.account(ofAppTransaction: id, in: environment, bundleID: app.bundleID) == nil else {
            throw .appTransactionID
        }
        let purchase = try purchase(id)
        return Answer { $0.field("signedTransactionInfo", signed(purchase)) }
    }

    private func history(_ request: ServerAPIRequest) throws(ServerAPIError) -> Answer {
        let filter = try HistoryFilter(request)
        let page = try Page(try purchases(ofCustomer: request.id).filter(filter.admits), request)
        return Answer { answer in
            writePage(page, to: &answer)
            answer.field("bundleId", app.bundleID)
            if environment == .production { answer.field("appAppleId", number: app.adamID) }
            answer.field("environment", environment.rawValue)
        }
    }

    private func refunds(_ request: ServerAPIRequest) throws(ServerAPIError) -> Answer {
        let page = try Page(try purchases(ofCustomer: request.id).filter { $0.refund != nil }, request)
        return Answer { writePage(page, to: &$0) }
    }

    /// Answers with a status whether the order is the app's; in the sandbox no order has an id.
    private func lookUp(order id: String) -> Answer {
        guard environment == .production else { return .page(404, "Not Found") }
        let purchases = records.purchases(ofOrder: id).filter { $0.bundleID == app.bundleID && $0.at <= now }
        return Answer { answer in
            answer.field("status", number: purchases.isEmpty ? 1 : 0)
            guard !purchases.isEmpty else { return }
            answer.array("signedTransactions") { list in
                for purchase in purchases { list.string(signed(known(purchase))) }
            }
        }
    }

    private func writePage(_ page: Page, to answer: inout JSONText) {
        answer.field("revision", page.revision)
        answer.field("hasMore", bool: page.hasMore)
        answer.array("signedTransactions") { list in
            for purchase in page.purchases { list.string(signed(purchase)) }
        }
    }

    // MARK: What the store knows

    /// A purchase and what became of it so far.
    struct Known {
        let purchase: StoredPurchase
        let refund: Refund?
        /// When a refund was reversed.
        var reversedAt: Date?

        var transaction: SimulatedTransaction { purchase.transaction }
        /// When the store last wrote something about it.
        var modifiedAt: Date { max(transaction.purchasedAt, refund?.at ?? reversedAt ?? .distantPast) }
    }

    /// The purchase with an id, which must be the app's, and whose account must still exist.
    func purchase(_ id: String) throws(ServerAPIError) -> Known {
        guard id.utf8.count <= 24, id.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
            throw .invalidTransactionID
        }
        guard let purchase = records.purchase(id, in: environment), purchase.bundleID == app.bundleID,
            purchase.at <= now
        else { throw .transactionIDNotFound }
        guard !records.isDeleted(purchase.account) else { throw .accountNotFound }
        return known(purchase)
    }

    /// All that the customer of a transaction has bought in the app, in the order in which the store wrote it.
    ///
    /// - Parameter id: the id of any of the transactions, or the `appTransactionId`.
    func purchases(ofCustomer id: String) throws(ServerAPIError) -> [Known] {
        let customer = records.account(ofAppTransaction: id, in: environment, bundleID: app.bundleID)
        if customer.map(records.isDeleted) ?? false { throw .accountNotFound }
        let account = if let customer { customer } else { try purchase(id).purchase.account }
        return records.purchases(of: account, in: environment, bundleID: app.bundleID)
            .filter { $0.at <= now }.map(known)
            .sorted { ($0.modifiedAt, $0.transaction.id) < ($1.modifiedAt, $1.transaction.id) }
    }

    func known(_ purchase: StoredPurchase) -> Known {
        let refund = records.anyRefund(of: purchase.transaction.id, in: environment)
        let reversedAt = refund?.reversedAt.flatMap { $0 <= now ? $0 : nil }
        return Known(
            purchase: purchase, refund: refund.flatMap { $0.isTold(at: now) ? $0 : nil }, reversedAt: reversedAt)
    }

    func signed(_ known: Known, at moment: Date? = nil) -> String {
        let payload = TransactionPayload(
            transaction: known.transaction, bundleID: app.bundleID, environment: environment,
            account: known.purchase.account, refund: known.refund, signedAt: moment ?? now)
        return signer.sign { payload.write(to: &$0) }
    }
}
