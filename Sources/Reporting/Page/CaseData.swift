import Foundation
import Reconciliation

/// The cases of one page for its script: an array for each, whose columns are named in `fields`. Values that repeat
/// from case to case are held once, in a table.
struct CaseData {
    static let fields = [
        "id", "original", "app", "environment", "product", "quantity", "purchased", "price", "currency", "listed",
        "likelihood", "reasons", "advice", "users", "owners", "asked", "orders", "ownOrders", "device", "source",
        "opened", "isNew", "verified", "confirmed", "answerBy", "taken", "comments", "sightings", "claims",
        "subscription", "customer", "patterns",
    ]
    /// The sentences to which the numbers for advice refer.
    static let advice: [Phrase] = [
        .deliver, .deliverForOrder, .redeliver, .makeUp, .findBuyer, .askUsers, .lookOut, .wait, .investigate,
    ]

    /// How a purchase was seen, to which the numbers in sightings refer.
    static let seen: [Phrase] = [.uploadedAlong, .uploadedFor, .inHistory]

    /// The customer of the previous case, and how many customers of several cases came so far.
    private var lastCustomer: CustomerCases?
    private var customers = 0
    private(set) var apps = Table<BundleID>()
    private(set) var products = Table<ListedProduct>()

    struct ListedProduct: Hashable {
        let id: ProductID
        let name: String?
    }

    /// The distinct values in the order in which they came.
    struct Table<Value: Hashable> {
        private(set) var values: [Value] = []
        private var places: [Value: Int] = [:]

        mutating func place(of value: Value) -> Int {
            if let place = places[value] { return place }
            values.append(value)
            places[value] = values.count - 1
            return values.count - 1
        }
    }

    /// More for one case helps nobody; `report.json` has them all.
    private static let shownSightings = 20

    mutating func line(_ found: ReportedCase) -> String {
        var users = Table<String>()
        var orders = Table<String>()
        for user in found.assessment.usersToAsk { _ = users.place(of: Self.cut(user)) }
        for order in found.orderIDs { _ = orders.place(of: Self.cut(order)) }
        let (asked, ownOrders) = (users.values.count, orders.values.count)
        let owners = found.assessment.owner == .unknown ? 0 : asked
        let sightings = found.sightings.prefix(Self.shownSightings).map { seen in
            Self.line(
                seen.receiptID, seen.userID.map { users.place(of: Self.cut($0)) },
                seen.orderID.map { orders.place(of: Self.cut($0)) }, Self.seen.firstIndex(of: seen.phrase),
                seen.uploadedAt)
        }
        let claims = found.claims.prefix(Self.shownSightings).map { claim in
            Self.line(
                Self.place(of: claim.outcome), users.place(of: Self.cut(claim.userID)),
                claim.orderID.map { orders.place(of: Self.cut($0)) }, nil, claim.attemptedAt)
        }
        var line = purchase(found)
        Self.judge(found, &line)
        line.add(each: users.values) { $0.add($1) }
        line.add(owners)
        line.add(asked)
        line.add(each: orders.values) { $0.add($1) }
        line.add(ownOrders)
        Self.provenance(found, &line)
        line.add(each: sightings) { $0.add($1) }
        line.add(each: claims) { $0.add($1) }
        line.add(each: Self.subscription(found)) { $0.add($1) }
        line.add(number(of: found.customer))
        line.add(each: found.patterns) { $0.add($1 + 1) }
        return line.closed
    }

    /// The same number for all cases of a customer, which come together; `nil` for a case without such a customer.
    private mutating func number(of customer: CustomerCases?) -> Int? {
        if let customer, customer != lastCustomer { customers += 1 }
        lastCustomer = customer
        return customer == nil ? nil : customers
    }

    private mutating func purchase(_ found: ReportedCase) -> JSONLine {
        var line = JSONLine()
        line.add(found.key.id.text)
        line.add(found.originalID == found.key.id ? "" : found.originalID.text)
        line.add(apps.place(of: found.key.bundleID))
        line.add(Self.place(of: found.key.environment))
        line.add(products.place(of: ListedProduct(id: found.productID, name: found.productName.map(Self.cut))))
        line.add(found.quantity)
        line.add(Self.seconds(found.purchasedAt))
        line.add(found.price?.milliunits)
        line.add(found.price?.currency.text ?? "")
        line.add(found.isListPrice)
        return line
    }

    private static func judge(_ found: ReportedCase, _ line: inout JSONLine) {
        line.add(place(of: found.assessment.likelihood))
        line.add(each: found.assessment.reasons) { $0.add(place(of: $1)) }
        let phrase = Advice(found.assessment, redelivery: found.redelivery).phrase
        line.add(advice.firstIndex(of: phrase))
    }

    /// How many periods, until when they are paid, and until when granted; empty for what is not a subscription.
    private static func subscription(_ found: ReportedCase) -> [Int?] {
        guard let subscription = found.subscription else { return [] }
        return [
            subscription.periods.count, subscription.paidUntil.map(seconds), subscription.entitledUntil.map(seconds),
        ]
    }

    private static func provenance(_ found: ReportedCase, _ line: inout JSONLine) {
        line.add(cut(Device.text(found.device)))
        line.add(place(of: found.source))
        line.add(seconds(found.openedAt))
        line.add(found.isNew)
        line.add(found.firstVerifiedAt.map(seconds))
        line.add(found.lastVerifiedAt.map(seconds))
        line.add(found.answerAppleBy.map(seconds))
        line.add(each: found.taking.map { [$0] } ?? []) { words, taking in
            words.add(cut(taking.by))
            words.add(seconds(taking.since))
        }
        line.add(each: found.comments.suffix(shownSightings)) { comments, comment in
            var words = JSONLine()
            words.add(seconds(comment.at))
            words.add(cut(comment.by))
            words.add(cut(comment.text))
            comments.add(words)
        }
    }

    private static func line(_ first: Int64, _ user: Int?, _ order: Int?, _ flag: Int?, _ at: Date) -> JSONLine {
        var line = JSONLine()
        line.add(first)
        line.add(user)
        line.add(order)
        line.add(flag)
        line.add(seconds(at))
        return line
    }

    private static func line(_ first: Int, _ user: Int?, _ order: Int?, _ flag: Int?, _ at: Date) -> JSONLine {
        line(Int64(first), user, order, flag, at)
    }

    private static func seconds(_ date: Date) -> Int { Int(date.timeIntervalSince1970) }

    private static func place<Value: CaseIterable & Equatable>(of value: Value) -> Int {
        Array(Value.allCases).firstIndex(of: value) ?? 0
    }

    /// Cuts an id, as a client may send one of any length.
    private static func cut(_ text: String) -> String {
        Printable.cut(text, to: 300, ending: "…")
    }
}
