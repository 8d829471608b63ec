import Foundation
import PostgreSQL
import TestSupport
import Testing

/// The command `report`: what was written once is not spoilt by writing it again.
@Suite struct ReportAgainTests {
    @Test func onlyTheLatestIsWrittenAgain() async throws {
        try await withProgramNight(customers: 30) { night in
            let program = ProgramNight.program
            #expect(try await ChildProcess.run(program, night.run).status == 0)
            let later = (ProgramNight.now + 86_400).formatted(.iso8601)
            let second = night.run.map { $0 == ProgramNight.now.formatted(.iso8601) ? later : $0 }
            #expect(try await ChildProcess.run(program, second).status == 0)
            let latest = night.reports + "/latest"
            let shown = try FileManager.default.destinationOfSymbolicLink(atPath: latest)
            #expect(shown.hasSuffix("-run-2"))

            let first = try #require(
                try FileManager.default.contentsOfDirectory(atPath: night.reports).first { $0.hasSuffix("-run-1") })
            let page = "\(night.reports)/\(first)/report.json"
            let before = try Data(contentsOf: URL(filePath: page))
            let refused = try await ChildProcess.run(
                program, ["report", "--run", "1", "--config", night.configuration])
            #expect(refused.status == 65)
            #expect(refused.errors.contains("is run 2, and only its report can be written again"), "\(refused.errors)")
            #expect(try Data(contentsOf: URL(filePath: page)) == before)
            let unknown = try await ChildProcess.run(
                program, ["report", "--run", "3", "--config", night.configuration])
            #expect(unknown.status == 65)
            #expect(unknown.errors.contains("again: no run 3 has closed any."), "\(unknown.errors)")

            let again = try await ChildProcess.run(program, ["report", "--run", "2", "--config", night.configuration])
            #expect(again.status == 0, "\(again.errors)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: latest) == shown)
            // A later run ended while the report was being written.
            try FileManager.default.removeItem(atPath: latest)
            let third = shown.dropLast() + "10"
            try FileManager.default.createSymbolicLink(atPath: latest, withDestinationPath: String(third))
            #expect(try await ChildProcess.run(program, ["report", "--config", night.configuration]).status == 0)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: latest) == String(third))
        }
    }

    /// The mails that people kept hold the link: the night's own files must not be the ones that lost it.
    @Test func whatIsWrittenAgainKeepsTheEndOfTheTrail() async throws {
        try await withProgramNight(customers: 30) { night in
            #expect(try await ChildProcess.run(ProgramNight.program, night.run).status == 0)
            let before = try trail(night)
            #expect(before.line.contains("its end \(before.end)") && before.end.count == 64)
            try await reportAgain(night)
            #expect(try trail(night) == before)
        }
    }

    /// What the support desk closed since is neither listed nor counted.
    @Test func whatIsWrittenAgainCountsWhatItLists() async throws {
        try await withProgramNight(customers: 60) { night in
            #expect(try await ChildProcess.run(ProgramNight.program, night.run).status == 0)
            let before = try figures(night)
            #expect(before.counted > 1 && before.counted == before.listed)
            let connection = try await night.database.connect()
            defer { connection.close() }
            _ = try await connection.query(
                """
                SELECT iap.resolve(transaction_id, 'dismissed', 'sue', 'a test')
                FROM (SELECT transaction_id FROM iap.cases WHERE state = 'open' ORDER BY 1 LIMIT 1) AS chosen
                """)
            try await reportAgain(night)
            let after = try figures(night)
            #expect(after.counted == before.counted - 1 && after.listed == after.counted)
            let summary = try text(night, "summary.txt")
            #expect(summary.contains("likely lost orders  \(after.counted) ("), "\(summary)")
        }
    }

    /// Who took a case since the run is on it, and who took one more than a day ago is not any more.
    @Test func whatIsWrittenAgainSaysWhoIsOnACaseNow() async throws {
        try await withProgramNight(customers: 60) { night in
            #expect(try await ChildProcess.run(ProgramNight.program, night.run).status == 0)
            let connection = try await night.database.connect()
            defer { connection.close() }
            _ = try await connection.query(
                """
                SELECT taken.outcome
                FROM (SELECT transaction_id FROM iap.cases WHERE state = 'open' ORDER BY 1 LIMIT 2) AS chosen,
                    iap.take(chosen.transaction_id, 'sue on ' || chosen.transaction_id) AS taken
                """)
            _ = try await connection.query(
                """
                UPDATE iap.case_takings SET taken_at = now() - interval '25 hours'
                WHERE transaction_id = (SELECT max(transaction_id) FROM iap.case_takings)
                """)
            try await reportAgain(night)
            let cases = try text(night, "report.json")
            #expect(cases.matches(of: /"by":"sue on [0-9]+"/).count == 1)
        }
    }

    private func reportAgain(_ night: ProgramNight) async throws {
        let again = try await ChildProcess.run(ProgramNight.program, ["report", "--config", night.configuration])
        #expect(again.status == 0, "\(again.errors)")
    }

    private func trail(_ night: ProgramNight) throws -> (line: String, end: String) {
        let lines = try text(night, "summary.txt").split(separator: "\n")
        let report = try JSONDecoder().decode(Report.self, from: Data(text(night, "report.json").utf8))
        return (lines.first { $0.hasPrefix("trail ") }.map(String.init) ?? "", report.run.trail_end ?? "")
    }

    private func figures(_ night: ProgramNight) throws -> (counted: Int, listed: Int) {
        let report = try JSONDecoder().decode(Report.self, from: Data(text(night, "report.json").utf8))
        let figures = try JSONDecoder().decode(Figures.self, from: Data(text(night, "figures.json").utf8))
        return (figures.cases, report.cases.count)
    }

    private func text(_ night: ProgramNight, _ file: String) throws -> String {
        try String(contentsOfFile: "\(night.reports)/latest/\(file)", encoding: .utf8)
    }

    private struct Report: Decodable {
        struct Run: Decodable { let trail_end: String? }
        struct Case: Decodable {}
        let run: Run
        let cases: [Case]
    }

    private struct Figures: Decodable { let cases: Int }
}
