import PostgreSQL
import TestSupport

/// A session for tests that leave nothing behind, which need no database of their own.
func withConnection<Value>(_ body: (Connection) async throws -> Value) async throws -> Value {
    let connection = try await Connection.connect(
        ConnectionSettings(try await ScratchCluster.shared().superuserConninfo()))
    defer { connection.close() }
    return try await body(connection)
}
