import AppStoreSimulator
import SimulatedWorld
import Foundation
import PostgreSQL
import TestSupport
import Testing

/// What is secret is planted so that it can be recognised, and then looked for wherever the program writes.
@Suite struct SecretsStayTests {
    private static let password = "recognisable-password-5d1c"

    @Test func noSecretIsInAnyLogReportTableOrProcessList() async throws {
        let latency = try Latency(median: 0.02, percentile99: 0.05)
        try await withProgramNight(customers: 85, latency: latency) { night in
            let secrets = World.storeApps(seed: 7).compactMap(\.sharedSecret) + [Self.password]
            try #require(secrets.count > 1)
            try hide(Self.password, in: night.configuration)

            var said: [String: String] = [:]
            let run = night.run + ["--verbose", "--log-format", "json"]
            let ended = try await ChildProcess.with(ProgramNight.program, run) { child in
                try await child.waitFor("run begins")
                said["the process list"] = try proc("cmdline", of: child)
                said["the limits"] = try proc("limits", of: child)
                return await child.waitUntilEnded()
            }
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(said["the limits"]?.contains(/Max core file size +0 +0/) == true)
            said["the run"] = ended.output + ended.errors

            // Where the secrets are refused, or the store and the database are not there.
            for (name, change) in [
                ("a refused secret", { $0.replacing("/production/verifyReceipt", with: "/nowhere") }),
                ("no store", { $0.replacing(/127\.0\.0\.1:[0-9]+/, with: "127.0.0.1:9") }),
                ("no database", { $0.replacing("host=", with: "host=/nowhere") }),
            ] as [(String, (String) -> String)] {
                let text = try String(contentsOfFile: night.configuration, encoding: .utf8)
                try write(change(text), to: night.configuration)
                for command in [["run"], ["doctor"], ["report"], ["check", "1"], ["verify"]] {
                    let ended = try await ChildProcess.run(
                        ProgramNight.program, command + ["--config", night.configuration, "--verbose"])
                    said["\(name), \(command[0])"] = ended.output + ended.errors
                }
                try write(text, to: night.configuration)
            }
            for file in try FileManager.default.subpathsOfDirectory(atPath: night.reports) {
                said[file] = try? String(
                    decoding: Data(contentsOf: URL(filePath: night.reports + "/" + file)), as: UTF8.self)
            }
            for (table, content) in try await tables(night.database) { said[table] = content }

            for (place, text) in said {
                for secret in secrets { #expect(!text.contains(secret), "\(place)") }
            }
            #expect(said.count > 30)
        }
    }

    /// A file is for the group that reads reports; what others may do depends on nothing.
    @Test func reportsAreForTheirGroupAlone() async throws {
        try await withProgramNight(customers: 30) { night in
            try await ChildProcess.runSuccessfully(
                "/bin/sh", ["-c", "umask 000; exec \"$0\" \"$@\"", ProgramNight.program] + night.run)
            let run = try #require(
                try FileManager.default.contentsOfDirectory(atPath: night.reports).first { $0.contains("-run-") })
            for file in ["", "/index.html", "/lost-orders.csv", "/lost-orders.xlsx", "/report.json", "/summary.txt"] {
                let path = "\(night.reports)/\(run)\(file)"
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == (file.isEmpty ? 0o750 : 0o640), "\(path)")
            }
        }
    }

    /// Adds a password to the configuration's database.
    private func hide(_ password: String, in file: String) throws {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("conninfo = ") ? line + " password=\(password)" : line
        }
        try write(lines.joined(separator: "\n"), to: file, mode: 0o600)
    }

    private func proc(_ name: String, of child: ChildProcess) throws -> String {
        try String(contentsOfFile: "/proc/\(child.processIdentifier)/\(name)", encoding: .utf8)
    }

    /// Every table of every schema of ours, as text.
    private func tables(_ database: ScratchDatabase) async throws -> [String: String] {
        let connection = try await database.connect()
        defer { connection.close() }
        let names = try await connection.query(
            """
            SELECT format('%I.%I', schemaname, tablename) AS name
            FROM pg_tables
            WHERE schemaname IN ('iap', 'audit', 'finance')
            """
        ).map { try $0.decode("name", as: String.self) }
        var contents: [String: String] = [:]
        for name in names {
            let rows = try await connection.query("SELECT content::text AS content FROM \(unsafe: name) AS content")
            contents[name] = try rows.map { try $0.decode("content", as: String.self) }.joined(separator: "\n")
        }
        return contents
    }
}
