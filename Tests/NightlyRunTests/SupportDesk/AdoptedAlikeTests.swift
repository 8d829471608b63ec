import Foundation
import PostgreSQL
import TestSupport
import Testing
import Verification

/// What the support desk adopts is screened in SQL (`iap.adopt`), and what the night hears by the rules of
/// `Reconciliation`. One list of what Apple may sign says what either makes of each: Tests/SQL/adopted.sql reads it, too.
@Suite struct AdoptedAlikeTests {
    private struct Variant: Sendable {
        let name: String
        let id: String?
        /// What Apple signs.
        let claims: String
        /// Where the night puts it, and why; `nil` if it can't be read.
        let night: String?
        /// What `iap.adopt` gives; `nil` if it refuses it.
        let adopted: String?

        init(_ row: Row) throws {
            name = try row.decode("name")
            id = try row.decode("id", as: String?.self)
            claims = try row.decode("claims")
            night = try row.decode("night", as: String?.self)
            adopted = try row.decode("adopted", as: String?.self)
        }
    }

    /// A row of the ledger.
    private struct Entry: Hashable, Sendable {
        let standing: String
        /// All that is said of it, but by whom, when and in which run.
        let content: String
    }

    @Test func whatIsAdoptedIsScreenedAsTheNightScreensIt() async throws {
        let heard: [String: Entry] = try await withPlay(.local) { play in
            for variant in try await variants(play) {
                try await play.upload(Signed.jws(variant.claims))
            }
            _ = try await play.night()
            return try await entries(play)
        }
        try await withPlay(.local) { play in
            let variants = try await variants(play)
            #expect(variants.count > 80)
            for variant in variants {
                #expect(try await adopt(variant, play) == variant.adopted, "\(variant.name)")
            }
            _ = try await play.night()
            let adopted = try await entries(play)
            for variant in variants {
                let entry = variant.id.flatMap { heard[$0] }
                #expect(entry?.standing == variant.night, "\(variant.name)")
                let same = variant.id.flatMap { adopted[$0] }
                #expect(same == (variant.adopted == "white" ? entry : nil), "\(variant.name)")
            }
        }
    }

    /// PostgreSQL puts them together, for the other reader of the list does so, too.
    private func variants(_ play: Play) async throws -> [Variant] {
        let file = PackageRoot.folder.appending(path: "Tests/SQL/signed_transactions.json")
        let list = try String(contentsOf: file, encoding: .utf8)
        let connection = try await play.database.connect()
        defer { connection.close() }
        let rows = try await connection.query(
            """
            SELECT name, claims ->> 'transactionId' AS id, claims::text AS claims, night, adopted
            FROM (
                SELECT
                    variant ->> 'name' AS name, variant ->> 'night' AS night, variant ->> 'adopted' AS adopted,
                    (
                        jsonb_build_object(
                            'transactionId', 't' || number, 'originalTransactionId', 't' || number,
                            'signedDate', \(Signed.now))
                        || (list -> 'base') || coalesce(variant -> 'says', '{}'))
                        - ARRAY(SELECT jsonb_array_elements_text(variant -> 'lacks')) AS claims
                FROM (SELECT \(list)::jsonb AS list) AS read
                CROSS JOIN jsonb_array_elements(list -> 'variants') WITH ORDINALITY AS told (variant, number)
            ) AS variants
            """)
        return try rows.map { try Variant($0) }
    }

    private func adopt(_ variant: Variant, _ play: Play) async throws -> String? {
        let connection = try await play.database.connect(as: "iap_support")
        defer { connection.close() }
        do {
            let rows = try await connection.query(
                """
                SELECT iap.adopt(
                    \(Play.bundleID), \(Signed.jws(variant.claims)), 'anna', 'sue', 'sent the invoice') AS outcome
                """)
            return try rows.first?.decode("outcome", as: String.self)
        } catch {
            guard error.sqlState?.rawValue == "22023" else { throw error }
            return nil
        }
    }

    private func entries(_ play: Play) async throws -> [String: Entry] {
        let passing = [
            "entry_id", "first_seen_at", "first_run_id", "admitted_user_id", "admitted_receipt_id", "nights_confirmed",
            "last_confirmed_at", "excluded_at", "excluded_run_id", "verified_at", "move_id", "seal",
        ]
        let connection = try await play.database.connect()
        defer { connection.close() }
        let rows = try await connection.query(
            """
            SELECT
                transaction_id, concat_ws(': ', place, reason) AS standing,
                (to_jsonb(t) - \(passing)::text[])::text AS content
            FROM iap.transactions AS t
            """)
        var entries: [String: Entry] = [:]
        for row in rows {
            let id: String = try row.decode("transaction_id")
            entries[id] = Entry(standing: try row.decode("standing"), content: try row.decode("content"))
        }
        return entries
    }
}
