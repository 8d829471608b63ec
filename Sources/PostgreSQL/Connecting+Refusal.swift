import CPostgreSQL

extension PostgreSQLError {
    /// Why a connection was not made, from libpq's verbose text: `… FATAL:  28P01: password authentication failed …`.
    /// The words may be in any language, but the code between them is not translated.
    init(refused handle: OpaquePointer, usable: Bool) {
        let lines = String(cString: PQerrorMessage(handle)).split(whereSeparator: \.isNewline)
        // The line that names the server's source file helps nobody here.
        let text = lines.filter { !$0.hasPrefix("LOCATION:") }
            .map { $0.trimmingPrefix(while: \.isWhitespace) }.joined(separator: " ")
        let match = text.firstMatch(of: #/:  (?<state>[0-9A-Z]{5}): /#)
        let state = match.map { SQLState(rawValue: String($0.state)) }
        let message = Secrets.removed(from: text, of: handle)
        let code: Code =
            !usable ? .settings : PQconnectionNeedsPassword(handle) == 1 ? .authentication : .connection
        self.init(state.flatMap(Code.init(refused:)) ?? code, Fields(sqlState: state, message: message))
    }
}

extension PostgreSQLError.Code {
    /// `nil` if the server takes no connections at present, whatever reason it gives.
    fileprivate init?(refused state: SQLState) {
        let lasting: Set<SQLState> = [.undefinedDatabase, .insufficientPrivilege]
        guard state.errorClass == "28" || lasting.contains(state) else { return nil }
        self.init(state)
    }
}
