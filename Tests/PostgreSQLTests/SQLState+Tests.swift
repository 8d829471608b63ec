import PostgreSQL

/// Codes that only tests name.
extension SQLState {
    static let connectionFailure = SQLState(rawValue: "08006")
    static let invalidTextRepresentation = SQLState(rawValue: "22P02")
    static let foreignKeyViolation = SQLState(rawValue: "23503")
    static let uniqueViolation = SQLState(rawValue: "23505")
    static let syntaxError = SQLState(rawValue: "42601")
    static let raisedException = SQLState(rawValue: "P0001")
}
