import Foundation
import PostgreSQL
import TestSupport
import Testing

/// What is wrong outside: each is named with what to do, has its exit code, and changes nothing.
@Suite struct RefusedRunTests {
    @Test func aWrongPasswordIsAMatterOfPermission() async throws {
        let cluster = try await ScratchCluster.dedicated(
            hba: "local all postgres trust\nlocal all all scram-sha-256")
        let admin = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        try await admin.execute("CREATE ROLE nightly LOGIN PASSWORD 'right'")
        admin.close()
        let conninfo = cluster.conninfo(user: "nightly", database: "postgres")
        try await withConfiguration(of: conninfo + " password=recognisably-wrong") { file in
            let ended = try await ChildProcess.run(ProgramNight.program, ["run", "--config", file])
            #expect(ended.status == 77)
            #expect(ended.output == "")
            #expect(ended.errors.contains("password authentication failed"))
            #expect(!ended.errors.contains("recognisably-wrong"))
        }
    }

    /// Another login than the command's own: which it is and where it is named is said by every command alike.
    @Test func aRoleThatMayNotIsToldWhichMay() async throws {
        try await withScratchDatabase { database async throws -> Void in
            try await withConfiguration(of: database.conninfo(as: "iap_finance")) { file in
                let commands = [["run"], ["report"], ["verify"], ["statement", "2026-09"], ["purge"]]
                let others = [
                    (["check", "x"], "iap_support: name its login with “support_conninfo”"),
                    (["history"], "iap_support: name its login with “support_conninfo”"),
                    (["diff", "1", "2"], "iap_support: name its login with “support_conninfo”"),
                    (["erase", "x", "--by", "y"], "iap_privacy: name its login with “privacy_conninfo”"),
                    (["import", "orders", "-"], "iap_import: name its login with “import_conninfo”"),
                ]
                for (command, words) in commands.map({ ($0, "iap_job: name its login with “conninfo”") }) + others {
                    let ended = try await ChildProcess.run(
                        ProgramNight.program, command + ["--config", file],
                        input: "bundle_id,order_id,user_id,product_id\n")
                    #expect(ended.status == 77, "\(command)")
                    #expect(ended.errors.contains("works as role \(words)"), "\(command): \(ended.errors)")
                }
            }
        }
    }

    @Test func whoMayMakeNoTablesIsToldHowToNameTheOwner() async throws {
        try await withScratchDatabase { database async throws -> Void in
            try await withConfiguration(of: database.conninfo(as: "iap_finance")) { file in
                let ended = try await ChildProcess.run(ProgramNight.program, ["migrate", "--config", file])
                #expect(ended.status == 77)
                #expect(ended.errors.contains("name its login with “owner_conninfo”"), "\(ended.errors)")
            }
        }
    }

    @Test func aDatabaseThatIsNotThereIsAMatterOfTheConfiguration() async throws {
        try await withScratchDatabase(empty: true) { database async throws -> Void in
            let conninfo = database.conninfo.replacing(database.name, with: "nodb")
            try await withConfiguration(of: conninfo) { file in
                for command in ["run", "history", "verify", "report"] {
                    let ended = try await ChildProcess.run(ProgramNight.program, [command, "--config", file])
                    #expect(ended.status == 78)
                    #expect(ended.errors.contains("\(file): PostgreSQL 3D000: "), "\(ended.errors)")
                    #expect(ended.errors.contains("database \"nodb\" does not exist. Name another in conninfo"))
                }
            }
        }
    }

    @Test func aDatabaseThatTakesNoConnectionsIsUnavailable() async throws {
        try await withScratchDatabase(empty: true) { database async throws -> Void in
            let admin = try await database.connect()
            try await admin.execute("UPDATE pg_database SET datallowconn = false WHERE datname = \(database.name)")
            admin.close()
            try await withConfiguration(of: database.conninfo) { file in
                let ended = try await ChildProcess.run(ProgramNight.program, ["history", "--config", file])
                #expect(ended.status == 69)
                #expect(ended.errors.contains("PostgreSQL 55000: "), "\(ended.errors)")
            }
        }
    }

    /// PostgreSQL warns of a library's collation while it connects, at each connection.
    @Test func whatTheServerSaysWhileConnectingIsNotWrittenPastTheLog() async throws {
        try await withScratchDatabase { database async throws -> Void in
            let admin = try await database.connect()
            try await admin.execute("UPDATE pg_database SET datcollversion = '1.0' WHERE datname = \(database.name)")
            admin.close()
            try await withConfiguration(of: database.conninfo(as: "iap_job")) { file in
                let ended = try await ChildProcess.run(ProgramNight.program, ["history", "--config", file])
                #expect(!ended.errors.contains("collation"), "\(ended.errors)")
            }
        }
    }

    @Test func aDatabaseWithoutTheSchemaIsToldToMigrate() async throws {
        try await withScratchDatabase(empty: true) { database async throws -> Void in
            try await withConfiguration(of: database.conninfo) { file in
                let ended = try await ChildProcess.run(ProgramNight.program, ["run", "--config", file])
                #expect(ended.status == 78)
                #expect(ended.errors.contains("run “iap-reconcile migrate”"))
                let doctor = try await ChildProcess.run(ProgramNight.program, ["doctor", "--config", file])
                #expect(doctor.status == 78)
                #expect(doctor.output.contains("wrong    schema: "))
            }
        }
    }

    @Test func aSchemaOfANewerProgramIsLeftAlone() async throws {
        try await withProgramNight(customers: 30) { night in
            let admin = try await night.database.connect()
            try await admin.execute(
                "INSERT INTO iap.migrations (number, name, checksum) VALUES (9999, 'later', \(String(repeating: "0", count: 64)))"
            )
            admin.close()
            let before = try await night.fingerprint()
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            #expect(ended.status == 78)
            #expect(ended.errors.contains("newer than this program (migration 9999)"))
            let after = try await night.fingerprint()
            #expect(after == before)
        }
    }

    @Test func aRoleWithoutItsRightsIsToldBeforeAnythingIsDone() async throws {
        try await withProgramNight(customers: 30) { night in
            let admin = try await night.database.connect()
            try await admin.execute("REVOKE EXECUTE ON FUNCTION iap.close_books FROM iap_job")
            try await admin.execute("REVOKE UPDATE ON iap.cases FROM iap_job")
            admin.close()
            let before = try await night.fingerprint()
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            #expect(ended.status == 77)
            #expect(ended.errors.contains("lacks EXECUTE on iap.close_books, UPDATE on iap.cases; run “iap-reconcile "))
            let after = try await night.fingerprint()
            #expect(after == before)
        }
    }

    @Test func doctorLooksAtTheSupportDesksLoginToo() async throws {
        try await withProgramNight(customers: 30) { night in
            let text = try String(contentsOfFile: night.configuration, encoding: .utf8)
            for (role, verdict) in [("iap_support", "fine"), ("iap_app", "wrong")] {
                let login = "support_conninfo = \(night.database.conninfo(as: role))\n[apple]"
                try write(text.replacing("[apple]", with: login), to: night.configuration)
                let doctor = try await ChildProcess.run(
                    ProgramNight.program, ["doctor", "--config", night.configuration])
                #expect(doctor.output.contains(try Regex("\(verdict) +support desk: ")), "\(doctor.output)")
            }
        }
    }

    @Test func aWorldReadableSecretIsRefused() async throws {
        try await withProgramNight(customers: 30) { night in
            let secrets = try FileManager.default.contentsOfDirectory(atPath: night.folder.path(percentEncoded: false))
                .filter { $0.hasPrefix("com.") }
            let secret = night.folder.appending(path: try #require(secrets.first)).path(percentEncoded: false)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: secret)
            let before = try await night.fingerprint()
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            #expect(ended.status == 78)
            #expect(ended.errors.contains(secret))
            let after = try await night.fingerprint()
            #expect(after == before)
        }
    }

    @Test func aReportDirectoryThatCannotBeMadeStopsTheRunBeforeItBegins() async throws {
        try await withProgramNight(customers: 30) { night in
            try write("in the way", to: night.reports)
            let before = try await night.fingerprint()
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            #expect(ended.status == 77)
            #expect(ended.errors.contains("\(night.reports) can't be written to: it is no folder. Create it"))
            let below = try await ChildProcess.run(
                ProgramNight.program, night.run + ["--report-dir", "\(night.reports)/x"])
            #expect(below.status == 77)
            #expect(below.errors.contains("\(night.reports)/x can't be written to: Not a directory. Create it"))
            let after = try await night.fingerprint()
            #expect(after == before)
        }
    }

    @Test func theSecondOfTwoRunsSaysSo() async throws {
        try await withProgramNight(customers: 30) { night in
            let holder = try await night.database.connect()
            defer { holder.close() }
            // The night's lock, as a run on another host would hold it.
            _ = try await holder.query("SELECT pg_advisory_lock(space, 1000) FROM iap.lock_space")
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            #expect(ended.status == 75)
            #expect(ended.errors.contains("Another run holds the night's lock"))
        }
    }

    private func withConfiguration(of conninfo: String, _ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "x.conf").path(percentEncoded: false)
            let reports = folder.appending(path: "reports").path(percentEncoded: false)
            try write(
                "[database]\nconninfo = \(conninfo)\n[report]\ndirectory = \(reports)\n[app com.example.a]\n", to: file,
                mode: 0o600)
            try await body(file)
        }
    }
}
