import AppStoreSimulator
import SimulatedWorld
import Foundation
import PostgreSQL
import TestSupport
import Testing

/// The command `setup`, on servers of its own: from nothing to a job that runs, and not a step twice.
@Suite struct SetupTests {
    @Test(arguments: ["peer", "password"])
    func fromAnEmptyServerToAJobThatRuns(login: String) async throws {
        try await withEmptyServer(login: login) { server in
            let shown = try await server.setup(["--dry-run"])
            #expect(shown.status == 0 && shown.output.hasSuffix("Nothing of this was done.\n"), "\(shown.errors)")
            #expect(try await server.databases() == ["postgres"])
            #expect(try server.files() == [])

            let done = try await server.setup(["--yes"])
            #expect(done.status == 0, "\(done.output)\(done.errors)")
            #expect(done.output.contains("fine     grants") && !done.output.contains("wrong "))
            // What was shown was done, in that order.
            let steps = shown.output.split(separator: "\n").filter { !$0.hasPrefix("Nothing") }
            let names = steps.filter { !$0.hasPrefix(" ") }.map { $0.prefix(15) }
            #expect(Set(names).count == names.count, "two steps have one name: \(names)")
            var rest = done.output[...]
            for step in steps {
                let place = try #require(rest.range(of: step), "\(step) was not done")
                rest = rest[place.upperBound...]
            }

            let before = try server.contents()
            let again = try await server.setup(["--yes"])
            #expect(again.status == 0 && !again.output.contains("done\n"), "\(again.output)")
            #expect(try server.contents() == before)
        }
    }

    @Test func onlyTheJobsUserReadsSecretsAndPasswords() async throws {
        try await withEmptyServer(login: "password") { server in
            #expect(try await server.setup(["--yes"]).status == 0)
            for file in ["pg_service.conf", "com.example.game.secret"] {
                #expect(try server.mode(of: file) == 0o600, "\(file)")
            }
            #expect(try server.mode(of: "iap-reconcile.conf") == 0o640)
            let configuration = try server.contents()["iap-reconcile.conf"] ?? ""
            #expect(configuration.contains("conninfo = service=iap_job") && !configuration.contains("password"))
            let log = try String(contentsOf: URL(filePath: "\(server.cluster.directory)/log"), encoding: .utf8)
            let passwords = try (server.contents()["pg_service.conf"] ?? "").matches(of: /password=(.+)/).map { $0.1 }
            #expect(Set(passwords).count == 4 && passwords.allSatisfy { $0.count == 32 && !log.contains($0) })
        }
    }

    @Test func whatAnOperatorWroteStays() async throws {
        try await withEmptyServer(login: "peer") { server in
            let own = "# ours\n[retention]\ndevices = 30d\n[app com.example.other]\ngrace = 2h\n"
            try server.append(own)
            #expect(try await server.setup(["--yes"]).status == 0)
            #expect(try server.contents()["iap-reconcile.conf"]?.contains(own) == true)
        }
    }

    /// Names that mean something else in `pg_hba.conf`, or have to be quoted there, in a connection string, or in SQL.
    /// As those have it who keep their configurations in one place.
    @Test func aConfigurationThatIsALinkStaysOne() async throws {
        try await withEmptyServer(login: "password") { server in
            let target = try server.moveConfigurationBehindALink()
            let before = try String(contentsOfFile: target, encoding: .utf8)
            #expect(try await server.setup(["--yes"]).status == 0)
            let after = try String(contentsOfFile: target, encoding: .utf8)
            #expect(after != before && after.contains("conninfo = service=iap_job"))
            #expect(try server.contents()["iap-reconcile.conf"] == after)
            try FileManager.default.removeItem(atPath: target)
            let refused = try await server.setup(["--yes"])
            #expect(refused.status == 78, "\(refused.errors)")
            #expect(refused.errors.contains("is a link that leads to no file"), "\(refused.errors)")
        }
    }

    @Test(arguments: ["all", "my shop", "it's \"mine\""])
    func aDatabaseMayHaveAnyName(name: String) async throws {
        for login in ["peer", "password"] {
            try await withEmptyServer(login: login, database: name) { server in
                let done = try await server.setup(["--yes"])
                #expect(done.status == 0, "\(done.output)\(done.errors)")
                let again = try await server.setup(["--yes"])
                #expect(again.status == 0 && !again.output.contains("done\n"), "\(again.output)\(again.errors)")
                #expect(try await server.databases().contains(name))
            }
        }
    }

    /// A name by which a line would end: the server's files of logins stay as they were.
    @Test func aNameThatWouldEndALineIsRefused() async throws {
        try await withEmptyServer(login: "peer", database: "shop\nlocal all all trust") { server in
            let before = try server.loginFiles()
            let refused = try await server.setup(["--yes"])
            #expect(refused.status != 0, "\(refused.output)")
            #expect(try server.loginFiles() == before)
        }
    }

    @Test func aBrokenFileOfLoginsIsLeftAsItWas() async throws {
        try await withEmptyServer(login: "peer") { server in
            try server.addToNames("iap broken\n")
            let before = try server.loginFiles()
            let refused = try await server.setup(["--yes"])
            #expect(refused.status == 78 && refused.errors.contains("of pg_ident.conf"), "\(refused.errors)")
            #expect(try server.loginFiles() == before)
        }
    }

    /// What can't be done is not shown as what would be done.
    @Test func aSchemaThatIsAnothersIsSeenBeforeAnythingIsDone() async throws {
        try await withEmptyServer(login: "peer", database: "postgres") { server in
            try await server.sql("CREATE SCHEMA finance")
            let shown = try await server.setup(["--dry-run"])
            #expect(shown.status == 78 && !shown.output.contains("Nothing of this"), "\(shown.output)")
            #expect(shown.errors.contains("has a schema finance already"), "\(shown.errors)")
        }
    }

    @Test func aDatabaseThatCantHoldEveryTextIsSeenBeforeAnythingIsDone() async throws {
        try await withEmptyServer(login: "peer") { server in
            try await server.sql("CREATE DATABASE shop ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
            let shown = try await server.setup(["--dry-run"])
            #expect(shown.status == 78 && !shown.output.contains("Nothing of this"), "\(shown.output)")
            #expect(shown.errors.contains("the database is in LATIN1"), "\(shown.errors)")
        }
    }

    @Test(arguments: [
        ["--secret-file", "/nowhere/secret"], ["--secret-file", "/dev/null"],
        ["--key-file", "/nowhere/secret", "--key-id", "K", "--issuer-id", "I"],
    ])
    func aSecretThatCantBeReadEndsItBeforeAnythingIsDone(given: [String]) async throws {
        try await withEmptyServer(login: "peer") { server in
            let before = try server.contents()
            let refused = try await server.setup(["--yes"] + given)
            // As an import of a file that is not there.
            #expect(refused.status == 65 && refused.errors.contains(given[1]), "\(refused.errors)")
            #expect(refused.output == "")
            #expect(try await server.databases() == ["postgres"])
            #expect(try server.contents() == before)
        }
    }

    /// A crash, or a person who said no, at each step: the next attempt ends as one that went through.
    @Test func whereItStoppedItGoesOn() async throws {
        try await withEmptyServer(login: "peer") { server in
            try await server.sql("CREATE DATABASE shop")
            try await server.sql("CREATE ROLE iap_finance LOGIN")
            try server.addToNames("iap \(server.user) iap_job\n")
            let done = try await server.setup(["--yes"])
            #expect(done.status == 0 && done.output.contains("database       is there"), "\(done.output)\(done.errors)")
            #expect(try server.loginFiles().joined().matches(of: /iap_job\n/).count == 1)
        }
    }

    /// A role by that name that may do more than it should is somebody's, and not taken.
    @Test func aRoleThatMayDoMoreIsRefused() async throws {
        try await withEmptyServer(login: "peer") { server in
            try await server.sql("CREATE ROLE iap_app LOGIN SUPERUSER")
            let refused = try await server.setup(["--yes"])
            #expect(refused.status != 0 && refused.errors.contains("iap_app may do more than it should"))
        }
    }

    @Test func whereNobodyCanBeAskedNothingIsDone() async throws {
        try await withEmptyServer(login: "peer") { server in
            let refused = try await server.setup([])
            #expect(refused.status == 64 && refused.errors.contains("--yes agrees"), "\(refused.errors)")
            #expect(try await server.databases() == ["postgres"])
        }
    }

    /// Its group will be that user's, once the first step has made both.
    @Test(.enabled(if: geteuid() == 0)) func aUserThatIsStillToBeMadeHasTheConfiguration() async throws {
        try await withEmptyServer(login: "password") { server in
            let shown = try await server.setup(["--dry-run", "--run-as", "iap-to-be-made"])
            #expect(shown.output.contains("useradd") && shown.output.contains("of root:iap-to-be-made, mode 640"))
            #expect(shown.status == 0, "\(shown.output)\(shown.errors)")
        }
    }

    @Test(arguments: [
        (["--database", "host=db dbname=x", "--login", "peer", "--app", "com.example.a", "--dry-run"], 64, "socket"),
        (["--database", "host=/nowhere dbname=x", "--app", "com.example.a", "--dry-run"], 69, "/nowhere"),
        (["--database", "service=x", "--app", "com.example.a", "--dry-run"], 78, "not a service"),
        (["--database", "host=/nowhere", "--app", "com.example.a", "--dry-run"], 78, "names no database"),
        (["--database", "x", "--dry-run"], 64, "--app BUNDLE is missing"),
        (["--yes", "--app", "com.example.a"], 64, "--database NAME is missing"),
        (["--database", "x", "--key-id", "1"], 64, "--key-id needs --app"),
        (["--database", "x", "--app", "com.example.a", "--key-id", "1"], 64, "needed together"),
        (["--database", "x", "--app", "a b"], 64, "no bundle id"),
        (["--yes", "--dry-run", "--database", "x"], 64, "exclude each other"),
    ])
    func aCommandLineThatCantWorkIsRefused(arguments: [String], status: Int32, text: String) async throws {
        try await withTemporaryFolder { folder in
            let configuration = folder.appending(path: "x.conf").path(percentEncoded: false)
            let refused = try await ChildProcess.run(
                ProgramNight.program, ["setup", "--config", configuration] + arguments)
            #expect(refused.status == status && refused.errors.contains(text), "\(refused.errors)")
        }
    }

    @Test func aFolderInPlaceOfTheConfigurationIsRefused() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.path(percentEncoded: false)
            let refused = try await ChildProcess.run(
                ProgramNight.program,
                ["setup", "--config", path, "--database", "x", "--app", "com.example.a", "--dry-run"])
            #expect(refused.status == 78 && refused.errors.contains("\(path) is no regular file"), "\(refused.errors)")
        }
    }

    /// Which apps it names is not known then, and what keeps it from being read is.
    @Test func aConfigurationThatCantBeReadIsNotTakenForOneWithoutApps() async throws {
        try await withTemporaryFolder { folder in
            let configuration = folder.appending(path: "x.conf").path(percentEncoded: false)
            try write("[app com.example.a]\ngraze = 2h\n", to: configuration)
            let refused = try await ChildProcess.run(
                ProgramNight.program, ["setup", "--config", configuration, "--database", "x", "--yes"])
            #expect(refused.status == 78, "\(refused.errors)")
            #expect(refused.errors.contains("\(configuration):2: unknown key “graze”"), "\(refused.errors)")
        }
    }

    /// A terminal, at which somebody answers.
    @Test func itAsksForWhatIsMissing() async throws {
        try await withEmptyServer(login: "peer") { server in
            let answers = ["host=\(server.cluster.directory) dbname=shop", "n"]
            let stopped = try await server.atATerminal(answers)
            #expect(
                stopped.contains("PostgreSQL's database") && stopped.contains("Stopped before “database”"), "\(stopped)"
            )
            #expect(try await server.databases() == ["postgres"])
            let agreed = try await server.atATerminal([answers[0]] + Array(repeating: "y", count: 12))
            #expect(agreed.contains("The job can run"), "\(agreed)")
        }
    }

    @Test func whatIsMistypedIsAskedForAgain() async throws {
        try await withEmptyServer(login: "peer") { server in
            let answers = [
                "host=\(server.cluster.directory) dbname=shop", "my game", "com.example.shop", "/none.p8", "",
                "/none.secret", "", "yesterday", "2026-11-21T03:00:00Z",
            ]
            let shown = try await server.atATerminal(answers, app: [], ["--dry-run"])
            #expect(shown.contains("“my game” is no bundle id"), "\(shown)")
            for file in ["/none.p8", "/none.secret"] { #expect(shown.contains("\(file) is no file on this machine")) }
            #expect(shown.contains("“yesterday” is no moment such as"), "\(shown)")
            #expect(shown.contains("[app com.example.shop] since = 2026-11-21T03:00:00Z"), "\(shown)")
            // Who goes away in the middle is not asked for ever.
            let left = try await server.atATerminal([answers[0], "my game"], app: [], ["--dry-run"])
            #expect(left.contains("“” is no bundle id") && !left.contains("Nothing of this was done"), "\(left)")
        }
    }

    /// Whose server does not claim yet presses return: nothing that it sells is called lost before it does.
    @Test func withoutAnAnswerNoMomentIsSet() async throws {
        try await withEmptyServer(login: "peer") { server in
            let answers = ["host=\(server.cluster.directory) dbname=shop", "com.example.shop", "", ""]
            let shown = try await server.atATerminal(answers + [""], app: [], ["--dry-run"])
            #expect(shown.contains("[app com.example.shop]") && !shown.contains("since ="), "\(shown)")
            let named = try await server.atATerminal(answers + ["2026-11-21T03:00:00Z"], app: [], ["--dry-run"])
            #expect(named.contains("[app com.example.shop] since = 2026-11-21T03:00:00Z"), "\(named)")
        }
    }
}

/// A server that has only its administrator, who may log in by its socket, and a simulated App Store.
private struct EmptyServer {
    let cluster: ScratchCluster
    let folder: URL
    let login: String
    let database: String
    /// Of the system, for whom the job is to run.
    let user = geteuid() == 0 ? "daemon" : String(cString: getpwuid(geteuid()).pointee.pw_name)

    private var etc: URL { folder.appending(path: "etc") }
    private var configuration: String { etc.appending(path: "iap-reconcile.conf").path(percentEncoded: false) }
    private var program: String { folder.appending(path: "iap-reconcile").path(percentEncoded: false) }
    private var secret: String { folder.appending(path: "given.secret").path(percentEncoded: false) }

    private var given: [String] {
        ["setup", "--config", configuration, "--login", login]
    }

    func setup(_ arguments: [String]) async throws -> ChildProcess.Ended {
        let app =
            ["--app", "com.example.game"] + (arguments.contains("--secret-file") ? [] : ["--secret-file", secret])
        let user = arguments.contains("--run-as") ? [] : ["--run-as", user]
        let database = ["--database", "host=\(cluster.directory) dbname='\(database.replacing("'", with: "\\'"))'"]
        return try await ChildProcess.run(program, given + user + database + app + arguments)
    }

    /// What it shows somebody who types these lines.
    ///
    /// - Parameter app: the options that name the app; by default its name and its secret.
    func atATerminal(
        _ lines: [String], app: [String]? = nil, _ further: [String] = []
    ) async throws -> String {
        let app = app ?? ["--app", "com.example.game", "--secret-file", secret]
        let words = ([program] + given + ["--run-as", user] + app + further)
            .map { "'\($0)'" }.joined(separator: " ")
        let ended = try await ChildProcess.run(
            "/usr/bin/script", ["-qec", words, "/dev/null"], input: lines.map { $0 + "\n" }.joined())
        return ended.output
    }

    /// The folder of the configuration, and a configuration that leads to the simulated App Store.
    func prepare(_ addresses: SimulatedAppStore.Addresses, secret text: String, program built: String) async throws {
        try FileManager.default.createDirectory(at: etc, withIntermediateDirectories: true)
        for folder in [folder, etc, URL(filePath: cluster.directory)] {
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: folder.path(percentEncoded: false))
        }
        // Where the job's user can reach it. By another process: a child that a test starts meanwhile would inherit the
        // file, open for writing, and then nobody can run it.
        try await ChildProcess.runSuccessfully("/bin/cp", [built, program])
        try write(text, to: secret, mode: 0o600)
        try write(
            """
            [apple]
            verify_receipt_production = \(addresses.productionVerifyReceipt)
            verify_receipt_sandbox = \(addresses.sandboxVerifyReceipt)
            [report]
            directory = \(folder.appending(path: "reports").path(percentEncoded: false))

            """, to: configuration)
    }

    /// Returns where it lies then.
    func moveConfigurationBehindALink() throws -> String {
        let target = folder.appending(path: "kept.conf").path(percentEncoded: false)
        try FileManager.default.moveItem(atPath: configuration, toPath: target)
        try FileManager.default.createSymbolicLink(atPath: configuration, withDestinationPath: target)
        return target
    }

    func append(_ text: String) throws {
        try write(try String(contentsOfFile: configuration, encoding: .utf8) + text, to: configuration)
    }

    /// What the setup made beside the configuration.
    func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: etc.path(percentEncoded: false))
            .filter { $0 != "iap-reconcile.conf" }.sorted()
    }

    func contents() throws -> [String: String] {
        let names = try files() + ["iap-reconcile.conf"]
        let texts = try names.map { ($0, try String(contentsOf: etc.appending(path: $0), encoding: .utf8)) }
        let logins = try zip(["hba", "ident"], loginFiles()).map { ($0, $1) }
        return Dictionary(uniqueKeysWithValues: texts + logins)
    }

    func mode(of file: String) throws -> Int {
        let path = etc.appending(path: file).path(percentEncoded: false)
        return try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private static let loginFileNames = ["pg_hba.conf", "pg_ident.conf"]

    func loginFiles() throws -> [String] {
        try Self.loginFileNames.map { try String(contentsOfFile: "\(cluster.directory)/data/\($0)", encoding: .utf8) }
    }

    func addToNames(_ text: String) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: "\(cluster.directory)/data/pg_ident.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data(text.utf8))
    }

    func databases() async throws -> [String] {
        let connection = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        defer { connection.close() }
        return try await connection.query("SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY 1")
            .map { try $0.decode("datname") }
    }

    func sql(_ statement: String) async throws {
        let connection = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        defer { connection.close() }
        try await connection.execute(SQL(unsafe: statement))
    }
}

private func withEmptyServer(
    login: String, database: String = "shop", _ body: (EmptyServer) async throws -> Void
) async throws {
    let world = World(try WorldSettings(seed: 7, customers: 3, days: 1, now: ProgramNight.now))
    let store = SimulatedAppStore(seed: 7, records: world.records, latency: nil, now: { ProgramNight.now })
    let addresses = try store.start()
    defer { store.stop() }
    let secret = try #require(World.storeApps(seed: 7).first { $0.bundleID == "com.example.game" }?.sharedSecret)
    let rules = ["local all postgres trust"] + (login == "password" ? ["local all all scram-sha-256"] : [])
    let cluster = try await ScratchCluster.dedicated(hba: rules.joined(separator: "\n"))
    try await withTemporaryFolder { folder in
        let server = EmptyServer(cluster: cluster, folder: folder, login: login, database: database)
        try await server.prepare(addresses, secret: secret, program: ProgramNight.program)
        try await body(server)
    }
}
