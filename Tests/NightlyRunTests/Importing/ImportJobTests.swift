import Importing
import Commands
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing

/// Files of every kind, taken into a database as role iap_import.
@Suite struct ImportJobTests {
    /// What an import of a text came to.
    struct Imported {
        let summary: ImportSummary
        let refused: [RefusedLine]
    }

    /// Three lines of each kind.
    static let samples: [ImportKind: [String]] = [
        .receipts: lines(
            #"""
            {"bundle_id":"com.a","user_id":"ann","payload":"QUJD","transaction_id":"1","submitted_at":1700000000,\#
            "device":{"m":1}}
            {"bundle_id":"com.a","user_id":"ann","payload":"QUJD","transaction_id":"2","submitted_at":1600000000}
            {"bundle_id":"com.a","user_id":null,"payload":"","order_id":"o"}
            """#),
        .orders: lines(
            #"""
            {"bundle_id":"com.a","order_id":"o1","user_id":"ann","product_id":"gems","created_at":1700000000}
            {"bundle_id":"com.a","order_id":"o2","user_id":"ann","product_id":"gems","quantity":2}
            {"bundle_id":"com.b","order_id":"o1","user_id":"bob","product_id":"gems","app_account_token":"7E3FB204-2B6C-4F7E-8D0A-0C1D2E3F4A5B"}
            """#),
        .delivered: lines(
            #"""
            {"bundle_id":"com.a","transaction_id":"1","product_id":"gems","purchased_at":1700000000,\#
            "delivered_at":1700000001,"user_id":"ann","order_id":"o1"}
            {"bundle_id":"com.a","transaction_id":"1","environment":"Sandbox","product_id":"gems",\#
            "purchased_at":1700000000,"delivered_at":1700000001}
            {"bundle_id":"com.a","transaction_id":"2","original_transaction_id":"1","product_id":"gems",\#
            "quantity":3,"purchased_at":1700000000,"delivered_at":1700000001}
            """#),
        .entitlements: lines(
            #"""
            {"bundle_id":"com.a","original_transaction_id":"1","user_id":"ann","entitled_until":1900000000}
            {"bundle_id":"com.a","original_transaction_id":"2","user_id":"ann","entitled_until":"infinity"}
            {"bundle_id":"com.b","original_transaction_id":"1","user_id":"bob","entitled_until":1900000000,\#
            "revoked_at":1800000000}
            """#),
        .products: lines(
            #"""
            {"bundle_id":"com.a","product_id":"gems","type":"consumable","name":"宝石",\#
            "list_price_milliunits":990,"currency":"USD"}
            {"bundle_id":"com.a","product_id":"ads","type":"non_consumable","name":"No ads"}
            {"bundle_id":"com.b","product_id":"gems","type":"consumable","name":"Gems"}
            """#),
    ]

    private static func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    static let tables: [ImportKind: [String]] = [
        .receipts: ["iap.receipts", "iap.uploads"], .orders: ["iap.orders"], .delivered: ["iap.black"],
        .entitlements: ["iap.entitlements"], .products: ["iap.products"],
    ]

    /// Staged, a payload is compressed as any table's: it is read each night, and by pglz that takes ten times as long.
    @Test func aPayloadIsCompressedAsTheInboxIs() async throws {
        let payload = String(repeating: "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY", count: 200)
        try await withScratchDatabase { database in
            _ = try await take(#"{"bundle_id":"com.a","payload":"\#(payload)"}"#, .receipts, .jsonl, database)
            let connection = try await database.connect()
            let rows = try await connection.query(
                """
                SELECT
                    pg_column_compression(payload) AS compressed,
                    CASE attcompression WHEN 'l' THEN 'lz4' ELSE 'pglz' END AS wanted
                FROM iap.receipts
                CROSS JOIN pg_attribute
                WHERE attrelid = 'iap.receipts'::regclass AND attname = 'payload'
                """)
            let row = try #require(rows.first)
            #expect(try row("compressed", as: String.self) == row("wanted", as: String.self))
        }
    }

    @Test(arguments: ImportKind.allCases, ImportFormat.allCases)
    func everyKindIsTakenOnceHoweverOftenItComes(kind: ImportKind, format: ImportFormat) async throws {
        let lines = try #require(Self.samples[kind])
        let text = try format == .csv ? csv(lines) : lines.joined(separator: "\n")
        let tables = try #require(Self.tables[kind])
        try await withScratchDatabase { database in
            let rehearsed = try await take(text, kind, format, database, isDryRun: true)
            #expect(rehearsed.summary.taken == 3 && rehearsed.refused.isEmpty)
            #expect(try await rows(tables + ["iap.events"], database) == [])
            let first = try await take(text, kind, format, database)
            #expect(first.summary.taken == 3 && first.summary.lines == 3 && first.summary.isComplete)
            let before = try await rows(tables + ["iap.moves"], database)
            #expect(before.count >= 3)
            let again = try await take(text + "\n" + (format == .csv ? "" : lines[0]), kind, format, database)
            #expect(again.summary.taken == 0 && again.summary.alreadyThere == (format == .csv ? 3 : 4))
            #expect(again.refused.isEmpty)
            #expect(try await rows(tables + ["iap.moves"], database) == before)
        }
    }

    /// The same objects as CSV, with every field of any of them as a column.
    private func csv(_ lines: [String]) throws -> String {
        let objects = try lines.map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
        }
        let columns = Set(objects.flatMap(\.keys)).sorted()
        let records = try objects.map { object in
            try columns.map { column in
                let value = object[column] ?? NSNull()
                if let value = value as? [String: Any] {
                    let json = try JSONSerialization.data(withJSONObject: value)
                    return "\"" + String(decoding: json, as: UTF8.self).replacing("\"", with: "\"\"") + "\""
                }
                return value is NSNull ? "" : "\"\(value)\""
            }.joined(separator: ",")
        }
        return ([columns.joined(separator: ",")] + records).joined(separator: "\r\n")
    }

    @Test func receiptsLieAsIfTheyHadBeenSubmitted() async throws {
        try await withScratchDatabase { imported in
            let lines = try #require(Self.samples[.receipts])
            _ = try await take(lines.joined(separator: "\n"), .receipts, .jsonl, imported)
            let submitted: [String] = try await withScratchDatabase { other in
                let app = try await other.connect(as: "iap_app")
                defer { app.close() }
                for call: SQL in [
                    "SELECT iap.submit_receipt('com.a', 'ann', 'QUJD', '1', NULL, '{\"m\": 1}')",
                    "SELECT iap.submit_receipt('com.a', 'ann', 'QUJD', '2')",
                    "SELECT iap.submit_receipt('com.a', NULL, '', NULL, 'o')",
                ] { _ = try await app.query(call) }
                return try await rows(Self.inbox, other, without: Self.moments)
            }
            #expect(try await rows(Self.inbox, imported, without: Self.moments) == submitted)
            let times = try await rows(["(SELECT submitted_at FROM iap.receipts WHERE user_id = 'ann')"], imported)
            #expect(times == [#"{"submitted_at": "2020-09-13T12:26:40+00:00"}"#])
        }
    }

    /// Receipts by what was uploaded, and uploads by their receipt's user: each upload that is submitted draws a number,
    /// whether it is a new receipt or not.
    private static let inbox = [
        "iap.receipts", "(SELECT user_id, uploads.* FROM iap.receipts JOIN iap.uploads USING (bucket, receipt_id))",
    ]
    private static let moments = [
        "receipt_id", "submitted_at", "next_attempt_at", "uploaded_again_at", "first_uploaded_at", "last_uploaded_at",
        "seal",
    ]

    @Test func whatTheLedgerContradictsIsRefused() async throws {
        try await withScratchDatabase { database in
            let orders = try #require(Self.samples[.orders])
            let claimed =
                orders + [
                    orders[0].replacing("ann", with: "bob"), orders[0].replacing("gems", with: "gold"),
                    orders[1].replacing(
                        "2}", with: "2,\"app_account_token\":\"7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5c\"}"),
                ]
            let first = try await take(claimed.joined(separator: "\n"), .orders, .jsonl, database)
            #expect(first.summary.taken == 3 && first.summary.alreadyThere == 1)
            #expect(first.refused.map(\.line) == [4, 5])
            #expect(first.refused.map(\.id) == ["o1", "o1"])
            #expect(first.summary.refused == [.contradiction: 2])
            let token = try await rows(
                ["(SELECT app_account_token AS t FROM iap.orders WHERE order_id = 'o2')"], database)
            #expect(token == [#"{"t": "7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5c"}"#])

            let delivered = try #require(Self.samples[.delivered])[0]
            _ = try await take(delivered, .delivered, .jsonl, database)
            let other = try await take(delivered.replacing("ann", with: "bob"), .delivered, .jsonl, database)
            #expect(other.refused.map(\.reason) == [.contradiction])
            let user = try await rows(["(SELECT user_id FROM iap.black)"], database)
            #expect(user == [#"{"user_id": "ann"}"#])
        }
    }

    @Test func whatAppleSaidOfADeliveryStays() async throws {
        try await withScratchDatabase { database in
            try await admit(["1", "2", "3"], database)
            let support = try await database.connect(as: "iap_support")
            defer { support.close() }
            _ = try await support.query("SELECT iap.resolve('2', 'refunded', 'sue', 'Apple says so')")
            _ = try await support.query("SELECT iap.resolve('3', 'dismissed', 'sue', 'a test')")
            let lines = ["1", "2", "3"].map {
                #"{"bundle_id":"com.a","transaction_id":"\#($0)","product_id":"other","quantity":9,"#
                    + #""purchased_at":1700000000,"delivered_at":1700000001,"user_id":"ann"}"#
            }
            #expect(try await take(lines.joined(separator: "\n"), .delivered, .jsonl, database).summary.taken == 3)
            let black = try await rows(
                [
                    """
                    (SELECT transaction_id AS t, product_id AS p, quantity AS q, delivered_by AS by,
                        refunded_at IS NOT NULL AS refunded FROM iap.black)
                    """
                ], database)
            #expect(
                black == [
                    #"{"p": "gems", "q": 1, "t": "1", "by": "import", "refunded": false}"#,
                    #"{"p": "gems", "q": 1, "t": "2", "by": "import", "refunded": true}"#,
                    #"{"p": "gems", "q": 1, "t": "3", "by": "import", "refunded": false}"#,
                ])
            #expect(try await rows(["iap.white", "iap.excluded"], database) == [])
            let moved = try await rows(
                ["(SELECT kind, from_place AS f, to_place AS t, to_units AS u FROM iap.moves)"], database)
            #expect(
                moved == [
                    #"{"f": "excluded", "t": "black", "u": 1, "kind": "imported"}"#,
                    #"{"f": "excluded", "t": "black", "u": 1, "kind": "imported"}"#,
                    #"{"f": "white", "t": "black", "u": 1, "kind": "imported"}"#,
                    #"{"f": "white", "t": "excluded", "u": 1, "kind": "resolved"}"#,
                    #"{"f": "white", "t": "excluded", "u": 1, "kind": "resolved"}"#,
                ])
            let events = try await rows(
                [
                    """
                    (SELECT transaction_id AS t, from_detail AS e FROM iap.moves WHERE kind = 'imported')
                    """
                ], database)
            #expect(
                events == [
                    #"{"e": "dismissed", "t": "3"}"#, #"{"e": "refunded", "t": "2"}"#, #"{"e": null, "t": "1"}"#,
                ])
        }
    }

    @Test func aLineWithoutAPriceLeavesTheOneThatIsKnown() async throws {
        try await withScratchDatabase { database in
            let header = "bundle_id,product_id,type,name"
            let prices = "\(header),list_price_milliunits,currency\ncom.a,gems,consumable,Gems,990,USD\n"
            #expect(try await take(prices, .products, .csv, database).summary.taken == 1)
            let names = "\(header)\ncom.a,gems,consumable,60 Gems\n"
            #expect(try await take(names, .products, .csv, database).summary.taken == 1)
            #expect(try await take(names, .products, .csv, database).summary.alreadyThere == 1)
            let kept = try await rows(
                ["(SELECT name AS n, list_price_milliunits AS p, currency AS c FROM iap.products)"], database)
            #expect(kept == [#"{"c": "USD", "n": "60 Gems", "p": 990}"#])
        }
    }

    @Test func aNonConsumableThatWasDeliveredIsOwedUnderNoOtherID() async throws {
        try await withScratchDatabase { database in
            let products = try #require(Self.samples[.products]).joined(separator: "\n")
            _ = try await take(products, .products, .jsonl, database)
            try await admit(["10", "11", "12"], product: "ads", original: "10", database)
            let line = #"""
                {"bundle_id":"com.a","transaction_id":"11","product_id":"ads","purchased_at":1700000000,\#
                "delivered_at":1700000001}
                """#
            #expect(try await take(line, .delivered, .jsonl, database).summary.taken == 1)
            let excluded = try await rows(["(SELECT transaction_id AS t, reason AS r FROM iap.excluded)"], database)
            #expect(excluded == [#"{"r": "restored", "t": "10"}"#, #"{"r": "restored", "t": "12"}"#])
            let black = try await rows(["(SELECT transaction_id AS t FROM iap.black)"], database)
            #expect(black == [#"{"t": "11"}"#])
            #expect(try await rows(["iap.white"], database) == [])
            let totals = try await rows(
                ["(SELECT kind, to_place AS t, count(*) AS n FROM iap.moves WHERE from_place = 'white' GROUP BY 1, 2)"],
                database)
            #expect(
                totals == [
                    #"{"n": 1, "t": "black", "kind": "imported"}"#,
                    #"{"n": 2, "t": "excluded", "kind": "withdrawn"}"#,
                ])
        }
    }

    /// A night that finds lost orders, then the company's own word that some of them were delivered, then a night.
    @Test func theNextRunsTotalsBalance() async throws {
        try await withStage { stage in
            let before = try await stage.run()
            let imported = before.findings.cases.prefix(5)
            #expect(imported.count == 5)
            let lines = imported.map { found in
                #"{"bundle_id":"\#(found.key.bundleID)","transaction_id":"\#(found.key.id)","#
                    + #""environment":"\#(found.key.environment.rawValue)","product_id":"\#(found.productID)","#
                    + #""purchased_at":\#(Int(found.purchasedAt.timeIntervalSince1970)),"delivered_at":1790000000}"#
            }
            let taken = try await take(lines.joined(separator: "\n"), .delivered, .jsonl, stage.database)
            #expect(taken.summary.taken == 5)
            let next = try await stage.run(RunOptions(now: Stage.now.addingTimeInterval(86_400)))
            #expect(next.report.outcome == .complete)
            #expect(next.report.totals.imbalances == [])
            #expect(next.report.totals.claimed.transactions == 5)
            #expect(next.findings.caseIDs.isDisjoint(with: imported.map(\.key.id.text)))
            let closed = try await stage.rows(
                of: "(SELECT closed_as, closed_by, count(*) AS n FROM iap.cases WHERE state = 'closed' GROUP BY 1, 2)")
            #expect(closed == [#"{"n": 5, "closed_as": "delivered", "closed_by": "import"}"#])
            let balances = try await stage.rows(of: "(SELECT DISTINCT balances FROM finance.control_totals)")
            #expect(balances == [#"{"balances": true}"#])
        }
    }

    /// Servers that admit and claim the very transactions that are being imported.
    @Test func claimsAtTheSameTimeDeliverNothingTwice() async throws {
        try await withScratchDatabase { database in
            let ids = (1...400).map { "\(1_000 + $0)" }
            try await admit(Array(ids.prefix(200)), database)
            let lines = ids.shuffled().map {
                #"{"bundle_id":"com.a","transaction_id":"\#($0)","product_id":"gems","purchased_at":1700000000,"#
                    + #""delivered_at":1700000001,"user_id":"ann"}"#
            }
            let (taken, claimed) = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await self.claimAll(ids.shuffled(), database) } }
                var taken = 0
                for piece in stride(from: 0, to: lines.count, by: 40).map({ lines[$0..<$0 + 40] }) {
                    let imported = try await take(piece.joined(separator: "\n"), .delivered, .jsonl, database)
                    #expect(imported.refused == [])
                    taken += imported.summary.taken
                }
                return (taken, try await group.reduce(0, +))
            }
            #expect(taken + claimed == ids.count)
            #expect(taken > 0 && claimed > 0)
            #expect(try await rows(["iap.white"], database) == [])
            let black = try await rows(
                ["(SELECT delivered_by AS by, count(*) AS n FROM iap.black GROUP BY 1)"], database)
            #expect(black == [#"{"n": \#(claimed), "by": "claim"}"#, #"{"n": \#(taken), "by": "import"}"#].sorted())
            let hashes = try await rows(
                [
                    """
                    (SELECT
                        (SELECT count(*) FROM iap.entries WHERE place = 'white')
                        - (SELECT count(*) FROM iap.moves WHERE from_place = 'white') AS n)
                    """
                ], database)
            #expect(hashes == [#"{"n": 0}"#])
        }
    }

    /// Admits and claims each transaction, and gives how many claims were told to deliver.
    private func claimAll(_ ids: [String], _ database: ScratchDatabase) async throws -> Int {
        let app = try await database.connect(as: "iap_app")
        defer { app.close() }
        var delivered = 0
        for id in ids {
            _ = try await app.query("SELECT iap.admit('com.a', 'Production', \(id), \(id), 'gems', 1, now(), 'ann')")
            let rows = try await app.query("SELECT iap.claim('com.a', \(id), 'ann') AS outcome")
            if try rows.first?.decode("outcome", as: String.self) == "delivered" { delivered += 1 }
        }
        return delivered
    }

    @Test func onlyTheImportsRoleMay() async throws {
        try await withScratchDatabase { database in
            let line = try #require(Self.samples[.orders])[0]
            await #expect(throws: JobError.self) {
                _ = try await take(line, .orders, .jsonl, database, role: "iap_job")
            }
            #expect(try await rows(["iap.orders"], database) == [])
        }
    }

    /// What brings the session down each time does not do so for ever.
    @Test(.timeLimit(.minutes(10))) func aLineThatEndsTheSessionEndsTheImport() async throws {
        try await withScratchDatabase { database in
            let connection = try await database.connect()
            defer { connection.close() }
            try await connection.executeScript(
                unsafe: """
                    CREATE FUNCTION public.end_session() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                        $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END$$;
                    CREATE TRIGGER end_session BEFORE INSERT ON iap.orders
                        FOR EACH ROW EXECUTE FUNCTION public.end_session();
                    """)
            let log = Mutex<[String]>([])
            await #expect {
                _ = try await take(try #require(Self.samples[.orders])[0], .orders, .jsonl, database) { entry in
                    log.withLock { $0.append(entry.message) }
                }
            } throws: { ($0 as? JobError)?.exitCode == .unavailable }
            #expect(log.withLock { $0 } == Array(repeating: "lost the database, waiting for it", count: 3))
            #expect(try await rows(["iap.orders"], database) == [])
        }
    }

    /// What was committed before is told and noted, as after a signal.
    @Test(.timeLimit(.minutes(10))) func whatAStopInTheMiddleLeavesIsCounted() async throws {
        let lines = (0...5_000).map {
            #"{"bundle_id":"com.a","order_id":"\#($0)","user_id":"ann","product_id":"gems"}"#
        }
        try await withScratchDatabase { database in
            let connection = try await database.connect()
            defer { connection.close() }
            try await connection.executeScript(
                unsafe: """
                    CREATE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql AS
                        $$BEGIN RAISE EXCEPTION 'stopped' USING ERRCODE = 'query_canceled'; END$$;
                    CREATE TRIGGER stop BEFORE INSERT ON iap.orders
                        FOR EACH ROW WHEN (NEW.order_id = '5000') EXECUTE FUNCTION public.stop();
                    """)
            let imported = try await take(lines.joined(separator: "\n"), .orders, .jsonl, database)
            #expect(imported.summary.taken == 5_000 && !imported.summary.isComplete)
            let noted = try await connection.query(
                "SELECT details ->> 'taken' AS taken FROM iap.events WHERE kind = 'imported'")
            #expect(try noted.map { try $0.decode("taken", as: String.self) } == ["5000"])
        }
    }

    /// No night would look at such a receipt before, and nobody would hear of it.
    @Test("What is yet to happen is refused", arguments: [ImportKind.receipts, .orders, .delivered])
    func whatIsYetToHappen(kind: ImportKind) async throws {
        let line = try #require(Self.samples[kind])[0]
        let later = Int(Date.now.timeIntervalSince1970) + 3 * 86_400
        let text = line.replacing(/1700000000|1700000001/, with: "\(later)")
        try await withScratchDatabase { database in
            let imported = try await take(text, kind, .jsonl, database)
            #expect(imported.summary.taken == 0 && imported.summary.isComplete)
            #expect(imported.refused.map(\.reason) == [.badValue])
            #expect(imported.refused.first?.text.hasSuffix("lies in the future") == true)
            #expect(try await rows(Self.tables[kind] ?? [], database) == [])
        }
    }

    /// Apple renews up to a day before the period begins, and the clocks differ. Refused, it would be called lost.
    @Test func aRenewalMayBeDeliveredBeforeItsPeriod() async throws {
        let now = Int(Date.now.timeIntervalSince1970)
        func line(_ id: Int, purchasedAt: Int, deliveredAt: Int) -> String {
            #"{"bundle_id":"com.a","transaction_id":"\#(id)","product_id":"pass","purchased_at":\#(purchasedAt),"#
                + #""delivered_at":\#(deliveredAt)}"#
        }
        let (tomorrow, later) = (now + 25 * 3600, now + 49 * 3600)
        let text = [
            line(1, purchasedAt: tomorrow, deliveredAt: now), line(2, purchasedAt: later, deliveredAt: now),
            line(3, purchasedAt: now, deliveredAt: tomorrow), line(4, purchasedAt: tomorrow, deliveredAt: tomorrow),
        ]
        try await withScratchDatabase { database in
            let imported = try await take(text.joined(separator: "\n"), .delivered, .jsonl, database)
            #expect(imported.summary.taken == 1)
            let words = imported.refused.map(\.text)
            #expect(words.count == 3 && words.filter { $0.hasPrefix("delivered_at") }.count == 2)
        }
    }

    /// A local time that is labelled as one of Greenwich.
    @Test func aFastClockPutsOffNoReceipt() async throws {
        let later = Int(Date.now.timeIntervalSince1970) + 8 * 3600
        let text = #"{"bundle_id":"com.a","user_id":"ann","payload":"QUJD","submitted_at":\#(later)}"#
        try await withScratchDatabase { database in
            let imported = try await take(text, .receipts, .jsonl, database)
            #expect(imported.summary.taken == 1)
            let connection = try await database.connect()
            defer { connection.close() }
            let due = try await connection.query("SELECT FROM iap.receipts WHERE next_attempt_at <= now()")
            #expect(due.count == 1)
        }
    }

    private func take(
        _ text: String, _ kind: ImportKind, _ format: ImportFormat, _ database: ScratchDatabase,
        isDryRun: Bool = false, role: String = "iap_import", log: @escaping @Sendable (LogEntry) -> Void = { _ in }
    ) async throws -> Imported {
        let file = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let settings = JobSettings(database: database.conninfo(as: role), apps: [])
        var refused: [RefusedLine] = []
        let summary = try await ImportJob(settings: settings, log: log, progress: { _ in }).run(
            ImportOptions(kind: kind, file: file.path(percentEncoded: false), format: format, isDryRun: isDryRun),
            stop: StopSignal()
        ) { refused += $0 }
        return Imported(summary: summary, refused: refused)
    }

    private func admit(
        _ ids: [String], product: String = "gems", original: String? = nil, _ database: ScratchDatabase
    ) async throws {
        let app = try await database.connect(as: "iap_app")
        defer { app.close() }
        for id in ids {
            _ = try await app.query(
                "SELECT iap.admit('com.a', 'Production', \(id), \(original ?? id), \(product), 1, now(), 'ann')")
        }
    }

    private func rows(
        _ tables: [String], _ database: ScratchDatabase, without columns: [String] = []
    ) async throws -> [String] {
        let connection = try await database.connect()
        defer { connection.close() }
        var found: [String] = []
        for table in tables {
            found += try await connection.query(
                """
                SELECT (to_jsonb(content) - \(columns)::text[])::text AS content
                FROM \(unsafe: table) AS content
                ORDER BY 1
                """
            ).map { try $0.decode("content", as: String.self) }
        }
        return found
    }
}
