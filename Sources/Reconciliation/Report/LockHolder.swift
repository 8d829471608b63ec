public import Foundation

/// A session that holds what the job wanted.
public struct LockHolder: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The process's number on the server.
    public let processID: Int32
    /// The role that it logged in as.
    public let login: String
    /// Since when its transaction, or the session itself, is open; `nil` if the server does not tell.
    public let since: Date?
    /// Whether it is another run of the job.
    public let isJob: Bool
    /// The name of a prepared transaction (PREPARE TRANSACTION), which holds on after its session has gone; `nil` for a
    /// session.
    public let prepared: String?

    enum CodingKeys: String, CodingKey {
        case processID = "process_id"
        case login, since
        case isJob = "is_job"
        case prepared
    }

    public init(processID: Int32, login: String, since: Date?, isJob: Bool = false, prepared: String? = nil) {
        self.processID = processID
        self.login = login
        self.since = since
        self.isJob = isJob
        self.prepared = prepared
    }

    public var description: String {
        (prepared.map { "the prepared transaction “\($0)” of \(login)" } ?? "session \(processID) of \(login)")
            + (since.map { " since \($0.formatted(.iso8601))" } ?? "")
    }
}

extension Collection<LockHolder> {
    /// The first few by name, such as “session 4711 of iap_app since 2026-11-21T02:14:07Z, session 4712 of iap_app”.
    public var named: String { prefix(5).map(\.description).joined(separator: ", ") }

    /// What follows upon what they hold: “, held by session 4711 of iap_app”; empty if nobody is known.
    public var heldBy: String { isEmpty ? "" : ", held by \(named)" }
}
