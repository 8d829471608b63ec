import Job
import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing

/// Sessions of the app's server that begin, look, hang or come late while a night runs. Each of these once lost a refund,
/// delivered twice, or stopped every later night.
@Suite struct HostileSessionTests {
    /// A session of the app's server with a transaction open.
    private func openSession(_ play: Play, _ begin: SQL = "BEGIN") async throws -> Connection {
        let session = try await play.database.connect(as: "iap_app")
        try await session.execute(begin)
        return session
    }

    private func answer(_ session: Connection, _ call: SQL) async throws -> String {
        try #require(try await session.query("SELECT \(call) AS answer").first).decode("answer")
    }

    private func claim(_ transaction: SimulatedTransaction, for user: String = "anna") -> SQL {
        "iap.claim(\(Play.bundleID), \(transaction.id), \(user), NULL)"
    }

    private func admit(_ transaction: SimulatedTransaction, environment: String = "Production") -> SQL {
        """
        iap.admit(
            \(Play.bundleID), \(environment), \(transaction.id), \(transaction.originalID), \(transaction.productID),
            \(Int32(transaction.quantity)), \(transaction.purchasedAt), 'anna')
        """
    }

    /// What holds after each of these, whoever won.
    private func expectSound(_ play: Play) async throws {
        #expect(try await violations(play.database) == [])
        let twice = try await play.count(
            """
            (
                SELECT FROM iap.claims WHERE outcome = 'delivered'
                GROUP BY transaction_id, bundle_id HAVING count(*) > 1
            ) AS twice
            """)
        #expect(twice == 0)
    }

    /// A purchase that Apple refunds while a session of the app's server has claimed it and not committed.
    private func refundedAmidAClaim(_ play: Play) async throws -> (SimulatedTransaction, Connection) {
        let bought = play.buy("1000000000005001")
        try await play.upload(play.receipt([bought]), for: bought)
        _ = try await play.night(1)
        play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
        let server = try await openSession(play)
        #expect(try await answer(server, claim(bought)) == "delivered")
        return (bought, server)
    }

    private func expectClass40(_ body: () async throws -> Void) async {
        await #expect {
            try await body()
        } throws: { error in
            (error as? PostgreSQLError)?.sqlState?.rawValue.hasPrefix("40") ?? false
        }
    }

    @Test func aRefundThatComesWhileAClaimIsOpenIsHeardTheNextNight() async throws {
        try await withPlay { play in
            let (bought, server) = try await refundedAmidAClaim(play)
            let warnings = Mutex<[String]>([])
            let second = try await play.night(2) { entry in
                if entry.level == .warning { warnings.withLock { $0.append(entry.message) } }
            }.report
            #expect(second.leftOut.transactions.map(\.text) == [bought.id])
            #expect(second.leftOut.holders.map(\.login) == ["iap_app"])
            #expect(warnings.withLock { $0 } == [second.leftOut.text])
            guard case .endedEarly(let why) = second.outcome else { return #expect(Bool(false), "it is complete") }
            #expect(why.contains(bought.id) && why.contains("of iap_app since"))
            let again = try await play.reportAgain().leftOut
            #expect(again.transactions == second.leftOut.transactions && again.text == second.leftOut.text)
            try await server.execute("COMMIT")
            #expect(try await play.count("iap.receipts WHERE state = 'watched' AND next_attempt_at IS NOT NULL") == 1)
            #expect(try await play.night(3).report.outcome == .complete)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL AND delivered_by = 'claim'") == 1)
            try await expectSound(play)
        }
    }

    /// As a batch of another worker of the same run holds it: it is free again when it is tried once more.
    @Test func aLockThatIsGoneAtTheSecondTryIsNoWarning() async throws {
        try await withPlay { play in
            let (_, server) = try await refundedAmidAClaim(play)
            defer { server.close() }
            let other = play.buy("1000000000005004")
            try await play.upload(play.receipt([other]), for: other)
            let entries = Mutex<[LogEntry]>([])
            let report = try await play.night(2) { entry in
                entries.withLock { $0.append(entry) }
                if entry.message.contains("which are tried again") { Task { try await play.endServers() } }
            }.report
            #expect(report.outcome == .complete)
            #expect(report.receipts.left == 0)
            #expect(entries.withLock { $0.first { $0.message.contains("tried again") }?.level } == .debug)
            #expect(entries.withLock { $0.filter { $0.level == .warning }.map(\.message) } == [])
            try await expectSound(play)
        }
    }

    /// No session is there that could be asked or ended: the transaction has to be named.
    @Test func aPreparedTransactionThatHoldsAClaimIsNamed() async throws {
        try await withPlay { play in
            let (bought, server) = try await refundedAmidAClaim(play)
            try await server.execute("PREPARE TRANSACTION 'claim of \(unsafe: play.database.name)'")
            server.close()
            var hurried = play
            hurried.settings.patience = 1
            let held = try await hurried.night(2).report
            #expect(held.leftOut.transactions.map(\.text) == [bought.id])
            guard case .endedEarly(let why) = held.outcome else { return #expect(Bool(false), "it is complete") }
            let name = "claim of \(play.database.name)"
            #expect(why.contains("held by the prepared transaction “\(name)” of iap_app"), "\(why)")
            try await play.administer("COMMIT PREPARED '\(unsafe: name)'")
            #expect(try await play.night(3).report.outcome == .complete)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL AND delivered_by = 'claim'") == 1)
            try await expectSound(play)
        }
    }

    @Test func whatIsAdmittedAndClaimedWhileTheNightExcludesItIsInOnePlace() async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000005002")
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 3600)) }
            try await play.upload(play.receipt([bought]), for: bought)
            let server = try await openSession(play)
            #expect(try await answer(server, admit(bought)) == "white")
            #expect(try await answer(server, claim(bought)) == "delivered")
            let night = try await play.night(1).report
            #expect(night.leftOut.transactions.map(\.text) == [bought.id])
            try await server.execute("COMMIT")
            _ = try await play.night(2)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
            #expect(try await play.count("iap.excluded") == 0)
            try await expectSound(play)
        }
    }

    @Test(arguments: ["BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN ISOLATION LEVEL SERIALIZABLE"])
    func anOldSnapshotNeitherAdmitsNorClaimsAgain(begin: String) async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000005003")
            for call in [admit(bought), claim(bought)] {
                let late = try await openSession(play, "\(unsafe: begin)")
                // Its snapshot is taken here.
                _ = try await late.query("SELECT 1 AS one")
                let first = try await play.database.connect(as: "iap_app")
                _ = try await answer(first, admit(bought))
                _ = try await answer(first, claim(bought))
                var told: String?
                do {
                    told = try await answer(late, call)
                } catch let error as PostgreSQLError {
                    #expect(error.sqlState?.rawValue.hasPrefix("40") == true, "\(error)")
                }
                if let told { #expect(told != "white" && told != "delivered", "told \(told)") }
                _ = try? await late.execute("COMMIT")
            }
            #expect(try await play.night(1).findings.cases.isEmpty)
            #expect(try await play.night(2).report.outcome == .complete)
            try await expectSound(play)
        }
    }

    @Test(arguments: ["BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN ISOLATION LEVEL SERIALIZABLE"])
    func aRestoredNonConsumableIsDeliveredOnceAtAnyIsolationLevel(begin: String) async throws {
        try await withPlay { play in
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES (\(Play.bundleID), 'full', 'non_consumable', 'Full version')
                """)
            let first = play.buy("1000000000005010", "full")
            let again = play.buy("1000000000005011", "full") { $0.originalID = first.id }
            try await play.admit(first)
            try await play.admit(again)
            let late = try await openSession(play, "\(unsafe: begin)")
            _ = try await late.query("SELECT 1 AS one")
            #expect(try await play.claim(first) == "delivered")
            do {
                #expect(try await answer(late, claim(again)) == "already_delivered")
                try await late.execute("COMMIT")
            } catch let error as PostgreSQLError {
                #expect(error.sqlState?.rawValue.hasPrefix("40") == true, "\(error)")
                _ = try? await late.execute("ROLLBACK")
            }
            #expect(try await play.count("iap.black") == 1)
            try await expectSound(play)
        }
    }

    @Test func whatNobodyKnowsTheTypeOfIsDeliveredOnceAndThenForSupport() async throws {
        try await withPlay { play in
            let first = play.buy("1000000000005020", "unlisted")
            let again = play.buy("1000000000005021", "unlisted") { $0.originalID = first.id }
            try await play.admit(first)
            try await play.admit(again)
            #expect(try await play.claim(first) == "delivered")
            #expect(try await play.claim(again) == "undecided")
            #expect(try await play.count("iap.white") == 1)
            try await expectSound(play)
        }
    }

    @Test func anIDThatWasDeliveredInTheSandboxIsForSupport() async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000005030")
            let server = try await play.database.connect(as: "iap_app")
            #expect(try await answer(server, admit(bought, environment: "Sandbox")) == "white")
            #expect(try await answer(server, claim(bought)) == "delivered")
            try await play.upload(play.receipt([bought]), for: bought)
            _ = try await play.night(1)
            #expect(try await answer(server, claim(bought)) == "undecided")
            #expect(try await play.count("iap.black") == 1)
            try await expectSound(play)
        }
    }

    /// Two environments of one id, claimed from two snapshots that see one of them each.
    @Test func noTwoSnapshotsDeliverOneIDInTwoEnvironments() async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000005031")
            let begin: SQL = "BEGIN ISOLATION LEVEL REPEATABLE READ"
            let (one, other) = (try await openSession(play, begin), try await openSession(play, begin))
            #expect(try await answer(one, admit(bought)) == "white")
            #expect(try await answer(other, admit(bought, environment: "Sandbox")) == "white")
            #expect(try await answer(one, claim(bought)) == "delivered")
            try await one.execute("COMMIT")
            await expectClass40 { _ = try await answer(other, claim(bought)) }
            try await other.execute("ROLLBACK")
            #expect(try await play.count("iap.black") == 1)
            try await expectSound(play)
        }
    }

    @Test func oneHungClaimHoldsUpNobodyElse() async throws {
        try await withPlay { play in
            let known = (0..<20).map { play.buy("10000000000051\($0 + 10)", account: "known\($0)") }
            for (number, bought) in known.enumerated() {
                try await play.upload(
                    play.receipt([bought], account: "known\(number)"), by: "known\(number)", for: bought)
            }
            #expect(try await play.night(1).report.cases.total == 20)
            let server = try await openSession(play)
            #expect(try await answer(server, claim(known[3], for: "known3")) == "delivered")
            for number in 0..<5 {
                let bought = play.buy("10000000000052\(number + 10)", account: "new\(number)")
                try await play.upload(play.receipt([bought], account: "new\(number)"), by: "new\(number)", for: bought)
            }
            // While the claim is open: it is not waited for.
            let report = try await play.night(2).report
            #expect(report.cases.new == 5)
            #expect(report.leftOut.transactions.map(\.text) == [known[3].id])
            guard case .endedEarly = report.outcome else { return #expect(Bool(false), "it is complete") }
            try await server.execute("ROLLBACK")
            #expect(try await play.night(3).report.outcome == .complete)
            try await expectSound(play)
        }
    }

    @Test func aReceiptThatAnotherSessionHasLockedIsNamedAndStaysDue() async throws {
        try await withPlay { play in
            let (bought, other) = (play.buy("1000000000005041"), play.buy("1000000000005042", account: "other"))
            try await play.upload(play.receipt([bought]), for: bought)
            try await play.upload(play.receipt([other], account: "other"), by: "other", for: other)
            let session = try await play.database.connect()
            try await session.execute("BEGIN")
            let locked = try #require(
                try await session.query(
                    "SELECT receipt_id FROM iap.receipts ORDER BY receipt_id LIMIT 1 FOR UPDATE"
                ).first?.decode("receipt_id", as: Int64.self))
            let report = try await play.night(1).report
            #expect(report.leftOut.receiptIDs == [locked] && report.leftOut.receipts == 1)
            #expect(report.leftOut.holders.count == 1)
            #expect(report.receipts.left == 1 && report.receipts.verified == 1)
            guard case .endedEarly(let why) = report.outcome else { return #expect(Bool(false), "it is complete") }
            #expect(why.contains("1 receipt (\(locked))"))
            try await session.execute("ROLLBACK")
            session.close()
            #expect(try await play.night(2).report.outcome == .complete)
            try await expectSound(play)
        }
    }

    @Test func aBucketThatAnotherSessionOwnsIsNotTriedAndSaidSo() async throws {
        try await withPlay { play in
            for number in 0..<12 {
                let bought = play.buy("10000000000053\(number + 10)", account: "user\(number)")
                try await play.upload(
                    play.receipt([bought], account: "user\(number)"), by: "user\(number)", for: bought)
            }
            let other = try await play.database.connect()
            let owned = try #require(
                try await other.query("SELECT bucket, count(*) AS n FROM iap.receipts GROUP BY 1 ORDER BY 1").first)
            let bucket: Int16 = try owned.decode("bucket")
            let receipts: Int = try owned.decode("n")
            _ = try await other.query("SELECT pg_advisory_lock(space, \(Int32(bucket))) FROM iap.lock_space")
            let report = try await play.night(1).report
            #expect(report.receipts.left == receipts)
            #expect(report.leftOut.buckets == [Int(bucket)] && report.leftOut.receipts == receipts)
            #expect(report.leftOut.holders.count == 1)
            guard case .endedEarly = report.outcome else { return #expect(Bool(false), "it is complete") }
            other.close()
            #expect(try await play.night(2).report.receipts.left == 0)
        }
    }

    /// The space of the job's locks is drawn at random, and no other role can read it.
    @Test(arguments: ["iap_app", "iap_support", "iap_finance", "iap_import", "iap_privacy"])
    func noOtherRoleKnowsTheJobsLocks(role: String) async throws {
        try await withScratchDatabase { database in
            let session = try await database.connect(as: role)
            await #expect(throws: PostgreSQLError.self) {
                _ = try await session.query("SELECT space FROM iap.lock_space")
            }
        }
    }

    @Test func applesWordCorrectsTheAppServers() async throws {
        try await withPlay { play in
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
                VALUES
                    (\(Play.bundleID), 'gems.10000', 'consumable', 'Many', 99990, 'USD'),
                    (\(Play.bundleID), 'gems.100', 'consumable', 'Few', 990, 'USD')
                """)
            let white = play.buy("1000000000005040", "gems.100")
            let black = play.buy("1000000000005041", "gems.100")
            let server = try await play.database.connect(as: "iap_app")
            for bought in [white, black] {
                let lie: SQL = """
                    iap.admit(
                        \(Play.bundleID), 'Production', \(bought.id), \(bought.id), 'gems.10000', 9, '2099-01-01', 'anna')
                    """
                #expect(try await answer(server, lie) == "white")
            }
            #expect(try await answer(server, claim(black)) == "delivered")
            try await play.upload(play.receipt([white, black]), for: white)
            let report = try await play.night(1).report
            #expect(report.totals.imbalances == [])
            for place in ["white", "black"] {
                #expect(
                    try await play.count(
                        """
                        (SELECT FROM iap.\(identifier: place)
                        WHERE product_id = 'gems.100' AND quantity = 1 AND purchased_at = \(white.purchasedAt)
                            AND booked_milliunits = 990 AND source <> 'app_server') AS corrected
                        """) == 1, "\(place)")
            }
            #expect(try await play.count("finance.unexplained") == 0)
            try await expectSound(play)
        }
    }

    /// Token, order and admission name A; B has A's receipt, waits for nights, and knows A's order.
    @Test func aLaterUploadNeverWidensWhoMayClaim() async throws {
        try await withPlay { play in
            let token = "7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60"
            try await play.order("order-of-a", by: "a", token: token, hoursAgo: 201)
            let bought = play.buy("1000000000005050") { $0.appAccountToken = token }
            let payload = play.receipt([bought])
            try await play.upload(payload, by: "a", for: bought, order: "order-of-a")
            try await play.admit(bought, for: "a")
            _ = try await play.night(1)
            try await play.upload(payload, by: "b", for: bought, order: "order-of-a")
            _ = try await play.night(2)
            #expect(try await play.claim(bought, for: "b", order: "order-of-a") == "wrong_user")
            #expect(try await play.claim(bought, for: "b") == "wrong_user")
            #expect(try await play.claim(bought, for: "a", order: "order-of-a") == "delivered")
        }
    }

    /// Without any strong evidence the first to hand it in counts, and nobody who comes later.
    @Test func whatOnlyRodeAlongIsTheFirstUploaders() async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000005051")
            let payload = play.receipt([bought])
            try await play.upload(payload, by: "a")
            _ = try await play.night(1)
            try await play.upload(payload, by: "b", for: bought)
            _ = try await play.night(2)
            #expect(try await play.claim(bought, for: "b") == "wrong_user")
            #expect(try await play.claim(bought, for: "a") == "delivered")
        }
    }

    @Test func strongEvidenceThatContradictsItselfIsForSupport() async throws {
        try await withPlay { play in
            let token = "7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60"
            try await play.order("order-of-a", by: "a", token: token, hoursAgo: 201)
            let bought = play.buy("1000000000005052") { $0.appAccountToken = token }
            try await play.upload(play.receipt([bought], style: .signedTransaction), by: "a", for: bought)
            _ = try await play.night(1)
            try await play.admit(bought, for: "b")
            #expect(try await play.claim(bought, for: "a") == "undecided")
            #expect(try await play.claim(bought, for: "b") == "undecided")
        }
    }

    @Test func whatAnUploadNamedAndItsReceiptLacksStaysOpenAndIsListed() async throws {
        try await withPlay { play in
            let (held, named) = (play.buy("1000000000005060"), play.buy("1000000000005061"))
            try await play.upload(play.receipt([held]), for: named, order: "order-7")
            for night in 1...2 {
                let findings = try await play.night(night).findings
                #expect(findings.unusable.isEmpty, "night \(night)")
                #expect(try await play.count("iap.receipts WHERE next_attempt_at IS NOT NULL") == 1)
            }
            let third = try await play.night(3).findings
            #expect(third.unusable.map(\.problem) == [.transactionMissing])
            #expect(third.unusable.first?.detail.contains(named.id) == true)
            for id in [named.id, "order-7"] {
                let receipts = try await play.check(id, askingApple: play.settings).troubledReceipts
                #expect(receipts.map(\.problem) == [.transactionMissing], "\(id)")
            }
            // It comes after all: nothing is missing any more.
            try await play.upload(play.receipt([held, named]), for: named)
            #expect(try await play.night(4).findings.unusable.isEmpty)
        }
    }

    @Test func aRefundThatAppleTakesBackIsOwedAgain() async throws {
        try await withPlay(hasKey: true) { play in
            let white = play.buy("1000000000005070")
            let payload = play.receipt([white])
            try await play.upload(payload, for: white)
            _ = try await play.night(1)
            play.store.update { $0.refund(white.id, Refund(at: play.began - 60)) }
            #expect(try await play.night(2).findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE reason = 'refunded'") == 1)
            play.store.update { $0.reverseRefund(of: white.id) }
            // Nobody asks about what is settled: another upload does.
            try await play.upload(payload, by: "another phone", for: white)
            let third = try await play.night(3)
            #expect(third.findings.cases.map(\.key.id.text) == [white.id])
            #expect(try await play.count("iap.moves WHERE kind = 'refund_reversed'") == 1)
            try await expectSound(play)
        }
    }
}
