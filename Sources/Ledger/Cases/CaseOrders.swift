import Foundation
import PostgreSQL
import Reconciliation

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

    var key: NameInApp { NameInApp(bundleID, id) }

    static let columns: SQL = "bundle_id, order_id, user_id, product_id, created_at, app_account_token"

    init(_ row: Row) throws {
        (id, bundleID) = (try row.decode("order_id"), try row.decode("bundle_id"))
        (userID, productID) = (try row.decode("user_id"), try row.decode("product_id"))
        (createdAt, token) = (try row.decode("created_at"), try row.decode("app_account_token", as: String?.self))
    }
}

/// A user with orders, and the time in which what they pay for was bought.
private struct OrderingUser {
    let user: NameInApp
    let earliest, latest: Date

    init(_ user: NameInApp, orders: [OrderRow]) {
        let opened = orders.map(\.createdAt)
        self.user = user
        earliest = (opened.min() ?? Date.distantPast) - OrderWindow.after
        latest = (opened.max() ?? Date.distantPast) + OrderWindow.before
    }
}

/// The orders that may have to do with a page of cases. Those for which something was delivered only tell whose a token
/// is.
struct CaseOrders {
    private struct ProductOfUser: Hashable {
        let user: NameInApp
        let productID: String
    }

    private var byName: [NameInApp: [OrderRow]] = [:]
    private var byToken: [NameInApp: [OrderRow]] = [:]
    /// The orders of a user and product, the earliest first.
    private var byUser: [ProductOfUser: [OrderRow]] = [:]
    /// Whose tokens are by orders for which something was delivered.
    private var tokenOwners: [NameInApp: [String]] = [:]

    /// - Parameters:
    ///   - delivered: the orders for which something was delivered.
    ///   - matched: the orders that pay for what was delivered without naming one.
    fileprivate init(_ orders: [OrderRow], delivered: Set<NameInApp>, matched: Set<NameInApp>) {
        for order in orders.sorted(by: { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }) {
            guard !delivered.contains(order.key) else {
                if let token = order.token {
                    tokenOwners[NameInApp(order.bundleID, token), default: []].append(order.userID)
                }
                continue
            }
            byName[order.key, default: []].append(order)
            let user = NameInApp(order.bundleID, order.userID)
            if !matched.contains(order.key) {
                byUser[ProductOfUser(user: user, productID: order.productID), default: []].append(order)
            }
            if let token = order.token { byToken[NameInApp(order.bundleID, token), default: []].append(order) }
        }
    }

    /// Adds the orders of a case. An order that is found by token or by name is meant, whatever else it says; one that
    /// is found by user counts only if product and time fit.
    func add(to facts: inout CaseFacts, token: String?) {
        let bundleID = facts.key.bundleID.text
        let namedByToken = token.flatMap { tokenOwners[NameInApp(bundleID, $0)] } ?? []
        facts.tokenOwners = (facts.tokenOwners + namedByToken).exactlyUnique
        var meant = token.flatMap { byToken[NameInApp(bundleID, $0)] } ?? []
        meant += (facts.namedOrderIDs + facts.broughtOrderIDs).flatMap { byName[NameInApp(bundleID, $0)] ?? [] }
        facts.isCutShort = facts.isCutShort || meant.count > CaseFacts.most
        var fitting: [OrderRow] = []
        for user in facts.users {
            let bought = ProductOfUser(user: NameInApp(bundleID, user), productID: facts.productID.text)
            let orders = byUser[bought] ?? []
            let nearest = Self.nearest(orders[...], to: facts.purchasedAt)
            facts.isCutShort = facts.isCutShort || nearest.isCutShort
            fitting += nearest.orders
        }
        let near = Set(fitting.map(\.key))
        facts.orders = (meant.prefix(CaseFacts.most) + fitting).unique(by: \.key).map { order in
            CaseFacts.Order(
                id: order.id, userID: order.userID, createdAt: order.createdAt,
                bearsToken: token != nil && order.token == token, fits: near.contains(order.key))
        }
    }

    /// The orders of a user and product that are within the window and nearest to the purchase.
    private static func nearest(
        _ orders: ArraySlice<OrderRow>, to purchasedAt: Date
    ) -> (orders: ArraySlice<OrderRow>, isCutShort: Bool) {
        let first = orders.partition { $0.createdAt > purchasedAt - OrderWindow.before }
        let middle = orders.partition { $0.createdAt > purchasedAt }
        let last = orders.partition { $0.createdAt >= purchasedAt + OrderWindow.after }
        // Equally many on either side, since clocks differ; if one side has fewer, more of the other.
        let from = max(first, min(middle - CaseFacts.most / 2, last - CaseFacts.most))
        let to = min(last, from + CaseFacts.most)
        return (orders[from..<to], from > first || to < last)
    }
}

extension ArraySlice {
    /// The first index for which the condition holds, if it holds for all that follow, too.
    fileprivate func partition(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension CaseFacts {
    /// Everyone who has to do with it.
    fileprivate var users: [String] {
        let told: [String] =
            sightings.compactMap(\.userID) + mentions.compactMap(\.userID) + [admittedFor].compactMap(\.self)
            + tokenOwners + claims.map(\.userID) + accountUsers + companions
        return told.exactlyUnique.sorted()
    }
}

extension LedgerSession {
    /// - Parameter tokens: the `appAccountToken` that each case's purchase bears.
    func orders(for page: [CaseFacts], tokens: [String?]) async throws -> CaseOrders {
        let orders = try await usersOrders(for: page) + meantOrders(for: page, tokens: tokens.compactMap(\.self))
        let delivered = try await deliveredOrders(among: orders)
        let open = orders.unique(by: \.key).filter { !delivered.contains($0.key) }
        return CaseOrders(
            orders.unique(by: \.key), delivered: delivered, matched: try await matchedOrders(among: open))
    }

    /// The orders of each case's users for its product, about the time of the purchase. Twice as many as a case takes
    /// are read on either side, since something was delivered for some.
    private func usersOrders(for page: [CaseFacts]) async throws -> [OrderRow] {
        let asked = page.flatMap { facts in facts.users.map { (facts: facts, user: $0) } }
        guard !asked.isEmpty else { return [] }
        let most = Int64(2 * CaseFacts.most)
        let matches: SQL = """
            orders.user_id = asked.user_id AND orders.bundle_id = asked.bundle_id
                AND orders.product_id = asked.product_id
            """
        let rows = try await connection.query(
            """
            SELECT DISTINCT near.*
            FROM unnest(
                \(asked.map(\.facts.key.bundleID.text)), \(asked.map(\.facts.productID.text)), \(asked.map(\.user)),
                \(asked.map(\.facts.purchasedAt)),
                \(asked.map { $0.facts.purchasedAt - OrderWindow.before }),
                \(asked.map { $0.facts.purchasedAt + OrderWindow.after })
            ) AS asked (bundle_id, product_id, user_id, purchased_at, earliest, latest)
            CROSS JOIN LATERAL (
                (
                    SELECT \(OrderRow.columns)
                    FROM iap.orders
                    WHERE \(matches) AND created_at > asked.earliest AND created_at <= asked.purchased_at
                    ORDER BY created_at DESC
                    LIMIT \(most)
                )
                UNION ALL
                (
                    SELECT \(OrderRow.columns)
                    FROM iap.orders
                    WHERE \(matches) AND created_at > asked.purchased_at AND created_at < asked.latest
                    ORDER BY created_at
                    LIMIT \(most)
                )
            ) AS near
            """)
        return try rows.map(OrderRow.init)
    }

    /// The orders that bear a case's token, or that an upload for it named.
    private func meantOrders(for page: [CaseFacts], tokens: [String]) async throws -> [OrderRow] {
        let bundles = Set(page.map(\.key.bundleID.text)).sorted()
        let named = page.flatMap { $0.namedOrderIDs + $0.broughtOrderIDs }.exactlyUnique
        let rows = try await connection.query(
            """
            SELECT \(OrderRow.columns)
            FROM iap.orders
            WHERE bundle_id = ANY (\(bundles)) AND order_id = ANY (\(named))
            UNION ALL
            SELECT \(OrderRow.columns)
            FROM unnest(\(Set(tokens).sorted())) AS borne (token)
            CROSS JOIN LATERAL (
                SELECT *
                FROM iap.orders
                WHERE app_account_token = borne.token
                ORDER BY created_at DESC
                LIMIT \(Int64(CaseFacts.most + 1))
            ) AS latest
            """)
        return try rows.map(OrderRow.init)
    }

    private func deliveredOrders(among orders: [OrderRow]) async throws -> Set<NameInApp> {
        guard !orders.isEmpty else { return [] }
        let ids = orders.map(\.id).exactlyUnique
        let rows = try await connection.query(
            "SELECT bundle_id, order_id FROM \(stored: .black) WHERE order_id = ANY (\(ids))")
        return Set(try rows.map { try NameInApp($0, "order_id") })
    }

    /// The orders whose user was delivered for no order what the night had matched with this one alone: a grant names
    /// no order, nor need a claim or the support desk. Of several `iap.status` tells a customer who asks for the best one
    /// that it was delivered; but which it was nobody knows, so none is kept from another case.
    private func matchedOrders(among orders: [OrderRow]) async throws -> Set<NameInApp> {
        guard !orders.isEmpty else { return [] }
        let users = Dictionary(grouping: orders) { NameInApp($0.bundleID, $0.userID) }
        let asked = users.map { OrderingUser($0.key, orders: $0.value) }
        let rows = try await connection.query(
            """
            SELECT asked.bundle_id, asked.user_id, matched.order_id
            FROM unnest(
                \(asked.map(\.user.bundleID)), \(asked.map(\.user.name)), \(asked.map(\.earliest)),
                \(asked.map(\.latest))
            ) AS asked (bundle_id, user_id, earliest, latest)
            CROSS JOIN LATERAL (
                SELECT transaction_id, bundle_id, environment
                FROM \(stored: .transactions) AS had
                WHERE had.user_id = asked.user_id AND had.bundle_id = asked.bundle_id AND had.place = 'black'
                    AND had.order_id IS NULL AND had.purchased_at > asked.earliest AND had.purchased_at < asked.latest
                OFFSET 0
            ) AS served
            CROSS JOIN LATERAL (
                SELECT order_ids[1] AS order_id
                FROM \(stored: .cases) AS found
                WHERE found.transaction_id = served.transaction_id AND found.bundle_id = served.bundle_id
                    AND found.environment = served.environment AND cardinality(found.order_ids) = 1
                OFFSET 0
            ) AS matched
            """)
        let owners = Dictionary(
            orders.map { ($0.key, NameInApp($0.bundleID, $0.userID)) }, uniquingKeysWith: { first, _ in first })
        var matched: Set<NameInApp> = []
        for row in rows {
            let order = try NameInApp(row, "order_id")
            if try owners[order] == NameInApp(row, "user_id") { matched.insert(order) }
        }
        return matched
    }

    /// Of the orders that came with each case, or that it was claimed for, those for which another purchase was
    /// delivered: `iap.claim` refuses it for them.
    func usedOrders(for page: [CaseFacts]) async throws -> [TransactionKey: [String]] {
        let named = page.flatMap { facts in
            (facts.namedOrderIDs + facts.claims.compactMap(\.orderID)).exactlyUnique.map { (key: facts.key, order: $0) }
        }
        guard !named.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            SELECT named.*
            FROM unnest(
                \(named.map(\.key.id.text)), \(named.map(\.key.bundleID.text)),
                \(named.map(\.key.environment.rawValue)), \(named.map(\.order))
            ) AS named (transaction_id, bundle_id, environment, order_id)
            CROSS JOIN LATERAL (
                SELECT original_transaction_id
                FROM transactions AS found
                WHERE found.transaction_id = named.transaction_id AND found.bundle_id = named.bundle_id
                    AND found.environment = named.environment
                OFFSET 0
            ) AS owed
            CROSS JOIN LATERAL (
                SELECT
                FROM \(stored: .black) AS black
                WHERE black.order_id = named.order_id AND black.bundle_id = named.bundle_id
                    AND black.original_transaction_id <> owed.original_transaction_id
                LIMIT 1
            ) AS served
            """)
        return try Dictionary(
            rows.map { (try TransactionKey($0), [try $0.decode("order_id", as: String.self)]) }, uniquingKeysWith: +)
    }
}
