import AppStoreSimulator
import Foundation

/// What happens on one phone, which one or two users share. First it is planned, purchase by purchase; then it takes
/// place in chronological order, as a receipt holds what is unfinished or lasting at its moment.
struct Life {
    /// A purchase of this life, by its index.
    typealias Number = Int

    /// What happens at a moment. The app's server delivers only what a receipt told it of.
    enum Step {
        case order(WorldOrder)
        case pay(Number)
        /// In receipts from now on, although nobody paid for it here.
        case hold(SimulatedTransaction)
        case upload(by: String, for: Number?, order: String?)
        /// Hands in the receipt kept in a slot, with its content of that moment.
        case uploadKept(slot: Int, by: String, for: Number, order: String?)
        /// Hands in the proof of this purchase alone.
        case uploadAlone(Number, SimulatedReceipt.Style, by: String, order: String?)
        case uploadOther(Upload.Content, by: String, transactionID: String?)
        case keep(slot: Int)
        case deliver(Number, to: String, order: String?)
        case rollBack(Number, of: String, order: String?)
        case claimAgain(Number, by: String)
        case finish(Number)
        case finishOnDelivery(Number)
        case finishDelivered
        case refund(Number)
        /// Refunds the rest of a period that a higher product of its group replaces.
        case upgrade(Number)
        /// The app's server says until when it has granted a subscription, or takes the grant back.
        case grant(String, to: String, until: Date)
        case revoke(String)
        case restore(Number, SimulatedTransaction)
    }

    private struct Planned {
        let at: Date
        let step: Step
    }

    let app: WorldApp
    let customer: Customer
    let scheme: Scheme
    let settings: WorldSettings
    let outages: [Range<Date>]
    /// The other user of the phone, if it is shared.
    let sibling: String?
    var random: SeededRandom
    private(set) var events = WorldEvents()
    private var planned: [Planned] = []
    private var transactionCount = 0

    private var held: [SimulatedTransaction] = []
    private var kept: [Int: SimulatedReceipt] = [:]
    /// The upload that last brought each purchase.
    private var brought: [Number: Int] = [:]
    private var numbers: [String: Number] = [:]
    /// The periods of each subscription, by its original transaction.
    private var periods: [String: [Number]] = [:]

    init(app: WorldApp, customer: Customer, settings: WorldSettings, outages: [Range<Date>], random: SeededRandom) {
        self.app = app
        self.customer = customer
        self.settings = settings
        self.outages = outages
        self.random = random
        scheme = Scheme.allCases[customer.number % Scheme.allCases.count]
        sibling = self.random.happens(0.12) ? "u\(50_000_000 + customer.number)" : nil
    }

    var catalog: Catalog { customer.catalog }

    /// A random number of seconds in the range, uniformly distributed.
    mutating func seconds(_ range: ClosedRange<Double>) -> Double {
        (range.lowerBound + Mix.share(random.next()) * (range.upperBound - range.lowerBound)).rounded()
    }

    // MARK: Planning

    mutating func plan(_ step: Step, at moment: Date) {
        planned.append(Planned(at: moment, step: step))
    }

    /// Plans a purchase that will be paid for, or only looks like one.
    mutating func purchase(
        _ transaction: SimulatedTransaction, _ mishap: Mishap, by user: String, isOwed: Bool = true
    ) -> Number {
        let number = events.purchases.count
        numbers[transaction.id] = number
        if transaction.isAutoRenewable { periods[transaction.originalID, default: []].append(number) }
        events.purchases.append(
            WorldPurchase(
                bundleID: catalog.bundleID, transaction: transaction, account: customer.account, scheme: scheme,
                mishap: mishap, userID: user, isOwed: isOwed,
                isEntitled: transaction.isAutoRenewable && app.subscriptions == .entitlements))
        return number
    }

    /// Opens an order; `for` is the purchase that pays for it.
    @discardableResult
    mutating func order(
        _ product: CatalogProduct, by user: String, for number: Number? = nil, at moment: Date
    ) -> String {
        let id = "order-\(customer.number)-\(events.orders.count + planned.count)"
        plan(
            .order(
                WorldOrder(
                    bundleID: catalog.bundleID, id: id, userID: user, productID: product.id, at: moment)), at: moment)
        if let number { events.purchases[number].orderID = id }
        return id
    }

    /// Adds a purchase to Apple's books.
    mutating func store(_ purchase: StoredPurchase) { events.stored.append(purchase) }

    mutating func deleteAccount(_ account: String) { events.deletedAccounts.append(account) }

    func transaction(_ number: Number) -> SimulatedTransaction { events.purchases[number].transaction }

    /// 16 digits, for some customers 18. All ids of a world differ, since the factor has no divisor in common with the
    /// modulus.
    mutating func nextID() -> String {
        let number = UInt64(customer.number) * 256 + UInt64(transactionCount % 256)
        transactionCount += 1
        let digits = String(1_000_000_000_000 + number * 387_420_489 % 1_000_000_000_000).dropFirst()
        return "\(1_000 + settings.seed % 8_000)\(digits)\(customer.number % 50 == 9 ? "01" : "")"
    }

    // MARK: Taking place

    /// Carries out the plan up to the world's end; Apple also refunds afterwards.
    mutating func takePlace() {
        let steps = planned.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        for (_, step) in steps where step.at <= settings.end || step.step.isRefund { carryOut(step.step, at: step.at) }
        // Purchases after the world's end are not part of this world.
        events.purchases = events.purchases.filter { $0.purchasedAt <= settings.end }
    }

    private mutating func carryOut(_ step: Step, at moment: Date) {
        switch step {
        case .order(let order): events.orders.append(order)
        case .pay(let number): hold(transaction(number))
        case .hold(let transaction): hold(transaction)
        case .upload(let user, let number, let order):
            upload(receipt(at: moment), by: user, for: number, order: order, at: moment)
        case .keep(let slot): kept[slot] = receipt(at: moment)
        case .uploadKept(let slot, let user, let number, let order):
            guard let receipt = kept[slot] else { return }
            upload(receipt, by: user, for: number, order: order, at: moment)
        case .uploadAlone(let number, let style, let user, let order):
            let proof = SimulatedReceipt(
                style: style, bundleID: catalog.bundleID, account: customer.account, createdAt: moment,
                transactions: [transaction(number)])
            upload(proof, by: user, for: number, order: order, at: moment)
        case .uploadOther(let content, let user, let transactionID):
            add(content, by: user, transactionID: transactionID, order: nil, at: moment)
        case .deliver(let number, let user, let order):
            claim(number, by: user, order: order, .delivered, at: moment)
        case .rollBack(let number, let user, let order):
            claim(number, by: user, order: order, .rolledBack, at: moment)
        case .claimAgain(let number, let user):
            claim(number, by: user, order: nil, .alreadyDelivered, at: moment)
        case .finish(let number): letGo(of: number)
        case .finishOnDelivery(let number):
            if events.purchases[number].isServed { letGo(of: number) }
        case .finishDelivered: finishDelivered()
        case .refund(let number):
            refund(number, Refund(at: moment, reason: random.happens(0.3) ? "1" : "0"))
        case .upgrade(let number): refund(number, Refund(at: moment, isUpgrade: true))
        case .grant(let originalID, let user, let until): grant(originalID, to: user, until: until, at: moment)
        case .revoke(let originalID): revoke(originalID, at: moment)
        case .restore(let number, let restored):
            letGo(of: number)
            hold(restored)
        }
    }

    private mutating func hold(_ transaction: SimulatedTransaction) {
        held.append(transaction)
        store(StoredPurchase(transaction, bundleID: catalog.bundleID, account: customer.account))
    }

    private mutating func letGo(of number: Number) {
        let id = transaction(number).id
        held.removeAll { $0.id == id }
    }

    private mutating func finishDelivered() {
        let delivered = Set(events.purchases.filter(\.isServed).map(\.transactionID))
        held.removeAll { $0.productType == .consumable && delivered.contains($0.id) }
    }

    private mutating func refund(_ number: Number, _ refund: Refund) {
        events.purchases[number].refundedAt = refund.at
        events.refunds.append((transaction(number).id, refund))
    }

    private func receipt(at moment: Date) -> SimulatedReceipt {
        SimulatedReceipt(bundleID: catalog.bundleID, account: customer.account, createdAt: moment, transactions: held)
    }

    private mutating func upload(
        _ receipt: SimulatedReceipt, by user: String, for number: Number?, order: String?, at moment: Date
    ) {
        add(.receipt(receipt), by: user, transactionID: number.map { transaction($0).id }, order: order, at: moment)
        for transaction in receipt.transactions {
            guard let number = numbers[transaction.id] else { continue }
            brought[number] = events.uploads.count - 1
            makeEvident(number, at: moment)
            // Apple's answer to the next night shows the periods that have begun by then.
            let night = settings.moment(ofNight: settings.nightRun(from: moment))
            for period in periods[transaction.originalID] ?? []
            where events.purchases[period].purchasedAt <= night {
                makeEvident(period, at: max(moment, events.purchases[period].purchasedAt))
            }
        }
    }

    private mutating func makeEvident(_ number: Number, at moment: Date) {
        let known = events.purchases[number].evidentAt ?? .distantFuture
        events.purchases[number].evidentAt = min(known, moment)
    }

    private mutating func add(
        _ content: Upload.Content, by user: String, transactionID: String?, order: String?, at moment: Date
    ) {
        events.uploads.append(
            Upload(
                bundleID: catalog.bundleID, userID: user, content: content, transactionID: transactionID,
                orderID: order, device: customer.device, at: moment))
    }

    private mutating func claim(
        _ number: Number, by user: String, order: String?, _ kind: WorldClaim.Kind, at moment: Date
    ) {
        guard let upload = brought[number], events.purchases[number].refundedAt == nil else { return }
        guard events.purchases[number].isServed == (kind == .alreadyDelivered) else { return }
        // The server knows from its own books what it delivered before it was connected.
        guard !events.purchases[number].isServedUnseen else { return }
        guard isTold(transaction(number).productType, at: moment) else {
            if kind == .delivered { events.purchases[number].isServedUnseen = true }
            return
        }
        events.claims.append(
            WorldClaim(
                bundleID: catalog.bundleID, transaction: transaction(number), userID: user, orderID: order,
                upload: upload, at: moment, kind: kind))
        guard kind == .delivered else { return }
        events.purchases[number].deliveredAt = moment
        events.purchases[number].deliveredTo = user
    }

    /// Whether the app's server tells the job of its deliveries of a type.
    func isTold(_ type: SimulatedTransaction.ProductType, at moment: Date) -> Bool {
        moment >= app.connectedAt(settings) && !app.untold.contains(type)
    }

    private mutating func grant(_ originalID: String, to user: String, until: Date, at moment: Date) {
        add(.granted(until: until, to: user), of: originalID, at: moment)
        for number in periods[originalID] ?? [] {
            let period = events.purchases[number]
            let isPaid = period.isOwed && period.purchasedAt <= moment && period.refundedAt == nil
            guard isPaid, period.deliveredAt == nil, period.expiresAt <= until else { continue }
            events.purchases[number].deliveredAt = moment
            events.purchases[number].deliveredTo = user
        }
    }

    private mutating func revoke(_ originalID: String, at moment: Date) {
        add(.revoked, of: originalID, at: moment)
        for number in periods[originalID] ?? [] where events.purchases[number].expiresAt > moment {
            events.purchases[number].revokedAt = moment
        }
    }

    private mutating func add(_ word: WorldGrant.Word, of originalID: String, at moment: Date) {
        events.grants.append(
            WorldGrant(bundleID: catalog.bundleID, originalID: originalID, word: word, at: moment))
    }
}

extension Life.Step {
    fileprivate var isRefund: Bool {
        if case .refund = self { true } else { false }
    }
}
