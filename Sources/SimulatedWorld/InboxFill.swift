public import AppStoreSimulator
public import Foundation
import PostgreSQL

/// Many receipts for speed tests, for the world's game. They are never claimed, and any store with the seed knows them.
public struct InboxFill: Sendable {
    /// How many receipts are signed before they go to the database, as so many fit into memory.
    private static let share = 4000

    private let seed: UInt64
    /// When the receipts are handed in.
    private let submitted: Date
    private let receipts: Int
    private let transactions: Int
    private let signer: ReceiptSigner

    /// - Parameters:
    ///   - transactions: the number in each receipt.
    ///   - now: a moment after the receipts were handed in.
    public init(seed: UInt64, receipts: Int, transactions: Int, now: Date) throws(SimulatorError) {
        guard receipts >= 0, transactions >= 0, receipts * max(transactions, 1) <= 100_000_000 else {
            throw .invalidOption("at most 100000000 transactions can be filled in")
        }
        self.seed = seed
        submitted = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down)) - WorldSettings.day
        self.receipts = receipts
        self.transactions = transactions
        signer = ReceiptSigner(seed: seed)
    }

    /// Fills the inbox through `iap.submit_receipt`, and returns how many receipts there are. It needs the owner's
    /// rights, to move them to the past.
    public func fill(_ conninfo: String) async throws(SimulatorError) -> Int {
        do {
            let connection = try await Connection.connect(
                ConnectionSettings(conninfo, applicationName: "appstore-simulator"))
            defer { connection.close() }
            try await connection.fillProducts(World.apps.map(\.catalog))
            try await copy(to: connection)
            try await submit(connection)
            return receipts
        } catch {
            throw .database("\(error)")
        }
    }

    private func copy(to connection: Connection) async throws {
        try await connection.execute(
            "CREATE TEMPORARY TABLE fill_uploads (user_id text, payload text, receipt_id bigint)")
        let target = CopyTarget(table: "fill_uploads", columns: ["user_id", "payload"])
        for begin in stride(from: 0, to: receipts, by: Self.share) {
            let numbers = begin..<min(begin + Self.share, receipts)
            let payloads = Parallel.map(numbers) { signer.encode(receipt($0)) }
            _ = try await connection.copyIn(into: target, rows: zip(numbers, payloads)) { numbered, row in
                row.append("u\(40_000_000 + numbered.0)")
                row.append(numbered.1)
            }
        }
    }

    private func submit(_ connection: Connection) async throws {
        try await connection.execute(
            """
            UPDATE fill_uploads SET receipt_id = iap.submit_receipt(\(Catalog.game.bundleID), user_id, payload)
            """)
        let ids = try await connection.query("SELECT receipt_id FROM fill_uploads").map {
            try $0("receipt_id", as: Int64.self)
        }
        try await connection.execute(
            """
            UPDATE iap.receipts r
            SET submitted_at = \(submitted), next_attempt_at = \(submitted),
                seal = audit.receipt_seal(
                    r.bucket, r.receipt_id, r.bundle_id, r.user_id, r.payload_sha256, r.order_id, r.transaction_id,
                    \(submitted), r.state, r.is_erased)
            FROM unnest(\(ids)) AS f (receipt_id)
            WHERE r.bucket = (f.receipt_id & 63)::smallint AND r.receipt_id = f.receipt_id
            """)
        try await connection.executeScript(unsafe: "ANALYZE iap.receipts; ANALYZE iap.uploads")
    }

    /// The receipt with this number. Its transactions are numbered from a digit and fifteen zeros on, for seed 1 from
    /// 2000000000000000, by which other programs know which of them were delivered.
    private func receipt(_ number: Int) -> SimulatedReceipt {
        let products = Catalog.game.consumables
        let bought = (0..<transactions).map { index in
            let sequence = number * transactions + index
            return SimulatedTransaction(
                id: String(1_000_000_000_000_000 * Int(1 + seed % 9) + sequence),
                productID: products[sequence % products.count].id,
                purchasedAt: submitted.addingTimeInterval(Double(-60 * (index + 1))))
        }
        return SimulatedReceipt(
            bundleID: Catalog.game.bundleID, account: "fill-\(number)", createdAt: submitted, transactions: bought)
    }
}
