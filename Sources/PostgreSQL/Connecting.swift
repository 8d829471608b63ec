import CPostgreSQL
import Dispatch
import Foundation

/// Opens sessions. libpq looks up names, reads files and waits for hosts in turn while it connects, and applies the
/// rules for all that (`connect_timeout` for each host, `target_session_attrs` …) only in its blocking calls, so these
/// run on a thread of their own.
enum Connecting {
    static func open(_ settings: ConnectionSettings) async throws(PostgreSQLError) -> Session {
        try check(settings.conninfo)
        let keywords = settings.keywords
        let queue = DispatchQueue(label: "PostgreSQL.Connecting")
        let result = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: connect(keywords)) }
        }
        return Session(try result.get(), settings)
    }

    private static func check(_ conninfo: String) throws(PostgreSQLError) {
        guard conninfo.contains("=") || conninfo.contains("://") else { return }
        _ = try ConnectionString(conninfo)
    }

    private static func connect(_ keywords: [(name: String, value: String)]) -> Result<OpaquePointer, PostgreSQLError> {
        guard let handle = start(keywords) else {
            return .failure(PostgreSQLError(.connection, "libpq is out of memory."))
        }
        // libpq would write notices to standard error, past the log. A session that wants them sets a receiver of its
        // own.
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        // The SQLSTATE of a refused connection is only in libpq's text, and only in its verbose form. Only a reset
        // keeps the verbosity during a blocking connect.
        if PQstatus(handle) != CONNECTION_BAD {
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            PQreset(handle)
        }
        guard PQstatus(handle) == CONNECTION_OK else {
            let error = PostgreSQLError(refused: handle)
            PQfinish(handle)
            return .failure(error)
        }
        return .success(handle)
    }

    private static func start(_ keywords: [(name: String, value: String)]) -> OpaquePointer? {
        let names = keywords.map { strdup($0.name) }
        let values = keywords.map { strdup($0.value) }
        defer { for text in names + values { free(text) } }
        let namePointers = names.map { UnsafePointer($0) } + [nil]
        let valuePointers = values.map { UnsafePointer($0) } + [nil]
        return PQconnectStartParams(namePointers, valuePointers, 1)
    }
}
