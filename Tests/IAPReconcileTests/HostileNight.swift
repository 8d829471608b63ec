import AppStoreSimulator
import Foundation
import PostgreSQL
import TestSupport
import Testing

/// A night in which each hostile text stands for all that a client may name: its user, order and device, the product
/// that it bought, and the transaction that it claims to have made.
struct HostileNight {
    static let bundleID = "com.example.game"
    private static let texts = HostileText.allCases
    /// What each text bought: paid and uploaded, admitted by the app's server, and delivered long ago.
    private static let purchased = ProgramNight.now - 5 * 86_400

    let night: ProgramNight

    static func transactionID(of text: HostileText) -> String { String(990_000_000_000_000 + place(of: text)) }
    static func admittedID(of text: HostileText) -> String { String(991_000_000_000_000 + place(of: text)) }
    static func deliveredID(of text: HostileText) -> String { String(992_000_000_000_000 + place(of: text)) }
    static func productID(of text: HostileText) -> String { "hostile.\(place(of: text))" }

    private static func place(of text: HostileText) -> Int { texts.firstIndex(of: text) ?? 0 }

    /// Everything goes in the ways that a company has: SQL for its server, files for its history.
    func play() async throws {
        try await importEverything()
        let server = try await night.database.connect(as: "iap_app")
        defer { server.close() }
        for text in Self.texts {
            try await upload(text, server)
            _ = try await server.query(
                """
                SELECT iap.admit(
                    \(Self.bundleID), 'Production', \(Self.admittedID(of: text)), \(Self.admittedID(of: text)),
                    \(Self.productID(of: text)), 1, \(Self.purchased), \(text.text)),
                    iap.claim(\(Self.bundleID), \(Self.transactionID(of: text)), \(text.text), \(text.text))
                """)
        }
        try await setBack()
    }

    /// A receipt that is genuine, and one that can't be used.
    private func upload(_ text: HostileText, _ server: Connection) async throws {
        let receipt = SimulatedReceipt(
            bundleID: Self.bundleID, account: "hostile \(text)", createdAt: Self.purchased + 60,
            transactions: [
                SimulatedTransaction(
                    id: Self.transactionID(of: text), productID: Self.productID(of: text),
                    purchasedAt: Self.purchased)
            ])
        let genuine = SimulatedAppStore(seed: 7).makeReceipt(receipt)
        for (payload, claimed) in [(genuine, nil), ("no receipt of \(text)", text.text)] as [(String, String?)] {
            _ = try await server.query(
                """
                SELECT iap.submit_receipt(
                    \(Self.bundleID), \(text.text), \(payload), \(claimed), \(text.text),
                    jsonb_build_object('model', \(text.text)::text, 'name', \(text.text)::text))
                """)
        }
    }

    /// To the hour of the night, since the database's clock stamped it with the present.
    private func setBack() async throws {
        let connection = try await night.database.connect()
        defer { connection.close() }
        let uploaded = Self.purchased + 120
        try await connection.execute(
            """
            UPDATE iap.receipts
            SET submitted_at = \(uploaded), next_attempt_at = \(uploaded),
                seal = audit.receipt_seal(
                    bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, \(uploaded),
                    state, is_erased)
            WHERE user_id = ANY (\(Self.texts.map(\.text)))
            """)
    }

    private func importEverything() async throws {
        try await importLines("products") { text in
            ["product_id": Self.productID(of: text), "type": "consumable", "name": text.text]
        }
        try await importLines("orders") { text in
            [
                "order_id": text.text, "user_id": text.text, "product_id": Self.productID(of: text),
                "created_at": (Self.purchased - 60).formatted(.iso8601),
            ]
        }
        try await importLines("delivered") { text in
            // The order of its own name is the lost purchase's. An order has at most 1,000 bytes.
            let order = text.text.utf8.count > 990 ? "again" : "\(text.text) again"
            return [
                "transaction_id": Self.deliveredID(of: text), "product_id": Self.productID(of: text),
                "user_id": text.text, "order_id": order,
                "purchased_at": Self.purchased.formatted(.iso8601),
                "delivered_at": Self.purchased.formatted(.iso8601),
            ]
        }
    }

    private func importLines(_ kind: String, _ fields: (HostileText) -> [String: String]) async throws {
        let lines = try Self.texts.map { text in
            let line = fields(text).merging(["bundle_id": Self.bundleID]) { $1 }
            return String(decoding: try JSONEncoder().encode(line), as: UTF8.self) + "\n"
        }
        let ended = try await importing(kind, lines.joined(), format: "jsonl")
        #expect(ended.status == 0, "\(kind): \(ended.output)\(ended.errors)")
    }

    /// Runs the command `import` over a text.
    func importing(
        _ kind: String, _ text: String, format: String, _ further: [String] = []
    ) async throws -> ChildProcess.Ended {
        let configuration = night.folder.appending(path: "import.conf").path(percentEncoded: false)
        try write("[database]\nconninfo = \(night.database.conninfo(as: "iap_import"))\n", to: configuration)
        return try await ChildProcess.run(
            ProgramNight.program, ["import", kind, "-", "--format", format, "--config", configuration] + further,
            input: text)
    }
}
