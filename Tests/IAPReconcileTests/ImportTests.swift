import Foundation
import PostgreSQL
import TestSupport
import Testing

/// The command `import`, as a person who sets the job up uses it.
@Suite struct ImportTests {
    private var program: String { ProgramNight.program }

    @Test(
        arguments: [
            (["import"], 64, "what to import is missing: receipts, orders, delivered, entitlements, products"),
            (["import", "order", "x"], 64, "did you mean “orders”?"),
            (["import", "orders"], 64, "a file to import is missing; - is standard input"),
            (["import", "orders", "x", "y"], 64, "unexpected argument “y”"),
            (["import", "orders", "x", "--format", "xml"], 64, "--format is csv or jsonl, not “xml”"),
            (["import", "orders", "x", "--limit", "3"], 64, "--limit is no option of “import”"),
        ] as [([String], Int32, String)])
    func badInputIsNamed(arguments: [String], status: Int32, message: String) async throws {
        let ended = try await ChildProcess.run(program, arguments)
        #expect(ended.status == status)
        #expect(ended.output == "")
        #expect(ended.errors.contains(message))
    }

    @Test(
        arguments: [
            ("", "- is empty: a CSV file begins with a header that names its columns"),
            ("order_idd\n", "orders have no column “order_idd”; did you mean “order_id”?"),
            ("xyzzy_plugh\n", "orders have no column “xyzzy_plugh”; they may have app_account_token, bundle_id"),
            ("order_id,order_id\n", "the column “order_id” is there twice"),
            ("order_id,user_id,bundle_id\n", "orders need the column product_id"),
            ("order_id;user_id\n", "the header of - has “;” between its columns; save it with commas"),
            ("order_id\tuser_id\n", "the header of - has tabs between its columns; save it with commas"),
            ("PK\u{3}\u{4}\u{14}", "- can't be read: it is a spreadsheet or an archive; save it as CSV"),
            ("order_id,user_id\ro-1,u\r", "the header of - ends with CR alone; save the file as CSV UTF-8"),
            ("\"order_id\n", "the header of - is no line of CSV as RFC 4180 has it"),
        ])
    func aFileThatIsOfNoUseIsNamedBeforeAnythingIsDone(text: String, message: String) async throws {
        try await withConfiguration("host=/nonexistent dbname=x") { configuration, _ in
            let ended = try await ChildProcess.run(
                program, ["import", "orders", "-", "--format", "csv", "--config", configuration], input: text)
            #expect(ended.status == 65)
            #expect(ended.output == "")
            #expect(ended.errors.contains(message), "\(ended.errors)")
        }
    }

    @Test(arguments: [false, true])
    func theFileThatIsReadIsNotWritten(isStandardInput: Bool) async throws {
        try await withConfiguration("host=/nonexistent dbname=x") { configuration, folder in
            let file = folder.appending(path: "orders.csv").path(percentEncoded: false)
            let link = folder.appending(path: "link.csv").path(percentEncoded: false)
            let text = "bundle_id,order_id,user_id,product_id\na,1,u,g\n"
            try write(text, to: file)
            try FileManager.default.linkItem(atPath: file, toPath: link)
            let command =
                isStandardInput
                ? ["sh", "-c", "exec \"$0\" \"$@\" <\(file)", program, "import", "orders", "-", "--format", "csv"]
                : ["env", program, "import", "orders", file]
            let ended = try await ChildProcess.run(
                "/usr/bin/env", command + ["--refused", link, "--config", configuration])
            #expect(ended.status == 77)
            #expect(ended.errors.contains("it is what is read"), "\(ended.errors)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        }
    }

    @Test func theConfigurationIsNotWrittenOver() async throws {
        try await withConfiguration("host=/nonexistent dbname=x") { configuration, folder in
            let file = folder.appending(path: "orders.csv").path(percentEncoded: false)
            try write("bundle_id,order_id,user_id,product_id\na,1,u,g\n", to: file)
            let settings = try String(contentsOfFile: configuration, encoding: .utf8)
            let ended = try await ChildProcess.run(
                program, ["import", "orders", file, "--refused", configuration, "--config", configuration])
            #expect(ended.status == 77)
            #expect(ended.errors.contains("it is what is read"), "\(ended.errors)")
            #expect(try String(contentsOfFile: configuration, encoding: .utf8) == settings)
        }
    }

    @Test func anAccountOfEarlierStaysWhereNothingCouldBeRead() async throws {
        try await withConfiguration("host=/nonexistent dbname=x") { configuration, folder in
            let refused = folder.appending(path: "refused.csv").path(percentEncoded: false)
            try write("earlier", to: refused)
            let ended = try await ChildProcess.run(
                program, ["import", "orders", "/nonexistent.csv", "--refused", refused, "--config", configuration])
            #expect(ended.status == 65)
            #expect(try String(contentsOfFile: refused, encoding: .utf8) == "earlier")
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func anImportWithoutAnEndEndsAtASignal(isPipe: Bool) async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, folder in
                let pipe = folder.appending(path: "pipe.csv").path(percentEncoded: false)
                #expect(mkfifo(pipe, 0o600) == 0)
                let ended = try await ChildProcess.run(
                    "/usr/bin/env",
                    [
                        "timeout", "--signal=TERM", "2", program, "import", "orders", isPipe ? pipe : "/dev/zero",
                        "--format", "csv", "--config", configuration,
                    ])
                // What timeout says of a program that it had to end; had that not ended, its --kill-after would be missed.
                #expect([75, 124, 65].contains(ended.status), "\(ended.status) \(ended.errors)")
            }
        }
    }

    @Test func itSaysWhatBecameOfEveryLine() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, folder in
                let file = folder.appending(path: "orders.csv").path(percentEncoded: false)
                let refused = folder.appending(path: "refused.csv").path(percentEncoded: false)
                try write("bundle_id,order_id,user_id,product_id\na,1,u,g\na,1,u,g\na,1,v,g\n,\"=2\",u,g\n", to: file)
                let arguments = ["import", "orders", file, "--refused", refused, "--config", configuration, "--quiet"]
                let ended = try await ChildProcess.run(program, arguments)
                #expect(ended.status == 65)
                #expect(ended.errors == "")
                #expect(
                    ended.output == """
                        orders from \(file)
                        taken            1
                        already there    1
                        refused          2
                          missing        1
                          contradiction  1
                        lines            4
                        apps: a 3

                        """)
                #expect(
                    try String(contentsOfFile: refused, encoding: .utf8) == """
                        line,reason,id,what\r
                        4,contradiction,1,"this order is registered already, with another user, product or quantity"\r
                        5,missing,'=2,bundle_id is missing\r

                        """)
                try write("bundle_id,order_id,user_id,product_id\na,1,u,g\na,2,u,g\n", to: file)
                let dry = try await ChildProcess.run(program, arguments + ["--dry-run"])
                #expect(dry.status == 0)
                #expect(dry.output.contains("would be taken  1\n"))
                #expect(try await count("iap.orders", database) == 1)
                #expect(try await ChildProcess.run(program, arguments).status == 0)
                #expect(try await count("iap.orders", database) == 2)
            }
        }
    }

    @Test func anAppThatTheConfigurationDoesNotKnowIsRefused() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, _ in
                let text = try String(contentsOfFile: configuration, encoding: .utf8)
                try write(text + "\n[app com.a]\n", to: configuration)
                let lines = "bundle_id,order_id,user_id,product_id\nCom.A,1,u,g\ncom.a,1,u,g\n"
                let ended = try await ChildProcess.run(
                    program, ["import", "orders", "-", "--config", configuration], input: lines)
                #expect(ended.status == 65)
                #expect(ended.output.contains("  unknown_app  1\n"))
                #expect(ended.output.hasSuffix("apps: com.a 1\n"), "\(ended.output)")
                #expect(ended.errors.contains("the configuration has no section [app Com.A]"), "\(ended.errors)")
                #expect(try await count("iap.orders WHERE bundle_id = 'com.a'", database) == 1)
                #expect(try await count("iap.orders", database) == 1)
            }
        }
    }

    @Test func aFullDiskIsNamedAsTheSystemDoes() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, _ in
                let ended = try await ChildProcess.run(
                    program, ["import", "orders", "-", "--refused", "/dev/full", "--config", configuration],
                    input: "{}\n")
                #expect(ended.status == 77)
                #expect(ended.errors.contains("/dev/full can't be written: No space left on device"), "\(ended.errors)")
            }
        }
    }

    @Test func withoutAFileTheFirstRefusedLinesAreLogged() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, _ in
                let lines = String(repeating: "{}\n", count: 30)
                let ended = try await ChildProcess.run(
                    program, ["import", "orders", "-", "--config", configuration], input: lines)
                #expect(ended.status == 65)
                #expect(ended.errors.matches(of: /refused: bundle_id is missing/).count == 20)
                #expect(ended.errors.contains("10 more lines were refused; --refused FILE writes all"))
            }
        }
    }

    /// Killed after ever more was committed, with lines read that were not, then left to finish: every line is there
    /// once.
    @Test func aKilledImportIsSimplyRunAgain() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, _ in
                for rows in [5_000, 15_000, 30_000] {
                    let ended = try await stopped(by: SIGKILL, afterRows: rows, configuration, database)
                    #expect(ended.status == 128 + SIGKILL)
                    #expect(try await count("iap.black", database) == rows)
                }
                let last = try await importing(60_000, configuration)
                #expect(last.status == 0)
                #expect(last.output.contains("already there  30000\n"))
                #expect(try await count("iap.black", database) == 60_000)
            }
        }
    }

    /// What stands before was committed, and the trail says so.
    @Test func aFileWhoseRestIsOfNoUseIsTakenUpToThere() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, _ in
                let cut = (1...20).map { "com.a,1234567890123\($0 + 10)0,gems,1700000000,1700000001,u\n" }.joined()
                let ended = try await ChildProcess.run(
                    program, ["import", "delivered", "-", "--config", configuration], input: deliveries(5_000) + cut)
                #expect(ended.status == 65)
                #expect(ended.output.contains("taken          5000\n"), "\(ended.output)")
                #expect(ended.errors.contains("has cut its ids"))
                #expect(ended.errors.contains("only the 5000 lines before were read"), "\(ended.errors)")
                #expect(try await count("iap.black", database) == 5_000)
                #expect(try await count("iap.events WHERE kind = 'imported'", database) == 1)
            }
        }
    }

    @Test func aSignalEndsAnImportInGoodOrder() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, _ in
                let ended = try await stopped(by: SIGTERM, afterRows: 5_000, configuration, database)
                #expect(ended.status == 75)
                #expect(ended.errors.contains("import it again to take the rest"))
                let taken = try await count("iap.black", database)
                #expect(taken >= 5_000)
                #expect(ended.output.contains(" \(taken)\n"))
                #expect(try await importing(60_000, configuration).status == 0)
                #expect(try await count("iap.black", database) == 60_000)
            }
        }
    }

    @Test func aLostConnectionIsOpenedAgain() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, _ in
                let connection = try await database.connect()
                defer { connection.close() }
                let lines = deliveries(20_000)
                let half = lines.utf8.index(lines.startIndex, offsetBy: lines.utf8.count / 2)
                let ended = try await ChildProcess.with(
                    program, ["import", "delivered", "-", "--config", configuration], input: String(lines[..<half]),
                    isInputEnding: false
                ) { child in
                    try await waitForRows(5_000, connection, child)
                    _ = try await connection.query(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid()
                        """)
                    child.endInput(String(lines[half...]))
                    return await child.waitUntilEnded()
                }
                #expect(ended.status == 0)
                #expect(ended.errors.contains("lost the database, waiting for it"))
                #expect(try await count("iap.black", database) == 20_000)
            }
        }
    }

    /// It waits for a pipe that gives nothing, and still hears the signal, in the first moment too.
    @Test(.timeLimit(.minutes(10)), arguments: [["import", "orders"], ["notices"]])
    func aSignalEndsTheWaitForInput(command: [String]) async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_import")) { configuration, folder in
                let pipe = folder.appending(path: "pipe").path(percentEncoded: false)
                #expect(mkfifo(pipe, 0o600) == 0)
                let writer = open(pipe, O_RDWR | O_CLOEXEC)
                defer { close(writer) }
                for _ in 0..<12 {
                    let ended = try await ChildProcess.with(
                        program, command + [pipe, "--config", configuration]
                    ) { child in
                        try await waitUntil("the pipe is open") { Self.openFiles(of: child).contains(pipe) }
                        child.send(signal: SIGTERM)
                        return await child.waitUntilEnded()
                    }
                    #expect(ended.status == 75)
                    #expect(ended.errors.contains("stopped before the file's end"))
                }
            }
        }
    }

    /// A file that is none of notifications does not fill the log.
    @Test func theFirstRefusedNotificationsAreNamedAndTheOthersCounted() async throws {
        try await withScratchDatabase { database in
            try await withConfiguration(database.conninfo(as: "iap_job")) { configuration, _ in
                let ended = try await ChildProcess.run(
                    program, ["notices", "-", "--config", configuration],
                    input: String(repeating: "{}\n", count: 25))
                #expect(ended.status == 65)
                #expect(ended.output == "-: 0 taken for the next run, 25 refused\n")
                #expect(ended.errors.matches(of: /it is no notification/).count == 20, "\(ended.errors)")
                #expect(ended.errors.contains("5 more lines were refused"))
            }
        }
    }

    private static func openFiles(of child: ChildProcess) -> [String] {
        let folder = "/proc/\(child.processIdentifier)/fd"
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
    }

    private func deliveries(_ count: Int) -> String {
        let header = "bundle_id,transaction_id,product_id,purchased_at,delivered_at,user_id\n"
        return header
            + (0..<count).map { "com.a,\(2_000_000_000_000 + $0),gems,1700000000,1700000001,u\($0 % 100)\n" }.joined()
    }

    private func importing(_ lines: Int, _ configuration: String) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(
            program, ["import", "delivered", "-", "--config", configuration], input: deliveries(lines))
    }

    /// An import whose file goes on for 2,500 lines after those that it commits, and then keeps it waiting.
    private func stopped(
        by signal: Int32, afterRows rows: Int, _ configuration: String, _ database: ScratchDatabase
    ) async throws -> ChildProcess.Ended {
        let connection = try await database.connect()
        defer { connection.close() }
        return try await ChildProcess.with(
            program, ["import", "delivered", "-", "--config", configuration], input: deliveries(rows + 2_500),
            isInputEnding: false
        ) { child in
            try await waitForRows(rows, connection, child)
            child.send(signal: signal)
            return await child.waitUntilEnded()
        }
    }

    private func waitForRows(_ least: Int, _ connection: Connection, _ child: ChildProcess) async throws {
        while child.isRunning {
            let rows = try await connection.query("SELECT count(*) AS rows FROM iap.black")
            if try rows.first?.decode("rows", as: Int.self) ?? 0 >= least { return }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private func count(_ table: String, _ database: ScratchDatabase) async throws -> Int {
        let connection = try await database.connect()
        defer { connection.close() }
        let row = try await connection.query("SELECT count(*) AS rows FROM \(unsafe: table)").first
        return try #require(row).decode("rows", as: Int.self)
    }

    private func withConfiguration(
        _ conninfo: String, _ body: (String, URL) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "import.conf").path(percentEncoded: false)
            try write("[database]\nconninfo = \(conninfo)\n", to: file)
            try await body(file, folder)
        }
    }
}
