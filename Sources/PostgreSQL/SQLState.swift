/// PostgreSQL's five-character error code (its documentation, appendix A).
public struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Such as `23505`.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }

    /// The first two characters, which name the family of the error.
    public var errorClass: String { String(rawValue.prefix(2)) }
}

extension SQLState {
    public static let protocolViolation = SQLState(rawValue: "08P01")
    /// Several rows, though one was meant.
    public static let cardinalityViolation = SQLState(rawValue: "21000")
    public static let readOnlyTransaction = SQLState(rawValue: "25006")
    public static let invalidAuthorization = SQLState(rawValue: "28000")
    public static let invalidPassword = SQLState(rawValue: "28P01")
    public static let undefinedDatabase = SQLState(rawValue: "3D000")
    public static let invalidSchemaName = SQLState(rawValue: "3F000")
    public static let idleInTransactionTimeout = SQLState(rawValue: "25P03")
    public static let serializationFailure = SQLState(rawValue: "40001")
    public static let deadlockDetected = SQLState(rawValue: "40P01")
    public static let insufficientPrivilege = SQLState(rawValue: "42501")
    public static let undefinedColumn = SQLState(rawValue: "42703")
    public static let undefinedFunction = SQLState(rawValue: "42883")
    public static let undefinedTable = SQLState(rawValue: "42P01")
    public static let tooManyConnections = SQLState(rawValue: "53300")
    public static let lockNotAvailable = SQLState(rawValue: "55P03")
    public static let queryCanceled = SQLState(rawValue: "57014")
    public static let adminShutdown = SQLState(rawValue: "57P01")
    public static let crashShutdown = SQLState(rawValue: "57P02")
    public static let cannotConnectNow = SQLState(rawValue: "57P03")
    public static let databaseDropped = SQLState(rawValue: "57P04")
    public static let idleSessionTimeout = SQLState(rawValue: "57P05")
}

extension SQLState {
    /// Whether the session ended with this error. A protocol violation is of class 08 too, but the session lives on: it
    /// is how the server refuses a malformed value.
    public var isConnectionLost: Bool {
        guard errorClass != "08" else { return self != .protocolViolation }
        let ending: Set<SQLState> = [
            .adminShutdown, .crashShutdown, .databaseDropped, .idleSessionTimeout, .idleInTransactionTimeout,
        ]
        return ending.contains(self)
    }

    /// Whether the server refuses a value: it is not of its type, breaks a constraint, or exceeds a limit.
    public var isAboutValue: Bool { ["22", "23", "54"].contains(errorClass) }

    /// Whether the server lacks what it needs for the statement, such as room on its disk.
    public var isAboutResources: Bool { errorClass == "53" }

    /// Whether the same work may succeed when it is done again: after a deadlock, a serialization failure, a lock or a
    /// server that was not available, or a lost session.
    public var isTransient: Bool {
        let passing: Set<SQLState> = [
            .serializationFailure, .deadlockDetected, .lockNotAvailable, .tooManyConnections, .cannotConnectNow,
        ]
        return isConnectionLost || passing.contains(self)
    }
}
