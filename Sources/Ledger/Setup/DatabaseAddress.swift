import Foundation
import PostgreSQL

/// Where a database is, and by which role it is reached.
public struct DatabaseAddress: Sendable, Equatable {
    private var string: ConnectionString

    /// Reads what libpq understands, or the name of a database alone.
    ///
    /// - Throws: `LedgerError.unusableSettings`, without the text, which may hold a password.
    public init(_ text: String) throws(LedgerError) {
        do {
            string = try ConnectionString(text)
        } catch {
            throw LedgerError(translating: error)
        }
        let environment = ProcessInfo.processInfo.environment
        for (keyword, variable) in [("host", "PGHOST"), ("port", "PGPORT")] where string.parts[keyword] == nil {
            string.parts[keyword] = environment[variable]
        }
    }

    /// As libpq reads it.
    public var text: String { string.text }
    /// The text without a password.
    public var printable: String { without(["password", "sslpassword"]).text }
    /// The database's name; `nil` if it is left to libpq.
    public var database: String? { string.parts["dbname"] }
    public var role: String? { string.parts["user"] }
    /// Whether a service file says where it is.
    public var isService: Bool { string.parts["service"] != nil }
    /// Whether it is reached by a socket on this machine.
    public var isSocket: Bool {
        guard string.parts["hostaddr"] == nil else { return false }
        return (string.parts["host"] ?? "").split(separator: ",").allSatisfy { $0.hasPrefix("/") || $0.hasPrefix("@") }
    }
    /// What it says, by libpq's keywords.
    public var parts: [String: String] { string.parts }

    /// The same database by another role, without what belongs to the one before.
    public func reached(by role: String) -> DatabaseAddress {
        var other = without(["password", "passfile", "sslpassword", "sslkey", "sslcert"])
        other.string.parts["user"] = role
        return other
    }

    /// Another database of the same server by the same role.
    public func beside(_ database: String) -> DatabaseAddress {
        var other = self
        other.string.parts["dbname"] = database
        return other
    }

    private func without(_ keywords: [String]) -> DatabaseAddress {
        var other = self
        for keyword in keywords { other.string.parts[keyword] = nil }
        return other
    }
}
