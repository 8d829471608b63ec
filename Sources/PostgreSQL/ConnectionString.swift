import CPostgreSQL

/// A connection string parsed as libpq does it (PostgreSQL's documentation, "Connection Strings"), so that the same
/// server can be addressed with another role.
public struct ConnectionString: Sendable, Equatable {
    /// The values by libpq's keywords, such as `host`.
    public var parts: [String: String]

    /// Reads keywords, a URI, or the name of a database alone.
    ///
    /// - Throws: a `.settings` error, without the text, which may hold a password.
    public init(_ text: String) throws(PostgreSQLError) {
        guard text.contains("=") || text.contains("://") else {
            parts = ["dbname": text]
            return
        }
        guard !Self.breaksPassword(text) else { throw .unreadableConnectionString }
        var message: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(text, &message)
        defer {
            PQconninfoFree(options)
            PQfreemem(message)
        }
        guard let options else { throw .unreadableConnectionString }
        var parts: [String: String] = [:]
        var next = options
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val { parts[String(cString: keyword)] = String(cString: value) }
            next += 1
        }
        self.parts = parts
    }

    /// Whether a URI has an `@` too many, as where a password's own `@` or `/` is not written `%40` or `%2F`. libpq
    /// takes what follows for the host, or what precedes for the port, and its errors name that.
    private static func breaksPassword(_ text: String) -> Bool {
        guard let scheme = ["postgresql://", "postgres://"].first(where: { text.hasPrefix($0) }) else { return false }
        let at = UInt8(ascii: "@")
        let address = text.utf8.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "?") }
        let isBeforeHost = address.prefix { $0 != UInt8(ascii: "/") }.contains(at)
        return address.filter { $0 == at }.count > (isBeforeHost ? 1 : 0)
    }

    /// The string as keywords, in the usual order.
    public var text: String {
        let first = ["host", "hostaddr", "port", "dbname", "user"]
        let order = first + parts.keys.filter { !first.contains($0) }.sorted()
        return order.compactMap { keyword in parts[keyword].map { "\(keyword)=\(Self.quoted($0))" } }
            .joined(separator: " ")
    }

    private static func quoted(_ value: String) -> String {
        let isPlain = !value.isEmpty && !value.contains { $0.isWhitespace || $0 == "'" || $0 == "\\" }
        return isPlain ? value : "'" + value.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}

extension PostgreSQLError {
    /// libpq quotes what it can't read, which may be a password, so its message is left out.
    static var unreadableConnectionString: PostgreSQLError {
        PostgreSQLError(
            .settings, "The connection string can't be read.",
            hint: "Write host=… dbname=… user=…, or postgresql://user@host/database.")
    }
}

extension Connection {
    /// The form of a role's password that the server stores, by its setting `password_encryption`. Sending it keeps the
    /// password itself out of the server's log.
    public func encryptedPassword(_ password: String, of role: String) throws(PostgreSQLError) -> String {
        guard let handle = session.handle, let text = PQencryptPasswordConn(handle, password, role, nil) else {
            throw PostgreSQLError(.connection, "libpq can't encrypt a password on this connection.")
        }
        defer { PQfreemem(text) }
        return String(cString: text)
    }
}
