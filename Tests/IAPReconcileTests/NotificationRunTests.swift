import Foundation
import PostgreSQL
import TestSupport
import Testing

/// Whom the program tells of its runs, and that telling never changes how they end.
@Suite struct NotificationRunTests {
    @Test func everybodyIsToldOfARunThatEndsWell() async throws {
        try await withProgramNight(customers: 60) { night in
            try await TestServer.with({ _, connection in connection.respond() }) { server in
                try await night.tellEverybody(server.url)
                let ended = try await ChildProcess.run(ProgramNight.program, night.run)
                #expect(ended.status == 0, "\(ended.errors)")
                #expect(ended.output.hasSuffix("\ntold                metrics, ping, webhook, mail\n"))
                #expect(server.log.map(\.path).sorted() == ["/hook", "/start", "/success"])
                #expect(server.log.first?.path == "/start")

                let hook = try #require(server.log.first { $0.path == "/hook" })
                let document = try object(hook.body)
                let figures = try object(Data(contentsOf: URL(filePath: night.reports + "/latest/figures.json")))
                let (run, told) = (document["run"] as? [String: Any], document["figures"] as? [String: Any])
                #expect(run?["run_id"] as? Int == figures["run_id"] as? Int)
                #expect(told?["cases"] as? Int == figures["cases"] as? Int)
                #expect(told?["money"] as? [String: Int] == figures["money"] as? [String: Int])
                let page = try #require((document["report"] as? [String: Any])?["url"] as? String)
                #expect(page.hasPrefix("https://reports.example.com/2026-09-21-run-"))

                let mail = try night.text("mail")
                #expect(mail.contains("Subject: iap-reconcile: "))
                #expect(mail.contains("filename=\"index.html\"") && mail.contains("filename=\"lost-orders.xlsx\""))
                #expect(try night.text("iap.prom").contains("iap_reconcile_last_exit_code 0\n"))
            }
        }
    }

    @Test func whoCannotBeToldIsNamedAndTheRunEndsAsItWould() async throws {
        try await withProgramNight(customers: 60) { night in
            try await TestServer.with({ _, connection in connection.respond(500) }) { server in
                try await night.tellEverybody(server.url + "/T0KEN", sendmail: "exit 69")
                try FileManager.default.createDirectory(
                    atPath: night.folder.appending(path: "iap.prom").path(), withIntermediateDirectories: true)
                let ended = try await ChildProcess.run(ProgramNight.program, night.run)
                #expect(ended.status == 0)
                for part in ["metrics: ", "ping at the start: ", "ping: ", "webhook: ", "mail: "] {
                    #expect(ended.output.contains("\nnot told            \(part)"), "\(ended.output)")
                }
                #expect(ended.errors.contains("warning webhook: not told: 127.0.0.1 answers with status 500"))
                #expect(!ended.output.contains("\ntold "))
                for secret in ["T0KEN", ProgramNight.webhookSecret] {
                    #expect(!(ended.output + ended.errors).contains(secret))
                }
                let state = try await states(night)
                #expect(state == ["complete"])
            }
        }
    }

    /// As where a supervisor ignores that its children end, and has its own child ignore it, too.
    @Test func aMailThatFailsIsSaidToWhereTheEndOfChildrenIsIgnored() async throws {
        try await withProgramNight(customers: 30) { night in
            try await TestServer.with({ _, connection in connection.respond() }) { server in
                try await night.tellEverybody(server.url, sendmail: "exit 75")
                let ended = try await ChildProcess.run(
                    "/usr/bin/env", ["--ignore-signal=CHLD", ProgramNight.program] + night.run)
                #expect(ended.status == 0)
                #expect(ended.output.contains("\nnot told            mail: "), "\(ended.output)")
            }
        }
    }

    @Test func aDryRunTellsNobody() async throws {
        try await withProgramNight(customers: 30) { night in
            try await TestServer.with({ _, connection in connection.respond() }) { server in
                try await night.tellEverybody(server.url)
                let ended = try await ChildProcess.run(ProgramNight.program, night.run + ["--dry-run"])
                #expect(ended.status == 0)
                #expect(ended.errors.contains("run begins") && !ended.errors.contains("run="))
                #expect(!ended.output.contains("told  ") && server.received.count == 0)
                #expect(!night.exists("mail") && !night.exists("iap.prom"))
            }
        }
    }

    private static let signed: SQL = "SELECT receipt_id FROM iap.receipts WHERE payload LIKE '%.%.%'"

    @Test func aRunThatFailsIsToldWithItsCode() async throws {
        try await withProgramNight(customers: 30) { night in
            try await TestServer.with({ _, connection in connection.respond() }) { server in
                try await night.tellEverybody(server.url)
                // Signed transactions prove themselves, whether Apple answers or not.
                let owner = try await night.database.connect()
                defer { owner.close() }
                try await owner.execute("DELETE FROM iap.uploads WHERE receipt_id IN (\(Self.signed))")
                try await owner.execute("DELETE FROM iap.receipts WHERE receipt_id IN (\(Self.signed))")
                let configuration = try String(contentsOfFile: night.configuration, encoding: .utf8)
                let broken: [(Int32, (String) -> String)] = [
                    (69, { $0.replacing(/(verify_receipt_\w+ = http:\/\/127.0.0.1):\d+/) { "\($0.1):1" } }),
                    (69, { $0.replacing(/conninfo = .*/, with: "conninfo = host=/nonexistent") }),
                    (77, { $0.replacing("directory = ", with: "directory = /proc/none") }),
                    (78, { $0.replacing(/\[app [^\[]*/, with: "") }),
                ]
                for (code, breaking) in broken {
                    try write(breaking(configuration), to: night.configuration)
                    let ended = try await ChildProcess.run(ProgramNight.program, night.run)
                    #expect(ended.status == code, "\(ended.errors)")
                    #expect(server.log.suffix(2).map(\.path).contains("/failure/\(code)"))
                    let hook = try #require(server.log.last { $0.path == "/hook" })
                    #expect(String(decoding: hook.body, as: UTF8.self).contains("\"exit_code\":\(code),"))
                    #expect(try night.text("mail").contains("(exit code \(code))"))
                    #expect(try night.text("iap.prom").contains("iap_reconcile_last_exit_code \(code)\n"))
                }
                #expect(try night.text("iap.prom").contains("iap_reconcile_runs_total{exit_code=\"69\"} 2\n"))
            }
        }
    }

    /// As where a secret was renewed by root, and the job's user can't read it: cron's mail may go to nobody.
    @Test(arguments: ["app", "webhook"])
    func aSecretThatCannotBeReadIsToldOf(_ whose: String) async throws {
        try await withProgramNight(customers: 30) { night in
            try await TestServer.with({ _, connection in connection.respond() }) { server in
                try await night.tellEverybody(server.url)
                let path = night.folder.appending(path: "renewed.secret").path(percentEncoded: false)
                try write("secret", to: path, mode: 0o644)
                let told = try String(contentsOfFile: night.configuration, encoding: .utf8)
                let broken =
                    whose == "app"
                    ? told + "[app com.example.renewed]\nshared_secret_file = \(path)\n"
                    : told.replacing(/secret_file = .*webhook.secret/, with: "secret_file = \(path)")
                try write(broken, to: night.configuration)

                let ended = try await ChildProcess.run(ProgramNight.program, night.run)
                #expect(ended.status == 78 && ended.errors.contains("may be read by others"), "\(ended.errors)")
                let hooks = whose == "app" ? ["/hook"] : []
                #expect(server.log.map(\.path).sorted() == ["/failure/78"] + hooks + ["/start"])
                #expect(try night.text("mail").contains("(exit code 78)"))
                #expect(try night.text("iap.prom").contains("iap_reconcile_last_exit_code 78\n"))
                #expect(try await states(night).isEmpty)
            }
        }
    }

    @Test func aRunBesideAnotherIsToldAsEndedEarly() async throws {
        try await withProgramNight(customers: 30) { night in
            try await TestServer.with({ _, connection in connection.respond() }) { server in
                try await night.tellEverybody(server.url)
                let holder = try await night.database.connect()
                defer { holder.close() }
                _ = try await holder.query("SELECT pg_advisory_lock(space, 1000) FROM iap.lock_space")
                let ended = try await ChildProcess.run(ProgramNight.program, night.run)
                #expect(ended.status == 75)
                #expect(server.log.contains { $0.path == "/failure/75" })
                let hook = try #require(server.log.first { $0.path == "/hook" })
                #expect(String(decoding: hook.body, as: UTF8.self).contains(#""outcome":"ended_early""#))
            }
        }
    }

    @Test func theDoctorLooksWithoutTelling() async throws {
        try await withProgramNight(customers: 30) { night in
            try await TestServer.with({ _, connection in connection.respond() }) { server in
                try await night.tellEverybody(server.url)
                let well = try await ChildProcess.run(
                    ProgramNight.program, ["doctor", "--config", night.configuration])
                for line in [
                    "fine     webhook: ", "fine     mail: goes to ops@", "fine     ping: ", "fine     metrics: ",
                ] {
                    #expect(well.output.contains(line), "\(well.output)")
                }
                #expect(server.received.count == 0 && !night.exists("mail"))

                let test = try await ChildProcess.run(
                    ProgramNight.program, ["doctor", "--tell", "--config", night.configuration])
                #expect(
                    test.output.contains("fine     test by webhook: ")
                        && test.output.contains("fine     test by mail: "))
                #expect(server.log.map(\.path) == ["/hook"] && !night.exists("iap.prom"))
                #expect(try night.text("mail").contains("Subject: iap-reconcile: a test, no run took place\n"))

                let broken = try String(contentsOfFile: night.configuration, encoding: .utf8)
                    .replacing(/sendmail = .*/, with: "sendmail = /nonexistent/sendmail")
                    .replacing(/file = .*\.prom/, with: "file = /nonexistent/iap.prom")
                try write(broken, to: night.configuration)
                let ill = try await ChildProcess.run(
                    ProgramNight.program, ["doctor", "--tell", "--config", night.configuration])
                #expect(ill.status == 78)
                #expect(ill.output.contains("wrong    mail: /nonexistent/sendmail is no program"))
                #expect(ill.output.contains("wrong    metrics: /nonexistent/ is not there or not writable"))
                #expect(ill.output.contains("wrong    test by mail: /nonexistent/sendmail can't be started"))
            }
        }
    }

    private func object(_ json: Data) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    }

    private func states(_ night: ProgramNight) async throws -> [String] {
        let connection = try await night.database.connect()
        defer { connection.close() }
        return try await connection.query("SELECT state FROM iap.runs ORDER BY run_id")
            .map { try $0.decode("state", as: String.self) }
    }
}
