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
        return try Session(result.get(), settings)
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
            let error = PostgreSQLError(refused: handle, usable: areUsable(keywords))
            PQfinish(handle)
            return .failure(error)
        }
        return .success(handle)
    }

    private static func start(_ keywords: [(name: String, value: String)]) -> OpaquePointer? {
        withPointers(to: keywords) { PQconnectStartParams($0, $1, 1) }
    }

    /// Whether libpq would ask a server with these settings: one that is not there, so that it has its answer at once.
    private static func areUsable(_ keywords: [(name: String, value: String)]) -> Bool {
        let nowhere = [("host", "127.0.0.1"), ("hostaddr", "127.0.0.1"), ("port", "1")]
        return withPointers(to: keywords + nowhere) { PQpingParams($0, $1, 1) } != PQPING_NO_ATTEMPT
    }

    private static func withPointers<Result>(
        to keywords: [(name: String, value: String)],
        _ body: ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) -> Result
    ) -> Result {
        let names = keywords.map { strdup($0.name) }
        let values = keywords.map { strdup($0.value) }
        defer { for text in names + values { free(text) } }
        return body(names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
    }
}
