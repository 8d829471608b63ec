import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    @Test func theSessionIsSetUpAsAskedFor() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await Connection.connect(
                ConnectionSettings(
                    database.conninfo, applicationName: "a test", statementTimeout: 12.5, lockTimeout: 3,
                    idleInTransactionTimeout: 60, searchPath: "iap, public"))
            for _ in 0..<2 {
                let row = try await connection.query(
                    """
                    SELECT current_setting('application_name') AS name, current_setting('statement_timeout') AS statement,
                        current_setting('lock_timeout') AS lock, current_setting('search_path') AS path,
                        current_setting('idle_in_transaction_session_timeout') AS idle,
                        current_setting('client_encoding') AS encoding
                    """)[0]
                let found = try row.columnNames.map { try row($0, as: String.self) }
                #expect(found == ["a test", "12500ms", "3s", "iap, public", "1min", "UTF8"])
                try await connection.reconnect()
            }
            #expect(connection.serverVersion >= 150_000)
            #expect(connection.target.hasSuffix("database \(database.name)"))
        }
    }

    @Test func aSettingThatTheServerRefusesIsAnError() async throws {
        let conninfo = try await ScratchCluster.shared().superuserConninfo()
        let error = await #expect(throws: PostgreSQLError.self) {
            try await Connection.connect(ConnectionSettings(conninfo, statementTimeout: -1))
        }
        #expect(error?.sqlState?.rawValue == "22023")
    }

    @Test(arguments: ["sslmode=never", "service=nowhere", "target_session_attrs=none"])
    func settingsThatCantBeAreNoServersFault(setting: String) async throws {
        let error = await #expect(throws: PostgreSQLError.self) {
            try await Connection.connect(ConnectionSettings("host=/nowhere \(setting)"))
        }
        #expect(error?.code == .settings)
        #expect(setting.split(separator: "=").last.map { error?.message.contains($0) == true } == true)
    }

    @Test func aServerThatIsNotThereMayComeBack() async throws {
        let error = await #expect(throws: PostgreSQLError.self) {
            try await Connection.connect(ConnectionSettings("host=/nowhere sslmode=disable"))
        }
        #expect(error?.code == .connection)
    }

    @Test func aServerThatStaysSilentTooLongIsLost() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await Connection.connect(ConnectionSettings(database.conninfo, replyTimeout: 0.4))
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.query("SELECT pg_sleep(300)")
            }
            #expect(error?.code == .connection)
            #expect(error?.description.contains("did not say a word") == true)
            #expect(!connection.isAlive)
            try await connection.reconnect()
            #expect(try await connection.query("SELECT 1").count == 1)
        }
    }

    @Test func aTerminatedSessionIsLostAndCanBeOpenedAgain() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            let handed = Handed(value: connection)
            let lost = Task { try await handed.value.query("SELECT pg_sleep(300)") }
            try await database.waitUntilSleeping()
            let other = try await database.connect()
            try await other.execute("SELECT pg_terminate_backend(\(connection.processID))")
            let error = await #expect(throws: PostgreSQLError.self) { try await lost.value }
            #expect(error?.code == .connection)
            #expect(error?.sqlState == .adminShutdown)
            #expect(error?.isTransient == true)
            #expect(!connection.isAlive)
            let next = await #expect(throws: PostgreSQLError.self) { try await connection.query("SELECT 1") }
            #expect(next?.code == .connection)
            try await connection.reconnect()
            #expect(connection.isAlive)
            #expect(try await connection.query("SELECT 1").count == 1)
        }
    }

    @Test func aSessionLostWhileIdleIsNoticedWhenItIsUsed() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            let other = try await database.connect()
            try await other.execute("SELECT pg_terminate_backend(\(connection.processID), 5000)")
            let error = await #expect(throws: PostgreSQLError.self) { try await connection.query("SELECT 1") }
            #expect(error?.isConnectionLost == true)
            #expect(!connection.isAlive)
        }
    }

    @Test func aClosedConnectionSaysSo() async throws {
        try await withConnection { connection in
            connection.close()
            connection.close()
            #expect(!connection.isAlive)
            let error = await #expect(throws: PostgreSQLError.self) { try await connection.query("SELECT 1") }
            #expect(error?.description == "PostgreSQL: The session is closed.")
        }
    }

    @Test func noServerIsAConnectionError() async throws {
        let port = try FreePort.find()
        for conninfo in [
            "host=/nowhere", "host=127.0.0.1 port=\(port)", "postgresql://127.0.0.1:\(port)/x?connect_timeout=2",
        ] {
            let error = await #expect(throws: PostgreSQLError.self) {
                try await Connection.connect(ConnectionSettings(conninfo))
            }
            #expect(error?.code == .connection)
            #expect(error?.isTransient == true)
        }
    }

    @Test func anUnknownDatabaseIsTheServersError() async throws {
        let conninfo = try await ScratchCluster.shared().superuserConninfo(database: "nowhere")
        let error = await #expect(throws: PostgreSQLError.self) {
            try await Connection.connect(ConnectionSettings(conninfo))
        }
        #expect(error?.code == .server(.undefinedDatabase))
        #expect(error?.description.contains(#"database "nowhere" does not exist"#) == true)
        #expect(error?.description.contains("LOCATION") == false)
    }

    @Test(arguments: [
        "host=x password=my-secret oops", "postgresql://user:my-secret@host:nonsense:5/db", "password='my-secret",
        "my-secret=5",
    ])
    func aStringThatCannotBeReadIsNotQuoted(_ conninfo: String) async {
        let error = await #expect(throws: PostgreSQLError.self) {
            try await Connection.connect(ConnectionSettings(conninfo))
        }
        #expect(error?.debugDescription.contains("my-secret") == false)
        #expect(error?.debugDescription.isEmpty == false)
    }

    @Test func settingsDoNotShowThePassword() {
        let settings = ConnectionSettings("host=x password=my-secret")
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!"\(settings)\(String(reflecting: settings))\(dumped)".contains("my-secret"))
    }
}
