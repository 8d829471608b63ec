import Foundation
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
}
