public import Foundation

/// A user of this system.
public struct SystemUser: Sendable, Equatable {
    public let name: String
    public let number: uid_t
    public let group: gid_t

    /// `nil` if the system knows nobody of that name.
    public init?(named name: String) {
        guard let entry = getpwnam(name)?.pointee else { return nil }
        self.name = String(cString: entry.pw_name)
        number = entry.pw_uid
        group = entry.pw_gid
    }

    /// Whether this program may do what only root may.
    public static var isRoot: Bool { getuid() == 0 }

    /// Runs the body as this user, whom PostgreSQL then sees at the other end of its socket. If this program does not
    /// run as root, it stays who it is.
    public func acting<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard Self.isRoot, number != 0 else { return try await body() }
        let ownGroup = getegid()
        guard setegid(group) == 0, seteuid(number) == 0 else {
            _ = setegid(ownGroup)
            throw SetupError("This program may not act as the user \(name).")
        }
        defer {
            _ = seteuid(0)
            _ = setegid(ownGroup)
        }
        return try await body()
    }
}
