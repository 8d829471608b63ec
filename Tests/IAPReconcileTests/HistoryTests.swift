import Foundation
import PostgreSQL
import TestSupport
import Testing

/// The commands `history` and `diff`, after two nights between which something happened.
@Suite struct HistoryTests {
    private func run(_ night: ProgramNight, _ arguments: String...) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(ProgramNight.program, arguments + ["--config", night.configuration])
    }

    private func openCases(_ night: ProgramNight) async throws -> [String] {
        let connection = try await night.database.connect()
        defer { connection.close() }
        return try await connection.query(
            """
            SELECT transaction_id FROM iap.cases
            WHERE state = 'open' AND environment = 'Production'
            ORDER BY 1
            """
        ).map { try $0.decode("transaction_id") }
    }

    private func json(_ ended: ChildProcess.Ended) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(ended.output.utf8)) as? [String: Any])
    }

    @Test func whatHappenedBetweenTwoNightsIsTold() async throws {
        try await withProgramNight(customers: 60) { night in
            let none = try await run(night, "history")
            #expect(none.status == 0 && none.output == "No run yet.\n")
            let first = try await ChildProcess.run(ProgramNight.program, night.run)
            try #require(first.status == 0, "\(first.errors)")
            let cases = try await openCases(night)
            let (resolved, judged) = (try #require(cases.first), try #require(cases.last))
            try #require(cases.count > 2)
            // As if the first night had known less.
            let connection = try await night.database.connect()
            defer { connection.close() }
            _ = try await connection.query("SELECT iap.resolve(\(resolved), 'dismissed', 'sue', 'ticket 1')")
            try await connection.execute(
                """
                UPDATE iap.events SET details = details || '{"likelihood": "low", "reasons": ["rode_along"]}'
                WHERE kind = 'case_opened' AND transaction_id = \(judged)
                """)
            try await connection.execute(
                """
                UPDATE iap.cases SET likelihood = 'low', reasons = '{rode_along}' WHERE transaction_id = \(judged)
                """)
            let second = try await ChildProcess.run(ProgramNight.program, night.run)
            try #require(second.status == 0, "\(second.errors)")

            let table = try await run(night, "history")
            let lines = table.output.split(separator: "\n")
            #expect(table.status == 0 && lines.count == 4, "\(table.output)")
            #expect(lines[2].hasPrefix("  1  ") && lines[3].hasPrefix("  2  ") && lines[3].contains("  0  "))
            let runs = try #require(try json(try await run(night, "history", "--json"))["runs"] as? [[String: Any]])
            #expect(runs.map { $0["state"] as? String } == ["complete", "complete"])
            #expect(runs.last?["closed"] as? [String: Int] == ["dismissed": 1])

            let told = try await run(night, "diff", "1", "2")
            #expect(told.output.contains(": 0 opened, 1 closed, 1 judged otherwise."), "\(told.output)\(told.errors)")
            #expect(told.output.contains("\nClosed\n") && told.output.contains("resolved by sue "), "\(told.output)")
            #expect(told.output.contains("low → ") && told.output.contains("no longer: rode along"))
            let difference = try json(try await run(night, "diff", "1", "2", "--json"))
            let closed = try #require((difference["closed"] as? [[String: Any]])?.first)
            #expect(closed["transaction_id"] as? String == resolved && closed["by"] as? String == "sue")

            let unknown = try await run(night, "diff", "1", "7")
            #expect(unknown.status == 65 && unknown.errors.contains("iap-reconcile history"))
            for wrong in [["diff", "2", "1"], ["diff", "1"], ["diff", "1", "x"], ["history", "--days", "0"]] {
                let ended = try await ChildProcess.run(ProgramNight.program, wrong + ["--config", night.configuration])
                #expect(ended.status == 64, "\(wrong)")
            }
        }
    }
}
