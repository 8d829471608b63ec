import Job
import AppStoreSimulator
import Foundation
import Importing
import Intake
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// Files that a job of the company's drops into a folder.
@Suite struct SourceFolderTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "drop-\(UUID().uuidString)")

    private func withFolder(_ body: (Play) async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withShop { play, _ in
            var play = play
            play.settings.sources = [
                SourceSettings(name: "orders", kind: .orders, origin: .folder(folder.path(percentEncoded: false)))
            ]
            try await body(play)
        }
    }

    private func drop(_ name: String, _ data: Data, modified: Date) throws {
        let file = folder.appending(path: name)
        try data.write(to: file)
        try FileManager.default.setAttributes(
            [.modificationDate: modified], ofItemAtPath: file.path(percentEncoded: false))
    }

    private func csv(_ orders: [String]) -> Data {
        let lines = orders.map { "\(Play.bundleID),\($0),anna,gems.60\n" }
        return Data(("bundle_id,order_id,user_id,product_id\n" + lines.joined()).utf8)
    }

    @Test func filesOfEachFormAreTakenOnce() async throws {
        try await withFolder { play in
            try drop("a.csv", csv(["o-1", "o-2"]), modified: play.began - 60)
            try drop("b.csv.gz", try gzip(csv(["o-3"])), modified: play.began - 50)
            let line = #"{"bundle_id":"com.example.game","order_id":"o-4","user_id":"bo","product_id":"gems.60"}"#
            try drop("c b%20.jsonl", Data(line.utf8), modified: play.began - 40)
            try drop(".d.csv", csv(["o-5"]), modified: play.began)
            try drop("e.csv.part", csv(["o-6"]), modified: play.began)
            let first = try await play.night().report.sources[0]
            #expect(first.taken == 4)
            #expect(first.problem == nil)
            #expect(try await play.count("iap.orders") == 4)
            let second = try await play.night(2).report.sources[0]
            #expect(second.taken + second.alreadyThere == 0)
            // What was still being written is read again once it grew.
            try drop("a.csv", csv(["o-1", "o-2", "o-7"]), modified: play.began)
            let third = try await play.night(3).report.sources[0]
            #expect(third.taken == 1)
            #expect(third.alreadyThere == 2)
        }
    }

    /// Cut within its last field, a line looks whole, and would name another order for ever.
    @Test func aLastLineThatIsStillBeingWrittenIsNotTaken() async throws {
        try await withFolder { play in
            let header = "bundle_id,product_id,user_id,order_id\n"
            let line = "\(Play.bundleID),gems.60,anna,order-7"
            try drop("a.csv", Data((header + line).utf8), modified: Date())
            // What follows is not told yet, so the source has not told everything.
            let quoted = "\"\(Play.bundleID)\",\"gems.60\",\"anna\",\"order-9"
            try drop("c.csv", Data((header + quoted).utf8), modified: Date())
            let json = #"{"bundle_id":"com.example.game","product_id":"gems.60","user_id":"anna","order_id":"order-10"#
            try drop("d.jsonl", Data(json.utf8), modified: Date())
            let growing = try await play.night().report.sources[0]
            #expect(
                growing.problem
                    == ["a.csv", "c.csv", "d.jsonl"].map {
                        "\($0) can't be read: it is still being written: its last line has no end"
                    }.joined(separator: "; "))
            #expect(growing.taken == 0 && growing.refused == 0)
            try drop("a.csv", Data((header + line + "8\n").utf8), modified: Date())
            try drop("b.csv", Data((header + line).utf8), modified: Date() - 3600)
            try drop("c.csv", Data((header + quoted + "\"\n").utf8), modified: Date())
            try drop("d.jsonl", Data((json + "\"}").utf8), modified: Date())
            let whole = try await play.night(2).report.sources[0]
            #expect(whole.problem == nil)
            #expect(whole.taken == 4)
            #expect(try await play.count("iap.orders WHERE order_id IN ('order-7', 'order-78')") == 2)
        }
    }

    /// As one that is too great for a column, which no rule here foresaw.
    @Test func aValueThatPostgreSQLRefusesKeepsNoOtherRowBack() async throws {
        try await withFolder { play in
            try await play.administer("ALTER TABLE iap.orders ADD CHECK (order_id <> 'o-2')")
            try drop("a.csv", csv(["o-1", "o-2", "o-3"]), modified: play.began - 60)
            let night = try await play.night()
            #expect(night.report.outcome == .complete)
            let source = night.report.sources[0]
            #expect(source.taken == 2 && source.refused == 1 && source.problem == nil)
            #expect(source.refusedRows.map(\.id) == ["a.csv:3"])
            #expect(source.refusedRows.first?.text.contains("23514") == true)
            #expect(source.refusedRows.first?.what.hasPrefix("o-2: ") == true)
            #expect(try await play.count("iap.orders") == 2)
        }
    }

    @Test func whatIsPassedOverIsNamed() async throws {
        try await withFolder { play in
            try drop("A.CSV", csv(["o-1"]), modified: play.began - 60)
            try drop("B.Csv.GZ", try gzip(csv(["o-2"])), modified: play.began - 50)
            let line = #"{"bundle_id":"com.example.game","order_id":"o-3","user_id":"bo","product_id":"gems.60"}"#
            try drop("C.JSONL", Data(line.utf8), modified: play.began - 40)
            try drop("D.TXT", csv(["o-4"]), modified: play.began)
            for hidden in [".e.csv", "f.csv.PART", "g.tmp"] { try drop(hidden, csv(["o-5"]), modified: play.began) }
            try FileManager.default.createDirectory(
                at: folder.appending(path: "taken"), withIntermediateDirectories: true)
            #expect(mkfifo(folder.appending(path: "h.csv").path(percentEncoded: false), 0o600) == 0)
            try FileManager.default.createSymbolicLink(
                atPath: folder.appending(path: "i.csv").path(percentEncoded: false), withDestinationPath: "nowhere")
            // By which one who may not read it would have the job tell what it holds.
            try FileManager.default.createSymbolicLink(
                atPath: folder.appending(path: "j.csv").path(percentEncoded: false),
                withDestinationPath: folder.appending(path: "A.CSV").path(percentEncoded: false))
            let listing = try Pull.listing(of: folder.path(percentEncoded: false))
            #expect(listing.passedOver == ["D.TXT", "h.csv", "i.csv", "j.csv"])
            #expect(listing.warning?.hasPrefix("files passed over: 4, such as D.TXT, h.csv, i.csv, j.csv; ") == true)
            let link = folder.appending(path: "j.csv").path(percentEncoded: false)
            #expect(throws: ImportError.self) { try FileSource(link, followsLinks: false, isStopped: { false }) }
            #expect(try await play.night().report.sources[0].taken == 3)
        }
    }

    /// Who calls a file so learns that what it holds is missing.
    @Test func aNameThatIsNoTextEndsTheNightEarly() async throws {
        try await withFolder { play in
            try drop("a.csv", csv(["o-1"]), modified: play.began - 60)
            var path = Array(folder.appending(path: "b").path(percentEncoded: false).utf8CString.dropLast())
            path += [CChar(bitPattern: 0xFF)] + Array(".csv".utf8CString)
            let file = open(path, O_CREAT | O_WRONLY, 0o600)
            #expect(file >= 0)
            close(file)
            let report = try await play.night().report
            let source = report.sources[0]
            #expect(source.taken == 1)
            #expect(source.problem?.hasSuffix(".csv can't be read: its name is not UTF-8; rename it") == true)
            guard case .endedEarly = report.outcome else { return #expect(Bool(false), "it is complete") }
        }
    }

    @Test func aFileThatIsDamagedKeepsNoOtherBack() async throws {
        try await withFolder { play in
            try drop("a.csv.gz", try gzip(csv(["o-1"])).dropLast(9), modified: play.began - 60)
            try drop("b.csv", Data("bundle_id,colour\n".utf8), modified: play.began - 50)
            let lines = "com.unknown,o-3,anna,gems.60\ncom.example.game,,anna,gems.60\n"
            try drop("c.csv", csv(["o-2"]) + Data(lines.utf8), modified: play.began - 40)
            let night = try await play.night()
            let source = night.report.sources[0]
            let problem = try #require(source.problem)
            #expect(problem.contains("a.csv.gz is damaged"))
            #expect(problem.contains("b.csv: orders have no column “colour”"), "\(problem)")
            #expect(source.refusedRows.map(\.id).sorted() == ["c.csv:4", "com.unknown"])
            #expect(try await play.count("iap.orders WHERE order_id = 'o-2'") == 1)
            try drop("a.csv.gz", try gzip(csv(["o-1"])), modified: play.began - 30)
            try drop("b.csv", csv(["o-8"]), modified: play.began - 30)
            try drop("c.csv", csv(["o-2"]), modified: play.began - 20)
            let mended = try await play.night(2).report.sources[0]
            #expect(mended.problem == nil)
            #expect(mended.taken == 2)
            #expect(mended.refusedRows.map(\.id) == ["com.unknown"])
        }
    }

    /// What it told before would otherwise never come: the file was taken, and the watermark lies behind its rows.
    @Test func whatAnUnknownAppToldComesOnceItHasItsSection() async throws {
        try await withFolder { play in
            let lines = "com.example.other,o-2,anna,gems.60\ncom.example.other,o-3,anna,gems.60\n"
            try drop("a.csv", csv(["o-1"]) + Data(lines.utf8), modified: play.began - 60)
            let unknown = try await play.night().report.sources[0]
            #expect(unknown.taken == 1)
            #expect(unknown.refusedRows.map(\.id) == ["com.example.other"])
            var play = play
            try play.addForeignApp()
            let known = try await play.night(2).report.sources[0]
            #expect(known.taken == 2)
            #expect(known.alreadyThere == 1)
            #expect(known.refusedRows.isEmpty)
            #expect(try await play.count("iap.orders WHERE bundle_id = 'com.example.other'") == 2)
            let after = try await play.night(3).report.sources[0]
            #expect(after.taken + after.alreadyThere == 0)
        }
    }

    @Test func aFolderThatIsNotThereIsToldOf() async throws {
        try await withFolder { play in
            var play = play
            play.settings.sources[0].origin = .folder("/nowhere/at/all")
            let problem = try #require(try await play.night().report.sources[0].problem)
            #expect(problem.contains("/nowhere/at/all can't be read"))
        }
    }

    /// A delivery that can't be read was made all the same, and its purchase is not delivered once more: not when the row is
    /// old either, and the purchase found only now.
    @Test func whatALineThatCantBeReadTellsOfIsNotRedelivered() async throws {
        try await withFolder { play in
            var play = play
            play.settings.apps[0].app.redelivery = .high
            play.settings.sources[0] = SourceSettings(
                name: "delivered", kind: .delivered, origin: .folder(folder.path(percentEncoded: false)))
            let ids = (1...7).map { "200000000000000\($0)" }
            let bought = ids.map { play.buy($0, account: "of-\($0)") }
            let end = "gems.60,2026-09-01T00:00:00Z,2026-09-01T00:00:00Z"
            let csv = """
                bundle_id,transaction_id,product_id,purchased_at,delivered_at
                \(Play.bundleID),\(ids[0]),\(end),one more
                \(Play.bundleID),\(ids[1]),gems.60
                \(Play.bundleID),\(ids[2])  ,\(end)
                \(Play.bundleID),\(ids[6]),gems.60,yesterday,yesterday
                \(Play.bundleID),\(ids[5]),"\(end)

                """
            let json = """
                {"bundle_id":"\(Play.bundleID)","transaction_id":"\(ids[3])","transaction_id":"0"}
                {"bundle_id":"\(Play.bundleID)","transaction_id":"\(ids[4])","product_

                """
            try drop("a.csv", Data(csv.utf8), modified: play.began - 60)
            try drop("b.jsonl", Data(json.utf8), modified: play.began - 50)
            let lost = play.buy("2000000000000009", account: "of-2000000000000009")
            func upload(_ one: SimulatedTransaction) async throws {
                try await play.upload(play.receipt([one], account: "of-\(one.id)"), by: "u-\(one.id)", for: one)
            }
            for one in bought.dropLast() + [lost] { try await upload(one) }
            _ = try await play.night()
            #expect(try await play.night(2).report.sources[0].refusedLately == 7)
            let redelivered: SQL = "SELECT string_agg(transaction_id, ' ') FROM iap.redeliveries"
            #expect(try await play.text(redelivered) == lost.id)

            _ = try await play.night(40)
            #expect(try await play.text(redelivered) == lost.id)
            let late = bought[6]
            try await upload(late)
            for day in [41, 50] { _ = try await play.night(day) }
            #expect(try await play.count("iap.cases WHERE transaction_id = \(late.id) AND likelihood = 'high'") == 1)
            #expect(try await play.text(redelivered) == lost.id)
        }
    }

    private func gzip(_ data: Data) throws -> Data { Data(try Gzip.compressed(Array(data))) }
}
