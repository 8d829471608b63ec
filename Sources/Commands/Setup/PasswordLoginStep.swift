import Foundation
public import Job
import Ledger

/// Logins by passwords that nobody has to know: they are made here, and stand in a file of services that only the job's
/// user can read (PostgreSQL's documentation, "The Connection Service File").
public struct PasswordLoginStep: LoginStep {
    public let name = "logins"
    public let owner: OwnerAccess
    public let user: String
    private let path: String

    /// - Parameter path: the path of the file of services.
    public init(_ owner: OwnerAccess, user: String, file path: String) {
        self.owner = owner
        self.user = user
        self.path = path
    }

    public var serviceFile: String? { path }

    /// The role's service, by its name.
    public func conninfo(of role: LoginRole) -> String { "service=\(role.name)" }

    /// New passwords and the file of them, if a role can't log in by those that are there.
    public func missing() async throws -> [String] {
        if try await RolesStep(owner).missing().isEmpty, try isDescribed(), try await refusal() == nil { return [] }
        let roles = LoginRole.allCases.map(\.name).joined(separator: ", ")
        return ["new passwords of \(roles)", "\(path), of \(user), mode 600: a service for each of them"]
    }

    /// Gives each role a new password, writes them, and looks whether each can log in.
    public func perform() async throws {
        var numbers = SystemRandomNumberGenerator()
        let passwords = LoginRole.allCases.map { role in
            let bytes = (0..<24).map { _ in UInt8.random(in: .min ... .max, using: &numbers) }
            return (role, Data(bytes).base64EncodedString())
        }
        try await owner.session { session async throws(LedgerError) in
            for (role, password) in passwords { try await session.setPassword(password, of: role.name) }
        }
        let own = Set(LoginRole.allCases.map(\.name))
        var services = ServiceFile(try file.contents ?? Data()).services.filter { !own.contains($0.name) }
        services += passwords.map { role, password in
            ServiceFile.Service(name: role.name, settings: settings(of: role) + ["password=\(password)"])
        }
        try file.write(ServiceFile(services).contents)
        if let refusal = try await refusal() {
            throw SetupError("The job's user \(user) can't log in: \(refusal.sentence)")
        }
    }

    /// Whether the file has the services, of this database.
    private func isDescribed() throws -> Bool {
        guard let contents = try file.contents, try file.isInPlace(with: contents) else { return false }
        let services = ServiceFile(contents).services
        return LoginRole.allCases.allSatisfy { role in
            services.contains { service in
                service.name == role.name && Set(settings(of: role)).isSubset(of: service.settings)
            }
        }
    }

    private func settings(of role: LoginRole) -> [String] {
        owner.address.reached(by: role.name).parts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    private var file: PlacedFile { PlacedFile(path, mode: 0o600, owner: SystemUser(named: user)) }
}

/// What libpq's file of services holds, without its comments.
struct ServiceFile {
    struct Service: Equatable {
        let name: String
        /// Lines such as `host=db.example.com`.
        let settings: [String]
    }

    let services: [Service]

    init(_ services: [Service]) {
        self.services = services
    }

    init(_ contents: Data) {
        var services: [Service] = []
        for line in String(decoding: contents, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
                services.append(Service(name: String(line[line.index(after: line.startIndex)..<end]), settings: []))
            } else if !line.isEmpty, !line.hasPrefix("#"), let service = services.popLast() {
                services.append(Service(name: service.name, settings: service.settings + [line]))
            }
        }
        self.services = services
    }

    var contents: Data {
        let texts = services.map { service in
            "[\(service.name)]\n" + service.settings.map { $0 + "\n" }.joined()
        }
        return Data(("# Made by iap-reconcile setup.\n" + texts.joined(separator: "\n")).utf8)
    }
}
