import Foundation
import PostgreSQL
import Reconciliation

/// What other tables know of a page of cases: who mentioned them, the app's own orders, to whom their neighbours were
/// delivered, and whether later receipts still hold them. Each is one set-based look-up, which on a distributed ledger
/// needs no join across shards.
extension LedgerSession {
    func addContext(to page: inout [CaseFacts], tokens: [String?]) async throws {
        try await addMentions(to: &page)
        let orders = try await orders(for: page, tokens: tokens)
        let neighbours = try await deliveredNeighbours(of: page)
        let made = try await receiptDates(for: page)
        for index in page.indices {
            let token = tokens[index]
            page[index].orders = orders.filter { $0.fits(page[index], token: token) }.map { order in
                CaseFacts.Order(
                    id: order.id, userID: order.userID, createdAt: order.createdAt,
                    bearsToken: token != nil && order.token == token)
            }
            page[index].companions = neighbours.users(beside: page[index])
            page[index].onlyCameWithOthers = neighbours.onlyCameWithOthers(page[index])
            page[index].isMissingLater = made.isMissingLater(page[index])
        }
    }
}

// MARK: Orders

/// How long before the purchase an order may have been opened, and how long after it, in seconds.
private enum OrderWindow {
    static let before: TimeInterval = 30 * 86_400
    static let after: TimeInterval = 2 * 86_400
}

private struct OrderRow {
    let id: String
    let bundleID: String
    let userID: String
    let productID: String
    let createdAt: Date
    let token: String?

    init(_ row: Row) throws {
        (id, bundleID) = (try row.decode("order_id"), try row.decode("bundle_id"))
        (userID, productID) = (try row.decode("user_id"), try row.decode("product_id"))
        (createdAt, token) = (try row.decode("created_at"), try row.decode("app_account_token", as: String?.self))
    }

    /// By token or by name an order is meant, whatever else it says; by user only where product and time fit.
    func fits(_ facts: CaseFacts, token: String?) -> Bool {
        guard bundleID == facts.key.bundleID.text else { return false }
        if let token, self.token == token { return true }
        if facts.namedOrderIDs.contains(id) { return true }
        return productID == facts.productID.text && facts.users.contains(userID)
            && createdAt > facts.purchasedAt - OrderWindow.before && createdAt < facts.purchasedAt + OrderWindow.after
    }
}

extension CaseFacts {
    /// Everyone who has to do with it.
    fileprivate var users: Set<String> {
        Set(
            sightings.compactMap(\.userID) + mentions.compactMap(\.userID) + [admittedFor].compactMap(\.self)
                + claims.map(\.userID))
    }
}

extension LedgerSession {
    /// The orders that may have to do with the page, without those that something was delivered for.
    private func orders(for page: [CaseFacts], tokens: [String?]) async throws -> [OrderRow] {
        guard let first = page.map(\.purchasedAt).min(), let last = page.map(\.purchasedAt).max() else { return [] }
        let bundles = Set(page.map(\.key.bundleID.text)).sorted()
        let users = page.reduce(into: Set<String>()) { $0.formUnion($1.users) }.sorted()
        let named = Set(page.flatMap(\.namedOrderIDs)).sorted()
        let select: SQL =
            "SELECT bundle_id, order_id, user_id, product_id, created_at, app_account_token FROM iap.orders"
        let rows = try await connection.query(
            """
            \(select)
            WHERE user_id = ANY (\(users)) AND bundle_id = ANY (\(bundles))
                AND created_at BETWEEN \(first - OrderWindow.before) AND \(last + OrderWindow.after)
            UNION
            \(select)
            WHERE app_account_token = ANY (\(tokens.compactMap(\.self)))
            UNION
            \(select)
            WHERE bundle_id = ANY (\(bundles)) AND order_id = ANY (\(named))
            """)
        let orders = try rows.map(OrderRow.init)
        let delivered = try await deliveredOrders(among: orders)
        return orders.filter { !delivered.contains([$0.bundleID, $0.id]) }
    }

    private func deliveredOrders(among orders: [OrderRow]) async throws -> Set<[String]> {
        guard !orders.isEmpty else { return [] }
        let rows = try await connection.query(
            "SELECT bundle_id, order_id FROM iap.black WHERE order_id = ANY (\(Set(orders.map(\.id)).sorted()))")
        return Set(try rows.map { [try $0.decode("bundle_id"), try $0.decode("order_id")] })
    }
}

// MARK: Neighbours

/// For which of its transactions each receipt was uploaded, and to whom those that were delivered went.
private struct DeliveredNeighbours {
    private var named: [Int64: Set<TransactionKey>] = [:]
    private var delivered: [Int64: [(key: TransactionKey, userID: String)]] = [:]

    mutating func add(_ row: Row) throws {
        let (receiptID, key) = (try row.decode("receipt_id", as: Int64.self), try TransactionKey(row))
        if try row.decode("is_named", as: Bool.self) { named[receiptID, default: []].insert(key) }
        if let userID = try row.decode("user_id", as: String?.self) {
            delivered[receiptID, default: []].append((key, userID))
        }
    }

    /// Whether each receipt that held it was uploaded for another purchase.
    func onlyCameWithOthers(_ facts: CaseFacts) -> Bool {
        let receipts = facts.sightings.filter(\.isInReceipt).map(\.receiptID)
        return !receipts.isEmpty
            && receipts.allSatisfy { receipt in
                guard let purposes = named[receipt] else { return false }
                return !purposes.contains(facts.key)
            }
    }

    /// To whom other purchases of a case's receipts were delivered; at most ten.
    func users(beside facts: CaseFacts) -> [String] {
        let neighbours = facts.sightings.filter(\.isInReceipt).flatMap { delivered[$0.receiptID] ?? [] }
        return Array(neighbours.filter { $0.key != facts.key }.map(\.userID).unique.prefix(10))
    }
}

extension LedgerSession {
    private func deliveredNeighbours(of page: [CaseFacts]) async throws -> DeliveredNeighbours {
        let receiptIDs = Set(page.flatMap { $0.sightings.filter(\.isInReceipt).map(\.receiptID) }).sorted()
        var found = DeliveredNeighbours()
        guard !receiptIDs.isEmpty else { return found }
        // What was neither named nor delivered tells nothing: of a receipt with years of purchases, that is most.
        let told = try await connection.query(
            """
            SELECT receipt_id, transaction_id, bundle_id, environment, is_named, delivered.user_id
            FROM sightings
            LEFT JOIN LATERAL (
                SELECT user_id
                FROM iap.black
                WHERE black.transaction_id = sightings.transaction_id AND black.bundle_id = sightings.bundle_id
                    AND black.environment = sightings.environment
                OFFSET 0
            ) AS delivered ON true
            WHERE receipt_id = ANY (\(receiptIDs)) AND in_receipt AND (is_named OR delivered.user_id IS NOT NULL)
            ORDER BY receipt_id, transaction_id
            """)
        for row in told { try found.add(row) }
        return found
    }
}

// MARK: Later receipts

/// When receipts were made: those that hold a case, and each user's latest.
private struct ReceiptDates {
    var made: [Int64: Date] = [:]
    /// By user and bundle id.
    var latest: [[String]: Date] = [:]

    /// Whether a user whose receipt held it handed in one that was made after all that hold it.
    func isMissingLater(_ facts: CaseFacts) -> Bool {
        let held = facts.sightings.filter { $0.isInReceipt && made[$0.receiptID] != nil }
        guard let lastHeld = held.compactMap({ made[$0.receiptID] }).max() else { return false }
        return held.contains { sighting in
            guard let user = sighting.userID, let latest = latest[[user, facts.key.bundleID.text]] else { return false }
            return latest > lastHeld
        }
    }
}

extension LedgerSession {
    private func receiptDates(for page: [CaseFacts]) async throws -> ReceiptDates {
        let sightings = page.flatMap { $0.sightings.filter(\.isInReceipt) }
        var dates = ReceiptDates()
        guard !sightings.isEmpty else { return dates }
        // A dry run's own word stands in the shadow, that of earlier nights in the table.
        for table: SQL in isShadowed ? ["iap.receipts", "receipts"] : ["iap.receipts"] {
            try await addReceiptDates(of: sightings, in: table, to: &dates)
        }
        return dates
    }

    private func addReceiptDates(of sightings: [Sighting], in table: SQL, to dates: inout ReceiptDates) async throws {
        let receiptIDs = Set(sightings.map(\.receiptID))
        let made = try await connection.query(
            """
            SELECT receipt_id, made_at
            FROM \(table)
            WHERE bucket = ANY (\(Array(Set(receiptIDs.map { Int16($0 & 63) })).sorted()))
                AND receipt_id = ANY (\(receiptIDs.sorted())) AND made_at IS NOT NULL
            """)
        for row in made { dates.made[try row.decode("receipt_id")] = try row.decode("made_at", as: Date.self) }
        let latest = try await connection.query(
            """
            SELECT user_id, bundle_id, max(made_at) AS made_at
            FROM \(table)
            WHERE user_id = ANY (\(Set(sightings.compactMap(\.userID)).sorted())) AND made_at IS NOT NULL
            GROUP BY user_id, bundle_id
            """)
        for row in latest {
            let key: [String] = [try row.decode("user_id"), try row.decode("bundle_id")]
            let moment = try row.decode("made_at", as: Date.self)
            dates.latest[key] = max(dates.latest[key] ?? moment, moment)
        }
    }
}
