import Foundation
public import Job
import Ledger
import Reconciliation

/// Logins without a password, by a socket on this machine: the server goes by the user of the system at its other end
/// (PostgreSQL's documentation, "Peer Authentication").
public struct PeerLoginStep: LoginStep {
    public let name = "logins"
    public let owner: OwnerAccess
    public let user: String
    public let serviceFile: String? = nil

    public init(_ owner: OwnerAccess, user: String) {
        self.owner = owner
        self.user = user
    }

    /// As the owner reaches the database, by the role.
    public func conninfo(of role: LoginRole) -> String { owner.address.reached(by: role.name).text }

    /// The lines that the server's files lack, if a role can't log in.
    public func missing() async throws -> [String] {
        if try await RolesStep(owner).missing().isEmpty, try await refusal() == nil { return [] }
        let files = try await files()
        let lines =
            try nameLines(in: files).map { "\(files.names): \($0)" }
            + (ruleLine(in: files).map { ["\(files.rules), before the other lines: \($0)"] } ?? [])
        return lines + ["SELECT pg_reload_conf()"]
    }

    /// Adds these lines, and waits until each role can log in. If the server can't read them, leaves all as it was.
    public func perform() async throws {
        let files = try await files()
        let names = try PlacedFile(existing: files.names)
        let rules = try PlacedFile(existing: files.rules)
        let before = (names: try names.contents ?? Data(), rules: try rules.contents ?? Data())
        let newNames = try nameLines(in: files).map { $0 + "\n" }.joined()
        try names.write(before.names + (Self.endsLine(before.names) ? "" : "\n").utf8 + newNames.utf8)
        try rules.write(Data((try ruleLine(in: files).map { $0 + "\n" } ?? "").utf8) + before.rules)
        let errors = try await owner.session(in: "postgres") { session async throws(LedgerError) in
            try await session.loginFileErrors()
        }
        guard errors.isEmpty else {
            try names.write(before.names)
            try rules.write(before.rules)
            throw SetupError(
                "PostgreSQL can't read its files of logins, which were left as they are: "
                    + errors.joined(separator: "; ").sentence,
                exitCode: .configuration)
        }
        try await owner.session(in: "postgres") { session async throws(LedgerError) in
            try await session.reloadLoginFiles()
        }
        try await waitForLogins()
    }

    /// The server reads its files a moment after it was told to.
    private func waitForLogins() async throws {
        var last: String?
        for _ in 0..<50 {
            last = try await refusal()
            guard last != nil else { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw SetupError("The job's user \(user) can't log in yet: \((last ?? "").sentence)")
    }

    private func files() async throws -> LoginFiles {
        try await owner.session(in: "postgres") { session async throws(LedgerError) in try await session.loginFiles() }
    }

    private static let map = "iap"

    /// The lines that say for which roles the user may log in, without those that are there.
    private func nameLines(in files: LoginFiles) throws -> [String] {
        let there = try Self.lines(of: files.names)
        return LoginRole.allCases.map { "\(Self.map) \(user) \($0.name)" }.filter { !there.contains($0) }
    }

    /// The line that says that the server looks there; `nil` if it is there.
    private func ruleLine(in files: LoginFiles) throws -> String? {
        let roles = LoginRole.allCases.map(\.name).joined(separator: ",")
        let line = "local \(Self.quoted(owner.database)) \(roles) peer map=\(Self.map)"
        return try Self.lines(of: files.rules).contains(line) ? nil : line
    }

    private static func lines(of path: String) throws -> Set<String> {
        guard let contents = try PlacedFile(existing: path).contents else { return [] }
        return Set(String(decoding: contents, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init))
    }

    /// A database's name in `pg_hba.conf`, where some words mean something else.
    private static func quoted(_ database: String) -> String {
        let isPlain = database.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        let words = ["all", "sameuser", "samerole", "samegroup", "replication"]
        return isPlain && !words.contains(database) ? database : "\"\(database.replacing("\"", with: "\"\""))\""
    }

    private static func endsLine(_ contents: Data) -> Bool { contents.last.map { $0 == UInt8(ascii: "\n") } ?? true }
}
