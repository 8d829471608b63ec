import Foundation
import PostgreSQL
import TestSupport
import Testing

/// A server with passwords, on a Unix socket and on loopback with TLS.
struct GuardedServer: Sendable {
    static let password = "very secret, 'quoted'"

    let cluster: ScratchCluster
    let port: Int
    let authority: CertificateAuthority

    static func shared() async throws -> GuardedServer { try await start.value }

    private static let start = Task {
        let authority = try await CertificateAuthority.make()
        let (certificate, key) = try await authority.issue(for: "DNS:localhost,IP:127.0.0.1")
        let port = try FreePort.find()
        let cluster = try await ScratchCluster.dedicated(
            settings: ["listen_addresses": "127.0.0.1", "ssl": "on", "password_encryption": "scram-sha-256"],
            port: port,
            hba: """
                local all postgres trust
                local all all scram-sha-256
                hostssl all all 127.0.0.1/32 scram-sha-256
                """,
            files: ["server.crt": certificate, "server.key": key])
        let admin = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        try await admin.execute(
            "CREATE ROLE shop LOGIN PASSWORD \(unsafe: "'" + password.replacing("'", with: "''") + "'")")
        return GuardedServer(cluster: cluster, port: port, authority: authority)
    }

    /// Without the password.
    var conninfo: String { cluster.conninfo(user: "shop", database: "postgres") }

    func tls(_ options: String) -> String {
        let quoted = Self.password.replacing("'", with: #"\'"#)
        return
            "host=localhost hostaddr=127.0.0.1 port=\(port) user=shop dbname=postgres password='\(quoted)' \(options)"
    }
}

@Suite(.timeLimit(.minutes(1))) struct AuthenticationTests {
    private func expectAnswer(_ conninfo: String) async throws {
        let connection = try await Connection.connect(ConnectionSettings(conninfo))
        let rows = try await connection.query("SELECT current_user::text AS name")
        #expect(try rows[0]("name", as: String.self) == "shop")
    }

    private func refusal(_ conninfo: String) async throws -> PostgreSQLError {
        try #require(
            await #expect(throws: PostgreSQLError.self) { try await Connection.connect(ConnectionSettings(conninfo)) })
    }

    @Test func theRightPasswordOpens() async throws {
        let server = try await GuardedServer.shared()
        let quoted = GuardedServer.password.replacing("'", with: #"\'"#)
        try await expectAnswer("\(server.conninfo) password='\(quoted)'")
    }

    @Test func aWrongPasswordIsNotShown() async throws {
        let server = try await GuardedServer.shared()
        let error = try await refusal("\(server.conninfo) password=my-wrong-secret")
        #expect(error.code == .authentication)
        #expect(error.sqlState == .invalidPassword)
        #expect(error.description.contains(#"password authentication failed for user "shop""#))
        #expect(!error.debugDescription.contains("my-wrong-secret"))
        #expect(!error.isTransient)
    }

    @Test func aMissingPasswordIsAMatterOfAuthentication() async throws {
        let server = try await GuardedServer.shared()
        let error = try await refusal("\(server.conninfo) passfile=/nowhere")
        #expect(error.code == .authentication)
    }

    @Test func aHostThatMayNotEnterIsAMatterOfAuthentication() async throws {
        let server = try await GuardedServer.shared()
        let error = try await refusal(server.tls("sslmode=disable"))
        #expect(error.code == .authentication)
        #expect(error.sqlState == .invalidAuthorization)
    }

    @Test func aPasswordFileIsRead() async throws {
        let server = try await GuardedServer.shared()
        try await withTemporaryFile("*:*:*:shop:\(GuardedServer.password)\n") { file in
            try await expectAnswer("\(server.conninfo) passfile=\(file)")
        }
    }

    /// The environment belongs to the whole process, so this one has a process of its own.
    @Test func theEnvironmentIsRead() async throws {
        let server = try await GuardedServer.shared()
        let (host, port) = (server.cluster.directory, String(server.port))
        await #expect(processExitsWith: .success) { [host = host as String, port = port as String] in
            for (name, value) in [
                ("PGHOST", host), ("PGPORT", port), ("PGUSER", "shop"), ("PGDATABASE", "postgres"),
                ("PGPASSWORD", GuardedServer.password), ("PGAPPNAME", "named by the environment"),
            ] { setenv(name, value, 1) }
            let connection = try await Connection.connect(ConnectionSettings(""))
            let rows = try await connection.query("SELECT current_setting('application_name') AS name")
            guard try rows[0]("name", as: String.self) == "named by the environment" else { exit(1) }
        }
    }

    @Test func theServiceFileAndThePasswordFileOfTheEnvironmentAreRead() async throws {
        let server = try await GuardedServer.shared()
        let service = "[shop]\nhost=\(server.cluster.directory)\nport=\(server.port)\nuser=shop\ndbname=postgres\n"
        try await withTemporaryFile(service) { serviceFile in
            try await withTemporaryFile("*:*:postgres:shop:\(GuardedServer.password)\n") { passwordFile in
                await #expect(processExitsWith: .success) {
                    [serviceFile = serviceFile as String, passwordFile = passwordFile as String] in
                    setenv("PGSERVICEFILE", serviceFile, 1)
                    setenv("PGPASSFILE", passwordFile, 1)
                    let connection = try await Connection.connect(ConnectionSettings("service=shop"))
                    guard try await connection.query("SELECT 1").count == 1 else { exit(1) }
                }
            }
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct TLSTests {
    @Test func theServerIsVerifiedInFull() async throws {
        let server = try await GuardedServer.shared()
        try await withTemporaryFile(server.authority.certificate) { file in
            let connection = try await Connection.connect(
                ConnectionSettings(server.tls("sslmode=verify-full sslrootcert=\(file)")))
            let rows = try await connection.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            #expect(try rows[0]("ssl", as: Bool.self))
        }
    }

    /// Encrypted records and libpq's buffer don't end at the same bytes: much data must come and go whole.
    @Test func muchDataComesAndGoesWhole() async throws {
        let server = try await GuardedServer.shared()
        let connection = try await Connection.connect(ConnectionSettings(server.tls("sslmode=require")))
        let text = String(repeating: "x", count: 3_000_000)
        #expect(try await connection.query("SELECT \(text) AS text")[0]("text", as: String.self) == text)
        try await connection.execute("CREATE TEMP TABLE t (a bigint)")
        let target = CopyTarget(table: "t", columns: ["a"])
        #expect(try await connection.copyIn(into: target, rows: 0..<200_000) { $1.append($0) } == 200_000)
        var sum = 0
        try await connection.forEachRow("SELECT a FROM t") { sum += try $0("a") }
        #expect(sum == 19_999_900_000)
    }

    @Test func anotherAuthorityIsNotTrusted() async throws {
        let server = try await GuardedServer.shared()
        let other = try await CertificateAuthority.make()
        try await withTemporaryFile(other.certificate) { file in
            let error = await #expect(throws: PostgreSQLError.self) {
                try await Connection.connect(ConnectionSettings(server.tls("sslmode=verify-full sslrootcert=\(file)")))
            }
            #expect(error?.code == .connection)
            #expect(error?.description.contains("certificate verify failed") == true)
            #expect(error?.debugDescription.contains(GuardedServer.password) == false)
        }
    }
}
