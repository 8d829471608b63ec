import AppStore
import Foundation
import Reconciliation

/// What Apple told tonight of an app's customers. Each is asked about only once, however many uploads lead to them.
actor CustomerHistories {
    /// The result of asking about a customer.
    enum Answer: Sendable {
        case history(CustomerHistory)
        /// Apple does not know the id in the question.
        case notKnown
        /// It is the history of somebody else than was asked about.
        case ofAnother
        case problem(ReceiptVerdict)
    }

    private struct Key: Hashable {
        let id: CustomerID
        let environment: ServerEnvironment
    }

    /// Something that uploads of the same customer share.
    private enum Sign: Hashable {
        case customer(Key)
        case user(String, ServerEnvironment)
    }

    private struct Question {
        var asking = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// At least this many transactions are remembered, and at most twice as many. A customer to whom uploads lead again
    /// and again stays, and memory is bounded.
    private let most: Int
    /// The histories by each of the customer's transactions, and by their account.
    private var young: [Key: CustomerHistory] = [:]
    private var old: [Key: CustomerHistory] = [:]
    private var questions: [Sign: Question] = [:]

    init(most: Int = 10_000) {
        self.most = most
    }

    /// Returns what is known of the customer to whom any of these ids leads, or asks.
    ///
    /// - Parameters:
    ///   - users: the users who uploaded it. Only a user's first upload asks, and the others wait for its answer: they
    ///     are mostly of one customer.
    ///   - ask: is not called if the answer is known by then.
    func history(
        of ids: [CustomerID], in environment: ServerEnvironment, users: [String],
        ask: @Sendable () async throws(CancellationError) -> Answer
    ) async throws(CancellationError) -> Answer {
        let keys = ids.map { Key(id: $0, environment: environment) }
        if let known = known(keys) { return .history(known) }
        let signs = keys.map(Sign.customer) + users.map { .user($0, environment) }
        // Waits only once: uploads that learn nothing from the first then ask at the same time.
        if let sign = signs.first(where: { questions[$0] != nil }) {
            await withCheckedContinuation { questions[sign, default: Question()].waiting.append($0) }
            if let known = known(keys) { return .history(known) }
        }
        for sign in signs { questions[sign, default: Question()].asking += 1 }
        defer { for sign in signs { end(sign) } }
        let told = try await ask()
        if case .history(let history) = told { keep(history, by: keys, environment) }
        return told
    }

    private func end(_ sign: Sign) {
        guard var question = questions.removeValue(forKey: sign) else { return }
        for waiting in question.waiting { waiting.resume() }
        question.waiting = []
        question.asking -= 1
        if question.asking > 0 { questions[sign] = question }
    }

    private func known(_ keys: [Key]) -> CustomerHistory? {
        for key in keys {
            if let history = young[key] { return history }
            guard let history = old[key] else { continue }
            keep(history, by: [key], key.environment)
            return history
        }
        return nil
    }

    private func keep(_ history: CustomerHistory, by keys: [Key], _ environment: ServerEnvironment) {
        if young.count >= most { (old, young) = (young, [:]) }
        for key in keys { young[key] = history }
        for transaction in history.transactions {
            young[Key(id: .transaction(transaction.id), environment: environment)] = history
        }
        if let account = history.account { young[Key(id: .account(account), environment: environment)] = history }
    }
}

/// Everything that a customer bought in an app, as Apple sees it now.
struct CustomerHistory: Sendable {
    private(set) var transactions: [Transaction]
    /// When Apple signed what is known of each.
    private var signedAt: [TransactionID: Date] = [:]
    /// What could not be read of it, a sentence for each.
    var unreadable: [String] = []

    init(_ transactions: [Transaction] = []) {
        self.transactions = transactions
    }

    /// The customer's `appTransactionId`, if all purchases that they paid for themselves name the same: a family's
    /// purchases may name another's, and some histories were seen to name several.
    var account: String? {
        let named = Set(transactions.filter { $0.ownership == "PURCHASED" }.compactMap(\.appTransactionID))
        return named.count == 1 ? named.first : nil
    }

    mutating func take(_ page: TransactionPage) {
        unreadable += page.unverified.map { "\($0)" }
        for signed in page.transactions {
            do {
                let transaction = try Transaction(signed)
                guard !signed.isOlder(than: signedAt[transaction.id]) else { continue }
                transactions.append(transaction)
                signedAt[transaction.id] = signed.signedDate
            } catch {
                unreadable.append("\(error)")
            }
        }
    }
}

extension SignedTransaction {
    /// Whether Apple signed it before what it told of the same transaction on another page: a page may come once more,
    /// as it was.
    func isOlder(than other: Date?) -> Bool {
        guard let other, let signedDate else { return false }
        return signedDate < other
    }
}

extension VerifiedReceipt {
    /// Takes over the state of the customer's purchases, and those that the receipt doesn't hold. What could not be
    /// read of either stays noted: the history may lack what the receipt holds.
    mutating func take(_ history: CustomerHistory) {
        var indices: [TransactionID: Int] = [:]
        for (index, verified) in transactions.enumerated() { indices[verified.transaction.id] = index }
        unreadable += history.unreadable
        for transaction in history.transactions {
            if let index = indices[transaction.id] {
                if transaction.refundedAt == nil, isFreshRefund(transactions[index]) { continue }
                transactions[index].transaction = transaction
                transactions[index].source = .serverAPI
                transactions[index].signedAt = nil
            } else {
                indices[transaction.id] = transactions.count
                transactions.append(VerifiedTransaction(transaction, source: .serverAPI, isInReceipt: false))
            }
        }
    }

    /// Seconds after a refund before the customer's history can be relied on to know it.
    private static let late: TimeInterval = 3600

    /// Whether Apple signed a refund so lately that the customer's history may not know it yet.
    private func isFreshRefund(_ verified: VerifiedTransaction) -> Bool {
        guard verified.transaction.refundedAt != nil, let signedAt = verified.signedAt else { return false }
        return verifiedAt.timeIntervalSince(signedAt) < Self.late
    }
}
