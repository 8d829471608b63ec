/// What went wrong between this program and PostgreSQL.
///
/// `description` may be shown to anyone: it holds no bind value, no row and no password. `debugDescription` holds
/// everything but passwords.
public struct PostgreSQLError: Error, Sendable {
    /// The kind of a failure, as far as callers depend on it.
    public enum Code: Sendable, Hashable {
        /// The connection's settings can't be read, or can't be as they are; no server was asked.
        case settings
        /// The server can't be reached, or the session was lost.
        case connection
        /// The server refuses the user, the password or the certificate.
        case authentication
        /// The server refuses a statement.
        case server(SQLState)
        /// A column is missing, null or of another type than was asked for.
        case decoding
        /// The task was cancelled; the statement had no effect.
        case cancelled
        /// A call that can't work, such as a transaction within a transaction.
        case usage
    }

    /// The fields of an error report (PostgreSQL's documentation, "Error and Notice Message Fields").
    struct Fields: Sendable {
        var severity: String?
        var sqlState: SQLState?
        var message: String
        var detail: String?
        var hint: String?
        var context: String?
        var schema: String?
        var table: String?
        var column: String?
        var constraint: String?
        var position: Int?
        var statement: String?
    }

    /// Keeps the error as small as one pointer, since every throwing call reserves room for it.
    private final class Box: Sendable {
        let fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    /// What kind of failure it is.
    public let code: Code
    private let box: Box

    var fields: Fields { box.fields }

    init(_ code: Code, _ fields: Fields) {
        self.code = code
        box = Box(fields)
    }

    init(_ code: Code, _ message: String, hint: String? = nil, column: String? = nil) {
        self.init(code, Fields(message: message, hint: hint, column: column))
    }

    /// The server's code; `nil` if the failure was on this side.
    public var sqlState: SQLState? { fields.sqlState }
    /// The server's or libpq's message. It may hold a value: show `description` instead.
    public var message: String { fields.message }
    /// The server's DETAIL, which often holds the values of a row.
    public var detail: String? { fields.detail }
    /// The suggestion of the server, or of this room.
    public var hint: String? { fields.hint }
    /// Where in a function the error arose.
    public var context: String? { fields.context }
    /// The schema of the table of a refused row.
    public var schema: String? { fields.schema }
    /// The table of a refused row.
    public var table: String? { fields.table }
    /// The column that is missing, or whose value is refused.
    public var column: String? { fields.column }
    /// The constraint that a row breaks.
    public var constraint: String? { fields.constraint }
    /// The character of the statement, counted from one, at which the error arose.
    public var position: Int? { fields.position }
    /// The statement with its `$n`, without the values.
    public var statement: String? { fields.statement }

    /// Whether the session is gone, so that only a new one helps.
    public var isConnectionLost: Bool { code == .connection || sqlState?.isConnectionLost == true }
    /// Whether the same work may succeed when it is done again.
    public var isTransient: Bool { code == .connection || sqlState?.isTransient == true }

    func adding(statement: String) -> PostgreSQLError {
        var fields = fields
        fields.statement = statement
        return PostgreSQLError(code, fields)
    }
}

extension PostgreSQLError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        var text = "PostgreSQL"
        if let sqlState { text += " \(sqlState)" }
        text += ": \(publicMessage)"
        if let constraint { text += " (constraint \(constraint))" }
        if let hint, !isAboutValue { text += " Hint: \(hint)" }
        return text
    }

    /// In class 22, "data exception", the message itself quotes the value.
    private var isAboutValue: Bool { sqlState?.errorClass == "22" }

    private var publicMessage: String {
        isAboutValue ? "the server refuses a value as data of its type" : message
    }

    public var debugDescription: String {
        let named: [(String, String?)] = [
            ("severity", fields.severity), ("detail", detail), ("hint", hint), ("context", context),
            ("schema", schema), ("table", table), ("column", column), ("constraint", constraint),
            ("position", position.map(String.init)), ("statement", statement),
        ]
        let lines = named.compactMap { name, value in value.map { "\n  \(name): \($0)" } }
        return "PostgreSQL\(sqlState.map { " \($0)" } ?? "") [\(code)]: \(message)\(lines.joined())"
    }
}
